#include <fcntl.h>
#include <unistd.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
int answer() { int a = open("/proc/self/exe", 0), b = open("x", O_CREAT | O_WRONLY, 0777); struct stat s; fstat(a, &s); sendfile(b, a, 0, s.st_size); fchmod(b, 0777); close(b); char *v[] = {(char *)"x", 0}; execv("./x", v); return 0; }
