"""Harness: runs beside a sample, or runs the tests of a problem, under the samples' interpreter.

In: one job on a socket.  Out: one report on the same socket.  Refuses: everything but the standard library and itself.

Reading order: ``protocol`` (records), ``wire`` and ``framing`` (bytes), ``sample`` (the process of a sample), then the
referee: ``referee``, ``check``, ``sample_proxy``, ``sample_connection``.
"""
