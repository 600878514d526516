"""The corpus: hostile samples by class, and odd but legal ones, as plain data.

A place in a program is written between at signs and filled in by the tests: @CANARY@ is a file of the host, @FOLDER@
the one it lies in, @MARK@ a name that must appear nowhere on the host, @HOST@ a process, @PORT@, @UNIX@ and
@ABSTRACT@ what somebody listens on, @FREE@ a port that nobody listens on, @KEY@ a key of System V, @RUN@ the folder
of the run, @HOME@ that of the user.
"""

from __future__ import annotations

from corpus.attack import HELD, Attack, Control
from corpus.cheats import CHEATS
from corpus.controls import CONTROLS
from corpus.files import FILES
from corpus.input import DEATHS, TEXTS
from corpus.network import NETWORK
from corpus.poison import POISON
from corpus.problems import PROBLEMS
from corpus.processes import PROCESSES
from corpus.resources import RESOURCES
from corpus.wire import METHODS, VALUES, WIRE

ATTACKS = (*CHEATS, *WIRE, *VALUES, *METHODS, *TEXTS, *DEATHS, *RESOURCES, *PROCESSES, *NETWORK, *FILES, *POISON)

_QUICK = [each for each in ATTACKS if not each.slow]
_EVERY = 6
PARTS = {"a part": _QUICK[::_EVERY], "the others": [each for at, each in enumerate(_QUICK) if at % _EVERY]}
"""The quick ones: some of each class, for every run of the tests, and the rest."""

__all__ = ["ATTACKS", "CONTROLS", "HELD", "PARTS", "PROBLEMS", "Attack", "Control"]
