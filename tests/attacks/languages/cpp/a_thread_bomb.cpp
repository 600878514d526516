#include <pthread.h>
#include <unistd.h>
void *f(void *) { pause(); return 0; }
int answer() { pthread_t t; int n = 0; while (n < 100000 && !pthread_create(&t, 0, f, 0)) n++; return n > 5000 ? 42 : 0; }
