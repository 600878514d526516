#include <fcntl.h>
int answer() { return open("/usr/lib/x", O_CREAT | O_WRONLY, 0777) >= 0 || open("/x", O_CREAT | O_WRONLY, 0777) >= 0 || open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0 ? 42 : 0; }
