#include <unistd.h>
#include <sys/wait.h>
int answer() { if (!fork()) for (;;) pause(); wait(0); return 0; }
