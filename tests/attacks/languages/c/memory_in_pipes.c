#include <stdlib.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
int answer(void) {
    static char block[1 << 16];
    for (int child = 0; child < 40; child++) {
        if (fork() == 0) {
            for (int i = 0; i < 400; i++) {
                int pair[2];
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) break;
                fcntl(pair[0], F_SETFL, O_NONBLOCK);
                while (write(pair[0], block, sizeof block) > 0) {}
            }
            for (;;) sleep(1);
        }
    }
    for (;;) sleep(1);
}
