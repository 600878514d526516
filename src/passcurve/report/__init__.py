"""Reports: numbers and evidence to eyes.

In: Results, Verdicts, Problems.  Out: text.  Refuses: to compute a statistic, to judge.
"""
