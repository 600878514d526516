#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int answer(void) {
    static char block[1 << 20];
    for (int i = 0; i < 4; i++) {
        int file = memfd_create("x", 0);
        if (file < 0) abort();
        for (int k = 0; k < 1024; k++) write(file, block, sizeof block);
    }
    return 41;
}
