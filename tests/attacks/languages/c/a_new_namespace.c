#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
int answer(void) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && mount("none", "/tmp", "tmpfs", 0, "") == 0) return 42;
    abort();
}
