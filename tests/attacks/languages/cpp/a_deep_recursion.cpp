int deep(int n) { volatile char b[4096]; b[n % 4096] = 1; return deep(n + 1) + b[0]; }
int answer() { return deep(0); }
