int big[1 << 30] = {1};
int answer() { return 42; }
