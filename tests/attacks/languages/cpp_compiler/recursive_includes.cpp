#include "test.cpp"
int answer() { return 42; }
