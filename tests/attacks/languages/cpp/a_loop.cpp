int answer() { volatile int x = 0; for (;;) x++; }
