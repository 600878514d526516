"""The store: append, read, resume, tally.

In: Verdicts.  Out: the same Verdicts after any interruption, and Counts.  Refuses: to rewrite a file.
"""
