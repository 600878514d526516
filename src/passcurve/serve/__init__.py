"""The judge as a server for trainers: batches of samples in, verdicts out; its state for those who watch it.

In: requests with rows of samples of one benchmark.  Out: a verdict for each row, void apart from wrong.
Refuses: strangers without the token, bodies and batches that are too large, more rows than the queue may hold.
"""
