#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
int answer(void) {
    size_t size = 3ul << 29;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 41;
    memset(memory, 1, size);
    return 42;
}
