"""Rows that lm-eval writes with ``--log_samples``: a problem (``doc``) and the answers to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from passcurve.errors import DataError
from passcurve.store.documents import is_lm_eval
from passcurve.store.foreign.options import FindProblems, ReadOptions
from passcurve.store.foreign.values import flatten, parse_object
from passcurve.types import Expression, Problem


def read_lm_eval(
    name: str, lines: Iterable[bytes], options: ReadOptions, problems: FindProblems
) -> Iterator[bytes | dict[str, Any]]:
    """Yield the samples of these lines; one that is no such row stays as it is.

    Raises DataError where a row lacks the field that the user named, where the file holds answers through two filters,
    and where the benchmark is not known by which answers are taken out of assertions.
    """
    converter = _LmEvalRows(name, options, problems())
    for line in lines:
        row = parse_object(line)
        if row is not None and is_lm_eval(row):
            yield from converter.samples(row)
        else:
            yield line


class _LmEvalRows:
    """Turns rows of one file into samples."""

    def __init__(self, name: str, options: ReadOptions, problems: Sequence[Problem] | None) -> None:
        self._name, self._options = name, options
        self._ids: dict[str, str | None] = {}
        # A mapping of ids is for those that the file has.
        self._order = [problem.id for problem in problems or () if options.id_map is None]
        check = problems[0].check if problems else None
        self._asks = check.asks if isinstance(check, Expression) else ""
        self._is_named = problems is not None
        for problem_id in self._order:
            last = problem_id.rpartition("/")[2]
            self._ids[last] = None if last in self._ids else problem_id
        self._problem_ids = frozenset(self._order)
        self._filter: object = None

    def samples(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the samples of a row; raises what ``read_lm_eval`` raises."""
        self._check_filter(row.get("filter"))
        doc = row["doc"]
        head: dict[str, Any] = {"task_id": self._task(doc, row.get("doc_id"))}
        if field := self._options.field:
            if field not in row:
                names = ", ".join(f"`{name}`" for name in row)
                raise DataError(f"no field `{field}` in a row of {self._name!r}; it has {names}")
            form: str = self._options.form
            texts = flatten(row[field])
        else:
            answers = flatten(row["resps"]) if "resps" in row else []
            texts = flatten(row["filtered_resps"]) if "filtered_resps" in row else answers
            form = form_of(doc, texts, answers)
            if not self._is_named and any(_is_assertion(doc, text) for text in texts):
                raise DataError(
                    f"{self._name!r} has answers to questions about a function, of which lm-eval makes assertions: "
                    "name the benchmark with --benchmark cruxeval-input or cruxeval-output"
                )
            texts = [_answer_of(doc, text, self._asks) for text in texts] if self._asks else texts
        tail = {"doc_id": row["doc_id"]} if "doc_id" in row else {}
        return [{**head, form: text, **tail} for text in texts]

    def _task(self, doc: dict[str, Any], number: object) -> object:
        task, name = doc.get("task_id"), doc.get("id")
        if isinstance(task, str):
            return task
        if isinstance(task, int):
            return self._ids.get(str(task)) or str(task)
        # CRUXEval's.  A map is for the numbers, and the benchmark may have other ids than these.
        if isinstance(name, str) and (name in self._problem_ids if self._order else self._options.id_map is None):
            return name
        if isinstance(number, int) and 0 <= number < len(self._order):
            return self._order[number]
        return str(number)

    def _check_filter(self, name: object) -> None:
        if self._filter is None:
            self._filter = name
        if name != self._filter:
            raise DataError(
                f"{self._name!r} has each answer once for each of the filters {self._filter!r} and {name!r} of "
                "lm-eval; keep the rows of one of them"
            )


def _answer_of(doc: dict[str, Any], text: object, asks: str) -> object:
    """Return the answer to a question of CRUXEval, of which lm-eval makes the function and an assertion.

    ``extract_code_input`` and ``extract_code_output`` in its cruxeval/utils.py.
    """
    begin, end = _assertion_head(doc), f")=={doc.get('output')}"
    if not isinstance(text, str) or not text.startswith(begin):
        return text
    if asks == "input":
        return f"f({text[len(begin) : -len(end)]})" if text.endswith(end) else text
    begin += f"{doc.get('input')})=="
    return text[len(begin) :] if text.startswith(begin) else text


def _assertion_head(doc: dict[str, Any]) -> str:
    return f"{doc.get('code')}\nassert f("


def _is_assertion(doc: dict[str, Any], text: object) -> bool:
    """Tell whether a text is the function of a question with an assertion about it."""
    return "code" in doc and isinstance(text, str) and text.startswith(_assertion_head(doc))


def form_of(
    doc: dict[str, Any], texts: Sequence[object], answers: Sequence[object]
) -> Literal["completion", "solution"]:
    """Return what lm-eval would run: the filtered text, which its filter has made a whole program, or not."""
    prompt = doc.get("prompt")
    if not isinstance(prompt, str) or "entry_point" not in doc:
        return "solution"
    if all(isinstance(text, str) and text.startswith(prompt) for text in texts):
        return "solution"
    return "completion" if list(texts) == list(answers) else "solution"
