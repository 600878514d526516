"""The report on a file of samples, made while it is read, in about twelve bytes a row."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Sequence

from passcurve.diagnosis import MAX_SHARE, Finding, InputReport
from passcurve.store.copies import CopyTracker
from passcurve.store.cut_texts import IS_CUT, SAYS_SYNTAX, truncated, unclosed_rows
from passcurve.store.describe import n_rows, shorten
from passcurve.store.hints import unknown_tasks_remedy
from passcurve.store.missing_text import MissingText
from passcurve.store.mixture import MixtureTracker
from passcurve.store.prompts import PromptComparison
from passcurve.store.question_answers import AnswerTracker, unreadable_answers
from passcurve.store.reasons import (
    LACKS_NAME,
    NAME_REMEDY,
    ReasonTracker,
    is_syntax_error,
    is_wrong_answer,
    lacks_import,
)
from passcurve.store.replies import text_in_json
from passcurve.store.samples import CUT_OFF, MalformedLine
from passcurve.store.stray_characters import StrayCharacterTracker
from passcurve.store.text_causes import (
    ALWAYS,
    BEFORE_CUTS,
    BEHIND,
    CAUSE_NAMES,
    cause_finding,
    cause_name,
    cause_number,
)
from passcurve.store.text_faults import (
    AMID,
    BODY,
    CONTINUATION,
    CUT,
    FOR_ROWS,
    JSON,
    METHOD,
    NEXT,
    OPEN,
    PROMPT,
    begins_function,
    find_faults,
)
from passcurve.types import Completion, Expression, Problem, Status
from passcurve.types.amounts import have
from passcurve.types.languages import Language

_MIN_SHARE = 0.01
"""Share of the rows up to which a repeated prompt is a whim of a model, and no fault of the file."""

_LINE_ENDS = frozenset("\n\r")
_LINES_ROWS = 8
"""Rows without a line end from which on these seem to be lost."""
_MANY_SHARE, _MANY_ROWS = 0.5, 10
"""Share and number of rows that do not compile above which the file, not the model, seems at fault."""
_REPLIES_SHARE = 0.1
"""The same share where replies are taken apart: of a program in one hardly any fails to compile."""

_CAUSE, _UNCOMPILED, _REACHED_LIMIT, _LACKING = (1 << 6) - 1, 1 << 6, 1 << 7, 1 << 8
"""Bits of the number of a cause, and those beside it: nothing compiles the program before it runs, the model reached
its limit, the row lacks the function."""

_MAX_LOOKS = 4096
"""Texts whose bits are kept: equal texts often follow one another."""

_MAY_BE_STRAY = frozenset(("", "flush", "flat", "tabs", "next", BEHIND, "body that does not compile", "amid", "open"))
"""Causes that are less sure than a character that Python names."""


class InputObserver:
    """Sees each row as it is read and each status as it is reached, and reports what a score would not show."""

    def __init__(self, extract: str) -> None:
        """Begin; ``extract`` is the policy by which texts become programs."""
        self._extract = extract
        self._is_taken_whole = extract == "raw" or extract.startswith("stop-words")
        """True where neither fences, nor prose, nor a repeated prompt are removed."""
        self._copies = CopyTracker()
        self._flags = array("H")
        """By the number of a row: the cause that would keep it from compiling, and two bits beside it."""
        self._looks: dict[int, int] = {}
        """Bits by a hash of the text."""
        self._counts: Counter[str] = Counter()
        self._answers = AnswerTracker()
        self._missing = MissingText()
        self._mixture = MixtureTracker()
        self._reasons = ReasonTracker()
        self._strays = StrayCharacterTracker()
        self._prompts = PromptComparison()

    def observe(self, problem: Problem, row: Completion, *, is_compiled: bool = True) -> None:
        """Take a row, before its program is judged; ``is_compiled`` where it has to compile before it runs."""
        text = row.text
        if row.origin:
            self._mixture.add(row.origin)
        if text is None or not text.strip():
            self._copies.add(problem.id, int(row.digest, 16))
            if text is None or row.form == "solution" or not problem.has_gap:
                self._missing.observe(row)
            return
        # A row that is copied by another program can differ in its other fields.
        place = hash((problem.id, row.form, text))
        self._copies.add(problem.id, place)
        bits = self._looks.get(place)
        if bits is None:
            if len(self._looks) >= _MAX_LOOKS:
                self._looks.clear()
            bits = self._looks[place] = find_faults(problem, row.form, text, is_taken_whole=self._is_taken_whole)
        if row.has_both:
            self._counts["both"] += 1
        if row.passed is not None:
            self._counts["passed before" if row.passed else "failed before"] += 1
        if isinstance(problem.check, Expression):
            self._answers.observe(problem.check, text)
        if not self._counts["lines"]:
            self._counts["lines"] += not _LINE_ENDS.isdisjoint(text.strip())
            self._counts["one line"] += "\n" in (problem.reference or "").strip()
        if len(text) <= len(problem.prompt) and text.strip() == problem.prompt.strip():
            self._counts["prompt alone"] += 1
            return
        self._prompts.observe(problem, row.prompt)
        if row.prompt and row.form == "completion" and self._prompts.differs(problem, row.prompt):
            self._counts["other prompt"] += 1
        if row.hints == CUT_OFF:
            self._counts["cut off"] += 1
            bits &= ~(AMID | OPEN | CUT)
        for bit, name in ((PROMPT, "prompt"), (CONTINUATION, "continuation"), (BODY, "body"), (METHOD, "method")):
            self._counts[name] += bits & bit > 0
        self._counts["lone body"] += bits & BODY > 0 and not begins_function(problem)
        if bits & JSON and not self._reasons.json_place:
            self._reasons.json_place = text_in_json(row.form, text)
        if bits & CONTINUATION:
            self._reasons.add_lacking(problem, text)
        if self._extract == "pruned":
            bits &= ~NEXT
        flags = cause_number(bits & FOR_ROWS) | (_LACKING if bits & CONTINUATION else 0)
        flags |= 0 if is_compiled else _UNCOMPILED
        if flags := flags | (_REACHED_LIMIT if row.hints == CUT_OFF else 0):
            if row.row >= len(self._flags):
                self._flags.frombytes(bytes((row.row + 1 - len(self._flags)) * self._flags.itemsize))
            self._flags[row.row] = flags

    def judge(
        self,
        row: int,
        status: Status,
        message: str = "",
        *,
        raised_early: bool = False,
        is_unclosed: bool = False,
    ) -> None:
        """Take the status of a row, and its message.

        ``raised_early`` where the program itself raised an exception, ``is_unclosed`` where it stood in a fence that
        does not end.
        """
        flags = self._flags[row] if row < len(self._flags) else 0
        cause, is_lacking = flags & _CAUSE, flags & _LACKING > 0
        # Without a compiler, wrong syntax shows when a script runs; a script that gives a wrong answer has run.
        is_ill = flags & _UNCOMPILED > 0 and not is_wrong_answer(status, message)
        if status == "passed":
            # The extraction, or what the benchmark puts before a program, has put the text into the function.
            self._counts["continuation"] -= is_lacking
            self._counts["unclosed, passed"] += is_unclosed
            return
        if flags & _UNCOMPILED and is_syntax_error(message):
            status = "compile"
        self._reasons.add(status, message)
        broken = self._counts["broken"]
        is_named = self._count_cause(
            cause, status, message, is_lacking=is_lacking, raised_early=raised_early, is_ill=is_ill
        )
        self._counts["broken, unclosed"] += is_unclosed and self._counts["broken"] > broken
        self._counts["unclosed"] += is_unclosed and not is_named and not flags & _REACHED_LIMIT

    def _count_cause(
        self, cause: int, status: Status, message: str, *, is_lacking: bool, raised_early: bool, is_ill: bool
    ) -> bool:
        """Count a row that did not pass by its cause; tell whether it has one with a finding of its own."""
        name = cause_name(cause) if cause else ""
        # An answer to a question is compiled when it is asked for.
        is_broken = status == "compile" or (self._answers.rows > 0 and message.startswith("SyntaxError"))
        if is_broken and name in _MAY_BE_STRAY and self._strays.add(message):
            return True
        if name == BEHIND and raised_early and status == "failed" and not lacks_import(message):
            self._counts[name] += 1
            return True
        if name in ("", BEHIND) or (name == "open" and is_broken and not IS_CUT.search(message)):
            self._counts["broken"] += is_broken
            return False
        if not is_broken and (name == "open" or (name == "cut" and not SAYS_SYNTAX.search(message))):
            is_ill = False
        # Nothing that compiles is fenced: its backquotes stand in a string or a comment.
        if is_broken or is_ill or name in ALWAYS or (not self._is_taken_whole and self._is_cut(name, status)):
            self._counts[name] += 1
            # What is no program cannot be one of another function.
            self._counts["continuation"] -= is_lacking and name in CAUSE_NAMES
            return True
        return False

    @staticmethod
    def _is_cut(name: str, status: Status) -> bool:
        """Tell whether a fault of the text may have made the extraction cut it, or leave nothing of it."""
        return name in BEFORE_CUTS or status == "no_code"

    def report(
        self,
        *,
        rows: int,
        unread: int = 0,
        malformed: Sequence[MalformedLine] = (),
        unknown_tasks: int = 0,
        task_ids: Collection[str] = (),
        problems: int = 1,
        uniform: tuple[int, int] = (0, 0),
        temperature: float | None = None,
        language: Language | None = None,
    ) -> InputReport:
        """Return the findings.

        ``rows`` are the lines of the file.  ``unread`` of them are no rows of the benchmark; of these, the
        ``malformed``, the first are enough.  ``uniform`` are the problems whose samples are
        all one program, where that is so for all problems with several, and their rows; ``problems`` should have rows.
        ``language`` is that of all programs, unless it is Python or there are several.
        """
        counts, seen = self._counts, len(self._copies)
        unreadable = self._missing.without_field + counts["fenced"] + counts["chatty"]
        withholds = unreadable > MAX_SHARE * seen
        is_prompt = 2 * counts["prompt alone"] > seen
        # What passcurve has sampled itself is no concatenation.
        repeated = self._copies.finding() if temperature is None else None
        others = self._prompts.of_others(seen, self._reasons.failed)
        candidates = [
            self._missing.no_field(seen, withholds=withholds),
            self._missing.lists_of_code(seen),
            self._fenced(withholds=withholds and self._extract == "raw"),
            unknown_tasks_finding(malformed, unknown_tasks, task_ids),
            self._two_fields(),
            self._missing.empty_text(),
            self._prompts_alone(),
            others,
            self._other_prompts(),
            self._holding_prompt(),
            None if others is not None else self._continuations(task_ids),
            self._methods(),
            self._answers.other_task(seen),
            *(cause_finding(name, counts[name], self._reasons.json_place) for name in CAUSE_NAMES),
            self._strays.finding(),
            None if others is not None else self._broken(),
            self._copies.one_task(problems),
            self._filtered(problems),
            self._one_line(),
            self._mixture.finding(),
            repeated,
            truncated(counts),
            None if repeated is not None or is_prompt else self._copies.equal_programs(uniform, temperature),
        ]
        findings = [finding for finding in candidates if finding is not None]
        if (reason := self._reasons.finding(seen, findings, task_ids, language)) is not None:
            findings.append(reason)
        return InputReport(rows=rows, unread=unread, findings=tuple(findings))

    def _fenced(self, *, withholds: bool) -> Finding | None:
        fenced, chatty = self._counts["fenced"], self._counts["chatty"]
        if not fenced + chatty:
            return None
        kinds = [f"{n_rows(fenced)} {have(fenced)} Markdown fences (```)"] if fenced else []
        kinds += [f"{n_rows(chatty)} {have(chatty)} prose around the code"] if chatty else []
        policy = "answer" if self._answers.rows else "auto (passcurve autopsy compares)"
        text = f"{' and '.join(kinds)}, which does not compile under --extract {self._extract}; use --extract {policy}"
        return Finding(name="fenced", rows=fenced + chatty, text=text, withholds=withholds)

    def _prompts_alone(self) -> Finding | None:
        rows = self._counts["prompt alone"]
        if rows <= _MIN_SHARE * len(self._copies):
            return None
        text = (
            f"{n_rows(rows)} {have(rows)} nothing but the prompt where the code should be; "
            "name the field that holds the answer with --field NAME"
        )
        return Finding(name="prompt_alone", rows=rows, text=text)

    def _other_prompts(self) -> Finding | None:
        rows = self._counts["other prompt"]
        if not rows:
            return None
        text = (
            f"the `prompt` of {n_rows(rows)} gives the function other parameters than the benchmark does, so that "
            "`completion` does not continue the benchmark's; judge whole programs: "
            "jq -c '{task_id, solution: (.prompt + .completion)}' IN > OUT"
        )
        return Finding(name="other_prompt", rows=rows, text=text)

    def _filtered(self, problems: int) -> Finding | None:
        rows = self._counts["passed before"]
        if rows < len(self._copies) or not rows or self._copies.is_even(problems):
            return None
        text = (
            f"all {n_rows(rows)} say `passed`: true, and problems have unlike numbers of them: what failed seems to be "
            "left out, so the score says nothing of the model; judge all its samples"
        )
        return Finding(name="filtered", rows=rows, text=text)

    def _one_line(self) -> Finding | None:
        rows, seen = self._counts["one line"], len(self._copies)
        is_explained = any(2 * self._counts[name] > seen for name in CAUSE_NAMES)
        if self._counts["lines"] or is_explained or 2 * rows < seen or seen < _LINES_ROWS:
            return None
        text = (
            f"no text has more than one line, and the references of {n_rows(rows)} have several: line ends were lost, "
            "or the model was stopped at the first; take the texts from where they were made, or generate them again"
        )
        return Finding(name="one_line", rows=rows, text=text)

    def _holding_prompt(self) -> Finding | None:
        rows = self._counts["prompt"]
        if rows <= _MIN_SHARE * len(self._copies):
            return None
        text = (
            f"{n_rows(rows)} {have(rows)} the prompt in `completion` already, and it is put before them again; "
            "use --extract auto"
        )
        return Finding(name="holds_prompt", rows=rows, text=text)

    def _continuations(self, task_ids: Collection[str]) -> Finding | None:
        rows = self._counts["continuation"]
        if rows <= _MIN_SHARE * len(self._copies):
            return None
        text = f"the text of {n_rows(rows)} lacks the function to test"
        if 2 * self._counts["lone body"] > rows:
            text += (
                "; they look like bodies of functions, and the prompts lack the line that defines the function, too: "
                "ask for whole programs"
            )
        elif 2 * self._counts["body"] > rows:
            text += (
                "; they look like bodies that continue the prompt: use --field solution (no :solution behind the name)"
            )
        elif others := self._reasons.explain_lacking(task_ids, rows, rows / len(self._copies)):
            text += f"; {others}"
        elif rows == len(self._copies):
            text += "; if it continues the prompt, use --field solution, else check that the task ids are right"
        return Finding(name="lacks_function", rows=rows, text=text)

    def _two_fields(self) -> Finding | None:
        rows = self._counts["both"]
        if not rows:
            return None
        text = (
            f"{n_rows(rows)} {have(rows)} both `completion` and `solution`, and `solution` is judged, as in EvalPlus; "
            "use --field completion if that is what the model wrote"
        )
        return Finding(name="two_fields", rows=rows, text=text)

    def _methods(self) -> Finding | None:
        rows = self._counts["method"]
        if not rows:
            return None
        text = (
            f"the text of {n_rows(rows)} has the function to test as a method of `class Solution` only, where "
            "the tests do not find it"
        )
        return Finding(name="method_only", rows=rows, text=text)

    def _broken(self) -> Finding | None:
        # Those in a fence that is not closed are told as such.
        rows = self._counts["broken"] - (self._counts["broken, unclosed"] if unclosed_rows(self._counts) else 0)
        has_questions = 2 * self._answers.rows > len(self._copies)
        share = _MANY_SHARE if self._is_taken_whole and not has_questions else _REPLIES_SHARE
        if rows < _MANY_ROWS or rows <= share * len(self._copies) or 2 * self._counts["prompt"] > rows:
            return None
        if has_questions:
            return unreadable_answers(rows, self._reasons.of_status("failed", "SyntaxError"), self._extract)
        error = self._reasons.of_status("compile")
        compare = "passcurve autopsy compares ways to extract the code, passcurve show tells the error of a sample"
        remedy = NAME_REMEDY if LACKS_NAME.search(error) else compare
        text = f"{n_rows(rows)} do not compile, most of all by {error}; {remedy}"
        return Finding(name="broken", rows=rows, text=text)


def unknown_tasks_finding(malformed: Sequence[MalformedLine], count: int, task_ids: Collection[str]) -> Finding | None:
    """Return the finding on rows of tasks that the benchmark lacks, from the first of them; None without any."""
    unknown = [line.task for line in malformed if line.task is not None]
    if not unknown:
        return None
    example = shorten(unknown[0]) if isinstance(unknown[0], str) else str(unknown[0])
    text = f"{n_rows(count)} {have(count)} a task id that the benchmark lacks, such as {example}; "
    return Finding(name="unknown_tasks", rows=count, text=text + unknown_tasks_remedy(unknown, task_ids))
