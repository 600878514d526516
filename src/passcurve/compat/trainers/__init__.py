"""Rewards with the signatures of trainers, from one warm judge in each process.

In: prompts, completions and columns as a trainer hands them over.  Out: what it takes for a reward, and for none.
Refuses: to make a reward up where the judging itself failed.
"""
