"""Steps for programs in other languages than Python: the fence of the language, and what fits the prompt and the tests.

They know no grammar: a declaration is a pattern, and braces are counted outside of texts and comments.
"""

from __future__ import annotations

import bisect
import re
from typing import Literal

import msgspec

from passcurve.bench.writing import Writing, find_writing
from passcurve.extract.braces import blank_texts, find_braces
from passcurve.extract.fences import Block, describe_taken, find_fences
from passcurve.extract.source import MAX_CHARS
from passcurve.extract.step import Change, Task
from passcurve.extract.tails import ends_as_code, find_code, find_prose, is_prose, through_last_brace
from passcurve.types import ProgramCases, Script, language_of

_IMPORT = re.compile(r'^import[ \t]+(?:\((?P<many>[^()]*)\)|(?P<one>(?:\w+[ \t]+)?"[^"\n]*"))[ \t]*\n?', re.MULTILINE)
_PACKAGE = re.compile(r"^package[ \t]+\w+.*\n?", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*(?:#|--|;)[^\n]*", re.DOTALL | re.MULTILINE)
_USE = re.compile(r"^use [^;]*;[ \t]*\n?", re.MULTILINE)
_USED_NAME = re.compile(r"\w+(?=\s*[,;}])")
"""The names that an import of Rust brings stand at the ends of its paths."""
_MOST_MAINS = 100
"""Number of functions and tests to drop at most."""


def drop_language(task: Task, text: str) -> Change | None:
    """Drop a first line that only names the language: the rest of a fence that the prompt has opened."""
    first, _, rest = text.lstrip().partition("\n")
    if first.strip().lower() not in _writing(task).names or not rest.strip():
        return None
    return Change(text=rest, note="dropped the name of the language in front")


class TakeFence(msgspec.Struct, frozen=True):
    """Take one fenced block of the problem's language; leave a text without a fence as it is."""

    which: Literal["auto", "first", "last", "longest"]

    def __call__(self, task: Task, text: str) -> Change | None:
        """Take the block; ``auto`` takes the last that writes the function."""
        blocks = _find_blocks(task, text)
        if not blocks:
            rest, note = _without_lead(task, text)
            return _without_prose(task, rest, note) or (Change(text=rest, note=note) if note else None)
        names = _writing(task).names
        likely = [block for block in blocks if block.language in names] or blocks
        taken = self._choose(task, likely, blocks)
        change = Change(text=taken.text, note=describe_taken(blocks, [taken]))
        return change if taken.closed else _without_prose(task, taken.text, change.note) or change

    def _choose(self, task: Task, blocks: list[Block], all_blocks: list[Block]) -> Block:
        match self.which:
            case "last":
                return blocks[-1]
            case "longest":
                return max(blocks, key=lambda block: len(block.text))
            case "auto":
                name = _function(task)
                # The program may have no name beside an example of its use that has one.
                candidates = (*blocks[::-1], *all_blocks[::-1]) if name else ()
                declaring = [block for block in candidates if _declares(task, block.text, name)]
                written = (block for block in declaring if not _is_left_open(task, block, name))
                return next(written, (declaring or blocks)[0])
        return blocks[0]


def _without_lead(task: Task, text: str) -> tuple[str, str]:
    """Drop the prose in front of a program that no fence begins; return the rest, and a note where it is less."""
    writing = _writing(task)
    function = writing.defines.replace("NAME", r"[A-Za-z_]\w*")
    parts = (function, writing.imports, writing.container, writing.main, writing.program.package)
    begins = re.compile("|".join(f"(?:{part})" for part in parts if part) or r"(?!)", re.MULTILINE)
    place = find_code(text, begins) if len(text) <= MAX_CHARS else None
    if not place:
        return text, ""
    return text[place:], f"dropped prose in front ({place:,} characters)"


def _without_prose(task: Task, text: str, note: str) -> Change | None:
    """Drop the prose behind a program that no fence ends; None where there is none."""
    place = find_prose(text) if len(text) <= MAX_CHARS else None
    if place is None or _goes_on(task, text[place:]):
        return None
    dropped = f"dropped prose ({len(text) - place:,} characters)"
    return Change(text=text[:place], note="; ".join(filter(None, (note, dropped))))


def _goes_on(task: Task, text: str) -> bool:
    """Tell whether a text declares any function, so that what looked like prose stood inside a program."""
    pattern = _writing(task).defines.replace("NAME", r"[A-Za-z_]\w*")
    lines = (line for line in text.split("\n") if not is_prose(line))
    return bool(pattern) and re.search(pattern, "\n".join(lines), re.MULTILINE) is not None


def _find_blocks(task: Task, text: str) -> list[Block]:
    """Return the blocks of a text; if the prompt opens a fence, the text up to the first fence is one."""
    blocks = find_fences(text, blank=True)
    if blocks and not blocks[0].language:
        lines = text.split("\n")
        lead, rest = "\n".join(lines[: blocks[0].first]), "\n".join(lines[blocks[0].first + 1 :])
        name = _function(task)
        is_later = bool(name) and _declares(task, rest, name) and not _declares(task, lead, name)
        if ends_as_code(lead) and not is_later:
            block = Block(text=lead + "\n", language=_writing(task).names[0], first=-1, end=blocks[0].first + 1)
            return [block, *find_fences(rest)]
    return [block for block in blocks if block.text.strip()]


def fit_script(task: Task, text: str) -> Change:
    """Join a continuation to the prompt, cut before its stop words; fit a whole program to prompt and tests."""
    prompt = task.problem.prompt
    if len(text) > MAX_CHARS:
        whole = text if task.form == "solution" else prompt + text
        return Change(text=whole, note=f"too long to be taken apart ({len(text):,} characters)")
    if task.form == "solution" and prompt and text.startswith(prompt):
        return _continue(task, text[len(prompt) :])
    if isinstance(task.problem.check, ProgramCases):
        whole = text if task.form == "solution" or not prompt else prompt + text
        return Change(text=whole, note="taken as a whole program" if whole is text else "joined to the prompt")
    name = _function(task)
    if task.form == "solution" or not prompt or (name and _declares(task, text, name)):
        return Change(text=_fit_whole(task, text), note="taken as a whole program")
    return _continue(task, text)


def _continue(task: Task, text: str) -> Change:
    places = [(at, word) for word in task.problem.stop if (at := text.find(word)) >= 0]
    note = "joined to the prompt"
    if places:
        at, word = min(places)
        text = text[:at]
        note += f", cut before {word!r}"
    return Change(text=task.problem.prompt + text, note=note)


def _fit_whole(task: Task, text: str) -> str:
    """Return a whole program as the tests need it: with what only the prompt has, open where the tests close it."""
    writing = _writing(task)
    whole, text = text, _drop_main(text, writing)
    has_main = text != whole
    text = writing.program.without_package(writing.without_ending(text))
    if writing.exports:
        text = re.sub(f"(?m:{writing.exports})", "", text)
    text, is_bare = _fit_container(task, text)
    is_open = task.problem.test.lstrip().startswith("}")
    if is_open:
        text = _leave_open(text, 1 if is_bare else writing.closers, writing)
    if is_bare:
        return _put_into_container(task, text, is_open=is_open)
    if language_of(task.problem.check) == "go":
        return _fit_go(task, text, has_main=has_main)
    if language_of(task.problem.check) == "rs":
        text = _fit_rust(task.problem.prompt, text)
    if not writing.container and _lacks_helpers(task, text):
        return _head(task) + text
    imports = re.findall(f"(?m:{writing.imports})", task.problem.prompt) if writing.imports else []
    lacking = [line for line in dict.fromkeys(imports) if line not in text]
    opening = re.match(r"<\?php\s*\n|#!.*\n", text)
    at = opening.end() if opening else 0
    return text[:at] + "".join(f"{line}\n" for line in lacking) + text[at:]


def _fit_container(task: Task, text: str) -> tuple[str, bool]:
    """Return a program whose container has the name that the tests know, and whether it has none."""
    pattern = _writing(task).container
    named = re.findall(f"(?m:{pattern})", task.problem.prompt) if pattern else []
    if not named:
        return text, False
    wanted = named[-1]
    containers = re.findall(f"(?m:{pattern})", text)
    if not containers:
        return text, True
    if wanted not in containers:
        text = re.sub(rf"\b{re.escape(containers[0])}\b", wanted, text)
    # A public class must have the name of its file, which may be that of the tests.
    text = re.sub(
        r"^public[ \t]+((?:final[ \t]+|abstract[ \t]+)*(?:class|interface|enum|record)\b)", r"\1", text, flags=re.M
    )
    return _move_last(text, wanted, _writing(task)), False


def _move_last(text: str, wanted: str, writing: Writing) -> str:
    """Return a program whose container stands behind all others, so that tests can go on in it, without empty ones."""
    text = re.sub(rf"(?m:{writing.container})[ \t]*\{{\s*\}}\n?", "", text)
    declared = next((match for match in re.finditer(f"(?m:{writing.container})", text) if match[1] == wanted), None)
    end = _end_of_block(find_braces(text, writing), declared.end()) if declared is not None else None
    if declared is None or end is None or not text[end:].strip():
        return text
    return f"{text[: declared.start()]}{text[end:].rstrip()}\n{text[declared.start() : end]}\n"


def _put_into_container(task: Task, text: str, *, is_open: bool) -> str:
    """Return a function without its container behind the prompt's, its imports in front, closed unless tests do it."""
    writing = _writing(task)
    imports = re.findall(f"(?m:{writing.imports})", text) if writing.imports else []
    body = re.sub(f"(?m:{writing.imports})[ \t]*\n?", "", text) if imports else text
    head = _head(task)
    front = "".join(f"{line}\n" for line in dict.fromkeys(imports) if line not in head)
    return front + head + body + ("" if is_open else "}\n" * (writing.closers - 1))


def _fit_go(task: Task, text: str, *, has_main: bool) -> str:
    """Return a program with what only the prompt has in front, and with its own imports that nobody else adds.

    Those that only its ``main`` used, which was dropped, would keep it from compiling.
    """
    prompt, check = task.problem.prompt, task.problem.check
    imports = list(_IMPORT.finditer(prompt))
    package = _PACKAGE.search(prompt)
    end = max([match.end() for match in imports] + ([package.end()] if package is not None else []), default=0)
    present = {path for match in imports for path in _import_paths(match)}
    added = set(check.if_used.values()) if isinstance(check, Script) else set()
    paths = dict.fromkeys(path for match in _IMPORT.finditer(text) for path in _import_paths(match))
    helpers = _head(task)[end:] if _lacks_helpers(task, text) else ""
    body = helpers + _IMPORT.sub("", _PACKAGE.sub("", text, count=1))
    lines = [
        f"import {path}\n"
        for path in paths
        if path not in present and f"import {path}" not in added and not (has_main and not _uses(body, path))
    ]
    return prompt[:end] + "".join(lines) + body


def _uses(text: str, path: str) -> bool:
    """Tell whether a program of Go names a package that it imports, by its alias or the end of its path."""
    alias, _, name = path.strip().partition('"')
    name = alias.strip() or re.sub(r"(?:/v\d+)?\"\Z", "", name).rpartition("/")[2]
    return name in ("_", ".") or re.search(rf"\b{re.escape(name)}\.", text) is not None


def _fit_rust(prompt: str, text: str) -> str:
    """Return a program without those of its imports whose names the prompt imports already."""
    names = {name for line in _USE.findall(prompt) for name in _USED_NAME.findall(line)}
    return _USE.sub(lambda match: "" if set(_USED_NAME.findall(match[0])) <= names else match[0], text)


def _import_paths(match: re.Match[str]) -> list[str]:
    if match["one"]:
        return [match["one"]]
    return [line.strip() for line in re.split(r"[\n;]", match["many"]) if '"' in line]


def _drop_main(text: str, writing: Writing) -> str:
    """Return a program without its own main function and tests, which the benchmark has."""
    matches = list(re.finditer(f"(?m:{writing.main})", text)) if writing.main else []
    braces = find_braces(text, writing) if matches else []
    kept, at = "", 0
    for match in matches[:_MOST_MAINS]:
        end = _end_of_block(braces, match.end())
        if end is not None and match.start() >= at:
            kept, at = kept + text[at : match.start()], end
    return kept + text[at:]


def _end_of_block(braces: list[tuple[int, str]], start: int) -> int | None:
    """Return the place behind the brace that closes the first block after a place."""
    depth = 0
    for at, brace in braces[bisect.bisect_left(braces, (start, "")) :]:
        depth += 1 if brace == "{" else -1
        if depth == 0:
            return at + 1
    return None


def _leave_open(text: str, count: int, writing: Writing) -> str:
    """Return a program that leaves ``count`` braces open for the tests to close.

    Its last closing braces go, with remarks behind them.  Where something else stands at the end, as a function without
    braces or a variable, an empty block is opened there in their place.
    """
    braces = find_braces(text, writing)
    is_open = sum(1 if brace == "{" else -1 for _at, brace in braces)
    lacking = max(0, count - max(is_open, 0))
    if lacking and not writing.opener:
        text = through_last_brace(text)
        braces = find_braces(text, writing)
    code = blank_texts(text, writing)
    while lacking and braces and braces[-1][1] == "}" and not code[braces[-1][0] + 1 :].strip():
        at, _brace = braces.pop()
        text, code, lacking = text[:at], code[:at], lacking - 1
    return text.rstrip() + "\n" + f"{writing.opener}\n" * (lacking if writing.opener else 0)


def _head(task: Task) -> str:
    """Return the prompt up to the declaration of its last function."""
    matches = list(_declarations(task))
    return task.problem.prompt[: matches[-1].start()] if matches else ""


def _lacks_helpers(task: Task, text: str) -> bool:
    """Tell whether the prompt has other functions than the one that it begins, and a program lacks any of them."""
    return any(not _declares(task, text, name) for name in _declared(task)[:-1] if name != "main")


def _function(task: Task) -> str:
    """Return the name of the function that a prompt begins; empty where there is none."""
    names = _declared(task)
    return names[-1] if names else ""


def _declared(task: Task) -> list[str]:
    return [next(group for group in match.groups() if group) for match in _declarations(task)]


def _declarations(task: Task) -> list[re.Match[str]]:
    pattern = _writing(task).defines.replace("NAME", r"([A-Za-z_]\w*)")
    prompt = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), task.problem.prompt)
    return list(re.finditer(pattern, prompt, re.MULTILINE)) if pattern else []


def _declares(task: Task, text: str, name: str) -> bool:
    return re.search(_writing(task).defines.replace("NAME", re.escape(name)), text, re.MULTILINE) is not None


def _is_left_open(task: Task, block: Block, name: str) -> bool:
    """Tell whether a block is cut off, imports the function, or has nothing but comments as its body."""
    writing, text = _writing(task), block.text
    braces = find_braces(text, writing)
    if not block.closed and sum(1 if brace == "{" else -1 for _at, brace in braces) > 0:
        return True
    *_, declared = re.finditer(writing.defines.replace("NAME", re.escape(name)), text, re.MULTILINE)
    if re.match(r"\s*(?:await\s+import|require)\b", text[declared.end() :]):
        return True
    code = blank_texts(text, writing)
    opening = code.find("{", declared.end())
    end = _end_of_block(braces, opening) if opening >= 0 else None
    if end is None or ";" in code[declared.end() : opening]:
        return False
    return not code[opening + 1 : end - 1].strip()


def _writing(task: Task) -> Writing:
    return find_writing(language_of(task.problem.check))
