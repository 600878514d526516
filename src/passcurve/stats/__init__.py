"""Statistics: pure functions on arrays, and Counts -> Estimate in ``estimate``.

In: arrays.  Out: arrays.  Refuses: input outside the definition (ValueError naming the element), IO, global state.
"""
