"""The corpus: hostile samples by class, and odd but legal ones, as plain data.

A placeholder in a program stands between at signs, and the tests replace it: @CANARY@ is a file of the host, @FOLDER@
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

_QUICK = [attack for attack in ATTACKS if not attack.slow]
PARTS = {"a part": _QUICK[::6], "the others": [attack for place, attack in enumerate(_QUICK) if place % 6]}
"""The quick attacks: some of each class for every run of the tests, and the rest."""

__all__ = ["ATTACKS", "CONTROLS", "HELD", "PARTS", "PROBLEMS", "Attack", "Control"]
