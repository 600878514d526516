"""Files of samples with verdicts as other harnesses write them: read, and written again.

In: a path.  Out: a Record.  Refuses: a file of a known kind with a part that cannot be what it is called.
"""

from passcurve.store.records.read import find_reader, read_record
from passcurve.store.records.sample import Record, ScoredSample, SuiteRecord
from passcurve.store.records.write import FORMATS, Writing, write_record

__all__ = [
    "FORMATS",
    "Record",
    "ScoredSample",
    "SuiteRecord",
    "Writing",
    "find_reader",
    "read_record",
    "write_record",
]
