#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
static char block[1 << 20];
int answer() {
    long written = 0;
    for (int f = 0; f < 9000; f++) {
        char name[32];
        sprintf(name, "f%d", f);
        int file = open(name, O_CREAT | O_WRONLY, 0600);
        for (int i = 0; file >= 0 && i < 64; i++) {
            long n = write(file, block, sizeof block);
            written += n > 0 ? n : 0;
        }
        close(file);
    }
    return written > (1L << 30) ? 42 : 0;
}
