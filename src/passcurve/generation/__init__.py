"""Generation: prompts become stored completions.

In: prompts and a back end.  Out: completions, stored before anybody sees them.  Refuses: to look at what a text says.
"""
