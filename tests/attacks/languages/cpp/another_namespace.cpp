#include <sched.h>
#include <sys/mount.h>
int answer() { return !unshare(CLONE_NEWUSER) || !unshare(CLONE_NEWNS) || !mount("none", "/tmp", "tmpfs", 0, 0) ? 42 : 0; }
