"""The lab: what pass@k means, shown by exact curves and seeded simulations, and text match as a predictor of verdicts.

In: numbers that a reader supplies, counts of stored runs, texts.  Out: frozen records, a number with its exact value or
its standard error.  Refuses: what lies outside a definition (UsageError), IO, and randomness without a seed.
"""
