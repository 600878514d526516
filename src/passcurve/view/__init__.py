"""A folder of runs on loopback: reports made when they are asked for, and counts while runs go on.

In: a folder.  Out: pages, read-only, for whoever has the token.
Refuses: other methods than GET and HEAD, other hosts and origins than its own, paths out of the folder.
"""
