#include "/etc/passwd"
#include "/etc/shadow"
int answer() { return 42; }
