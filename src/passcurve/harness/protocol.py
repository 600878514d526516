"""Records that cross between the supervisor and the processes it starts."""

from __future__ import annotations

MARSHAL_VERSION = 2
"""Version of the format of ``marshal`` for these records: every Python 3 reads it, whichever runs the samples."""
