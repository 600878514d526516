sleep 1000 & disown
exit 0
