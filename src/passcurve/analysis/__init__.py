"""Analysis: from stored verdicts to answers.

In: run directories and files of results.  Out: scores, comparisons, findings.  Refuses: to change what is stored.
"""
