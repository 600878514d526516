"""Zygotes: what builds the walls around a sample or its tests, and puts their processes back.

In: requests of the supervisor.  Out: jailed processes, and how each ended.  Refuses: to run a sample or a test itself,
to import anything but the standard library, ``harness`` and the layers.
"""
