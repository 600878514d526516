"""What a program in the commons has to say, in one piece, and the bounds of what goes there."""

from __future__ import annotations

import struct

SETUP_BYTES = 1 << 20
"""Of a program with its calls; a larger one gets a process of its own."""

REPLY_BYTES = 1 << 20
"""What a program sends back beyond this it sends from a process of its own."""

HEAD = struct.Struct("<qqqq?")
"""Number of the job, CPU time of the program in ns, largest memory of the process in bytes so far, how much of that it
got from its first program on, and whether that is all; frames follow."""
