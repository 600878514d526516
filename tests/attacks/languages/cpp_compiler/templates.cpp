template <int N> struct F { static const int v = F<N - 1>::v + F<N - 2>::v; };
template <typename T> struct R { typedef typename R<R<T>>::x x; }; typedef R<int>::x y;
int answer() { return 42; }
