__asm__(".data\n.globl big\nbig:\n.org 0x3fffffff00\n.byte 1\n.text");
int answer(void) { return 41; }
