"""Harness: what runs beside a sample, and the tests' side of a check, under the samples' interpreter.

In: one job on a socket.  Out: one report on the same socket.  Refuses: everything but the standard library and itself.
"""
