"""What ``benchmarks/performance.py`` is made of: one file for each thing that is measured, and those that they share.

In: samples, problems, an environment with both judges.  Out: figures, and the page that shows them.
"""
