#include "/prepared/x"
int answer() { return 42; }
