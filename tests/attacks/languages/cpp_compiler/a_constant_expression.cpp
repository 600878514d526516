constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) for (long j = 0; j < n; j++) s += j; return s; }
static_assert(f(33554000) == 1);
int answer() { return 42; }
