"""The store: read rows, append, read back, resume, tally.

In: a file of samples, and Verdicts.  Out: Completions, the same Verdicts after any interruption, Counts, and the
file of results.  Refuses: to rewrite a file, and to go on with samples that are not what they were.
"""
