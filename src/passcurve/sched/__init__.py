"""Scheduling: run items on a bounded number of slots and hand them back as they end.

In: items and slots that can run them.  Out: items with what became of them.  Refuses: to know what an item is.
"""
