__asm__(".rept 0x7fffffff\n.rept 0x7fffffff\nnop\n.endr\n.endr");
int answer(void) { return 42; }
