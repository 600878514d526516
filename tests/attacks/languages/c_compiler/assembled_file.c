__asm__(".incbin \"/dev/zero\"");
int answer(void) { return 42; }
