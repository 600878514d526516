"""Languages: a Program becomes a Job, an Outcome becomes a Verdict, and the tests' side of a check.

In: Problem, Program, Outcome.  Out: Job, Verdict.  Refuses: to touch a model, a file or a statistic.
"""
