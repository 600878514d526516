#include "/dev/zero"
int answer() { return 42; }
