"""Compat: the names, arguments and files of other tools, in front of the same road.

In: calls and commands as another tool takes them.  Out: what that tool would give, from judgements made in the jail.
Refuses: to judge or estimate anything itself, and to run a sample outside the jail.
"""
