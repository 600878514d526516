"""Models: the back ends that write samples, one file each; the registry has their names.

In: requests for samples (a prompt, how to sample, which indices).  Out: one reply for each sample, as it comes.
Refuses: to trim a text, to run it, to store it, or to judge it.
"""
