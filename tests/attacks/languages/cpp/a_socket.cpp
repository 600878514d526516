#include <sys/socket.h>
int answer() { return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 42 : 0; }
