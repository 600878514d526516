"""Benchmarks: rows of a file become Problems.

In: a name or a path.  Out: a Benchmark.  Refuses: files that are not what they say, network outside ``fetch``.
"""
