"""The command line: one file per command; it parses, asks for the judging, prints.

In: words.  Out: text, one JSON object with ``--json``, an exit code.
Refuses: to hold a loop over samples or a formula.
"""
