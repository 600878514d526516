"""Compat: front ends with the names, arguments and files of other tools.

In: calls and commands of another tool.  Out: the output of that tool, from judgements made in the jail.
Refuses: to judge or estimate anything itself, and to run a sample outside the jail.
"""
