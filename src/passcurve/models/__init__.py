"""Models: what writes the samples, each kind in one file; the registry has their names.

In: Orders (a Prompt, how to draw, which samples).  Out: Replies, one for each sample, as they come.
Refuses: to trim a text, to run one, to keep one, to know whether it is right.
"""
