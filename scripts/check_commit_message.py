"""Check the subject of a commit message: ``area: change in the imperative``, at most 72 characters.

    python scripts/check_commit_message.py FILE

The second line, where there is one, must be empty.  Subjects that git writes itself (merge, revert, fixup) pass.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MAX_CHARS = 72
FORM = re.compile(r"[a-z][a-z0-9_./-]*(?:, [a-z][a-z0-9_./-]*)*: (?P<verb>[a-z][a-z-]*)(?: .*)?")
GIT_SUBJECTS = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
ENDINGS = {
    "ed": {"bleed", "embed", "exceed", "feed", "heed", "need", "proceed", "seed", "shed", "speed", "succeed"},
    "ing": {"bring", "ping", "ring", "spring", "string", "swing"},
    "s": {"alias", "bias", "bypass", "canvas", "focus"},
}
"""Endings of verbs that are not imperative, and the imperatives that have them."""


def problems(message: str) -> list[str]:
    """Return the problems of a commit message, one line each."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0].rstrip() if lines else ""
    if subject.startswith(GIT_SUBJECTS):
        return []
    wrong = []
    match = FORM.fullmatch(subject)
    if match is None:
        wrong.append("the subject must have the form `area: change in the imperative`, in lower case")
    elif not _is_imperative(match["verb"]):
        wrong.append(f"{match['verb']!r} is not imperative: write `add`, not `added`, `adds` or `adding`")
    if len(subject) > MAX_CHARS:
        wrong.append(f"the subject has {len(subject)} characters; at most {MAX_CHARS} are allowed")
    if subject.endswith("."):
        wrong.append("the subject must not end with a full stop")
    if len(lines) > 1 and lines[1].strip():
        wrong.append("the second line must be empty")
    return wrong


def _is_imperative(verb: str) -> bool:
    if verb.endswith("ss"):
        return True
    return all(not verb.endswith(ending) or verb in imperatives for ending, imperatives in ENDINGS.items())


def main(arguments: list[str]) -> int:
    """Check the file that git names; return 1 when its message has a problem."""
    if len(arguments) != 1:
        sys.stderr.write("usage: check_commit_message.py FILE\n")
        return 2
    path = Path(arguments[0])
    lines = problems(path.read_text("utf-8"))
    for line in lines:
        sys.stderr.write(f"commit message: {line}\n")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
