int answer() { return *(volatile int *)0; }
