"""Judging: samples become verdicts; ``judge_run`` alone knows the order.

In: a request: samples, a benchmark, settings.  Out: verdicts in the run directory and a result with estimates.
Refuses: to judge what the sandbox does; it asks ``sandbox`` for facts and turns them into verdicts in one file.
"""
