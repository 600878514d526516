#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

int answer() {
    for (int i = 0; i < 12; i++) {
        if (fork() == 0) {
            size_t size = 400u << 20;
            void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory != MAP_FAILED) memset(memory, 1, size);
            for (;;) sleep(1);
        }
    }
    for (;;) sleep(1);
}
