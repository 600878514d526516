#include <cstdlib>
#include <cstring>
int answer() { for (;;) { char *p = (char *)malloc(1 << 24); if (!p) abort(); memset(p, 1, 1 << 24); } }
