__asm__(".data\n.globl big\nbig:\n.fill 0x7fffffff, 1, 1\n.fill 0x7fffffff, 1, 1\n.text");
int answer(void) { return 41; }
