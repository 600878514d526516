#include <stdio.h>
#include <string.h>
#include <unistd.h>
int answer(void) {
    char block[65536];
    memset(block, 0xff, sizeof block);
    for (int i = 0; i < 2000; i++) { write(1, block, sizeof block); write(2, block, sizeof block); }
    return 41;
}
