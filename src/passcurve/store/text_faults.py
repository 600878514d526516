"""Faults of a text that keep a program from compiling, or that a score does not show: each is a bit."""

from __future__ import annotations

import re
from functools import lru_cache

from passcurve.store.cut_texts import DOCSTRING_QUOTES, ends_amid_value, is_cut
from passcurve.types import Cases, Expression, Problem, language_of
from passcurve.types.marks import ANALYSIS, ASSISTANT, BARE_ANALYSIS, BARE_FINAL, FINAL, SPECIAL_TOKEN, THINKING_TAGS

_FENCE = re.compile(r"^[ \t]*(?:\w[\w ]{0,20}: ?)?(?:```|~~~)", re.MULTILINE)
"""A fence at the beginning of a line, or behind the name of a speaker."""
_CHAT = re.compile(
    r"\n ?(?:(?:Sure|Certainly|Of course|Absolutely|Great|Okay|OK|Yes)\b[!,.:]"
    r"|(?:Here|Below) (?:is|are)\b|Here['\u2019]s\b|To (?:solve|implement|complete|do|fix)\b"
    r"|Let(?:['\u2019]s| me| us)\b|I(?:['\u2019](?:ll|ve|m)| have| will| can)\b"
    r"|You can\b|We (?:can|need|use|first)\b|In this\b|Explanation\b|Note(?: that|:)"
    r"|(?:This|The) (?:\w+ )?(?:function|solution|code|program|implementation|approach|method)\b"
    r"|<think>|\[PYTHON\]|</?code>|(?:BEGIN|END) SOLUTION"
    r"|(?:Answer|Solution|Example usage|Output|Step \d+):)",
)
"""A line of prose by a chat model, with the end of the line before, for which a search is quick."""
_ANSWER_TAG = "ANSWER]"
"""End of the tags between which CRUXEval's prompts ask for an answer."""
_TOKEN = re.compile(SPECIAL_TOKEN)
_COMMENTS = re.compile(r"(?:[ \t]*+(?:#.*)?\n)+")
_TOP_LEVEL = re.compile(r"def |class |async |import |from |@|#|\"\"\"|'''")
_IMPORT = re.compile(r"\bimport\b")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|#x27);")
"""A sign of code as HTML has it."""
_NEXT = re.compile(r"\n(?:def |class |if __name__|print\(|#|assert |```)")
"""What begins after the function, at the beginning of a line."""
_DEMO = re.compile(r"\n(?:if __name__|print\(|assert |for |while |try:|[A-Za-z_][\w., ]{0,80}(?: = |\())")
"""What may call the function of a whole program: a statement at the beginning of a line."""
_TOOL = re.compile(r"^(?:<tool_call>|<function_calls>|<function=|<\|python_tag\|>|\[TOOL_CALLS\])", re.MULTILINE)
"""The beginning of a call of a tool, as chat templates have it."""
_NUMBERS = re.compile(r"(?:\A|```\w*\n)\s*0*1[ \t|:][^\n]*\n[ \t]*0*2[ \t|:][^\n]*\n[ \t]*0*3[ \t|:\n]")
"""Numbers of the first lines of a text or a fence; those of a list have a point or a bracket behind them."""
_ELIDED = re.compile(
    r"^[ \t]*(?:#|//|--|/\*)[ \t]*[\[({<]?(?:"
    r"(?:\.{3}|\u2026)\W{0,3}(?=[^\n]{0,60}\b(?:rest|unchanged|existing|same|remain|other|previous|original))"
    r"|(?:the )?rest of (?:the|your|this) (?:\w+ )?(?:code|class|program|file|function|methods?|functions|script)\b"
    r"|(?:all )?(?:the )?(?:existing|other|remaining|previous|original) (?:code|methods|functions|class\w*|imports) "
    r"(?:(?:here|above|below|stays?|remains?|unchanged|goes|is|are|as)\b|\.{3}|\u2026)"
    r")",
    re.MULTILINE | re.IGNORECASE,
)
"""A comment that stands for code of the question, which it leaves out."""
_FENCED_PIECES = 3
_DEFINITION = re.compile(r"^(?:def|class) ", re.MULTILINE)
_STATEMENT = re.compile(r"^(?!(?:async )?def |class |import |from |@|#)[^\s)\]}]", re.MULTILINE)
"""A line at the margin that is no definition, import or comment, nor the end of one."""
_PROMPTING = re.compile(r"^(?![ \t]*#).*\binput\([fr]?['\"](?!['\"])", re.MULTILINE)
"""A call that writes a text before it reads a line."""
_CLOSING = dict(THINKING_TAGS)
_THINKING = re.compile(
    rf"\s*(?:({'|'.join(map(re.escape, _CLOSING))})"
    rf"|(?:{re.escape(ASSISTANT)})?{re.escape(ANALYSIS)}\b|{BARE_ANALYSIS}[A-Z][\w'\u2019]* [a-z])"
)
_BLOCK = re.compile(r"^(?:def |if |for |while |else:|elif |class |try:|with ).*:\n\w", re.MULTILINE)
"""A line that opens a block, and one after it that is not indented."""
_STRIPPED = re.compile(r"(?:async )?def [^\n]*\n\s*? {8}\S[^\0]*\n {4}\S")
"""A function at the margin whose block, and what follows that, are those of one in a function."""
_MIN_NEWLINES = 2
_HEAD_CHARACTERS = 400
"""Beginning of a text, which tells what it is."""
_DIFF = re.compile(r"(?:diff --git|--- |\+\+\+ |@@ -|\+ {4})")
_LANGUAGE = re.compile(
    r"^\s*(?:(?:export |async )*function \w+ ?\(|(?:const|let|var) \w+ = |#include\b|using namespace |public \w|"
    r"import java|fn \w+|func \w+|<\?php|(?:int|bool|string|vector<.*>|double|void) \w+\()",
    re.MULTILINE,
)
_PYTHON = re.compile(
    r"^(?:(?:async )?def \w+\([^{\n]*\)(?: ->[^{\n]*)?:[ \t]*(?:#.*)?|from \w+ import [\w, *]+|"
    r"import (?:sys|math|re|os|heapq|bisect|itertools|collections|functools)|[\w, ]+ = [^{;\n]*\binput\(\)[^{;\n]*)$",
    re.MULTILINE,
)
_REQUEST = re.compile(
    r"\W*(?:(?:api |http |server |openai |anthropic )?error\b(?: code)?:|(?:error )?(?:429|5\d\d)\b|rate limit|"
    r"internal server error|service unavailable|bad gateway|gateway time-?out|request timed out|connection error)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:i['\u2019]m sorry|i am sorry|sorry, |i apologi[sz]e|unfortunately, i|as an ai\b|"
    r"i(?: can['\u2019]t| can ?not|['\u2019]m (?:not able|unable)| am (?:not able|unable)) )",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?:return|def|import|print)\b")
_NO_BREAK = re.compile(r"^[ \t]*\u00a0", re.MULTILINE)
_TYPOGRAPHIC = re.compile(r"(?:[=(\[,+:{]|\b(?:return|in|not|and|or|print)) ?[\u201c\u201d\u2018\u2019]")
"""A quote where code has one, and prose has none."""
_BEGINS_A_FUNCTION = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]|\{\s*\Z", re.MULTILINE)
"""What a prompt has whose function goes on: one of another name, or in another language, is the benchmark's fault."""

FENCED, CHATTY, OPEN, PROMPT, CONTINUATION, FLUSH, TOKEN = 1, 2, 4, 8, 16, 32, 64
"""The text has a fence, has prose, ends amid a bracket or a block, has the prompt, lacks the function, begins flush
left or is indented otherwise than the body, has a special token of a model."""
ESCAPED, METHOD, NUL, NEWLINES, TABS, NEXT, BODY = 128, 256, 512, 1024, 2048, 4096, 8192
"""It has entities of HTML, has the function as a method alone, has a NUL, has line ends as two characters, has tabs
where the prompt has spaces, goes on after the function, is the body of a function."""
DIFF, DOCTEST, LANGUAGE, REQUEST, REFUSAL = 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18
"""It is a diff, a session of doctest, in another language, an error message of an API, a refusal."""
SPACES, QUOTES, QUOTED, JSON = 1 << 19, 1 << 20, 1 << 21, 1 << 22
"""It has no-break spaces for indentation, has typographic quotes, is one quoted string, is JSON."""
FLAT, THINKING, TABLE = 1 << 23, 1 << 24, 1 << 25
"""It has blocks and no indentation, has thinking without an end, stands between quotes as in a table."""
TOOL, NUMBERS, DEFINES, CUT, PYTHON, ASKS = 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30, 1 << 31
"""It calls a tool, has a number before each line, defines functions and calls none where a program is run, ends amid
a block in another language than Python, is in Python where another language is asked for, asks for its input with a
text that stands in its output."""
AMID, ELIDED = 1 << 32, 1 << 33
"""It ends in Python where a value is still to come, has a comment in the place of code."""
FOR_ROWS = ~(PROMPT | CONTINUATION | METHOD)
"""Bits that count only in a program that does not compile, or does not pass."""


def find_faults(problem: Problem, form: str, text: str, *, is_taken_whole: bool) -> int:
    """Return the bits of a text; ``is_taken_whole`` where the extraction removes nothing."""
    is_python, is_expression = not language_of(problem.check), isinstance(problem.check, Expression)
    bits = (OPEN if is_python else CUT) if is_cut(problem, form, text, is_taken_whole=is_taken_whole) else 0
    # The body of a function begins with spaces, and is nothing else.
    if not text.startswith("    ") or "{" in text:
        # An answer may be a text or a dictionary.
        bits |= _kind(text, is_python=is_python) & ~(JSON | QUOTED if is_expression else 0)
    bits |= _signs(text)
    if is_python:
        bits |= _python_faults(problem, text, is_taken_whole=is_taken_whole)
    if faults := _script_faults(problem, text):
        # Where its fence ends, so does the program.
        bits = bits & ~(OPEN if "```" in text else 0) | faults
    if "&" in text and _ENTITY.search(text):
        bits |= ESCAPED
    if (tag := _THINKING.match(text)) and not any(end in text for end in _thinking_ends(tag[1])):
        bits |= THINKING
    if ":\n" in text and "\n " not in text and "\n\t" not in text and _BLOCK.search(text):
        bits |= FLAT
    if not text.isascii():
        bits |= (SPACES if _NO_BREAK.search(text) else 0) | (QUOTES if _TYPOGRAPHIC.search(text) else 0)
    if not is_taken_whole:
        if is_expression:
            return bits
        bits |= NEWLINES if _has_escaped_line_ends(text) else 0
        bits |= NEXT if is_python and not bits & OPEN and "```" not in text and _runs_on(problem, text) else 0
        if is_python and _is_lone_body(problem, text):
            return bits | CONTINUATION | BODY
        return bits | (METHOD if _is_method(problem, text) else CONTINUATION if _lacks_function(problem, text) else 0)
    bits |= _characters(problem, text)
    if ("<" in text or "INST]" in text) and _TOKEN.search(text):
        bits |= TOKEN
    if ("```" in text or "~~~" in text) and _has_fence(text):
        bits |= FENCED
    elif is_expression:
        # Of a text that thinks to its end no policy takes an answer: that is the model's fault.
        bits |= CHATTY if _ANSWER_TAG in text else 0
    elif _CHAT.search("\n" + (text if is_python else _without_comments(text))):
        bits |= CHATTY
    if is_expression:
        return bits & ~NEWLINES
    if form == "solution" or not problem.prompt:
        return bits | _whole_program(problem, text) | (NEXT if is_python and _has_demo(problem, text) else 0)
    if bits & (FENCED | CHATTY | REQUEST | REFUSAL):
        return bits
    if _holds_prompt(problem, text):
        return bits | PROMPT | (NEXT if is_python and _has_demo(problem, text) else 0)
    if is_python and _is_lone_body(problem, text):
        return bits | CONTINUATION | BODY
    if not problem.has_gap and _lacks_function(problem, text):
        bits |= CONTINUATION
    bits |= NEXT if _runs_on(problem, text) else 0
    return bits | FLUSH if is_python and _has_lost_indentation(problem, text) else bits


def _kind(text: str, *, is_python: bool) -> int:
    """Return the bits of a text that is something else than a program of its language."""
    head = text[:_HEAD_CHARACTERS].lstrip()
    sign = head[:1]
    if sign in "{[`":
        inner = head.removeprefix("```json").lstrip() if sign == "`" else head
        if inner.startswith(('{"', "{\n", '[{"')) and '":' in inner:
            return JSON
        if inner.startswith(('["', "['")) and "\\n" in inner and _CODE.search(inner):
            return JSON
    if sign in "'\"" or head.startswith(("b'", 'b"')):
        end = text.strip().removeprefix("b")
        sign = end[:1]
        if sign == '"' == end[-1] and "\n" in end and '"' not in end[1:-1].replace('""', ""):
            return TABLE
        return QUOTED if len(end) > 1 and end[-1] == sign and "\n" not in end and "\\n" in end else 0
    if sign == ">" and head.startswith(">>> "):
        return DOCTEST
    if sign in "+-@d" and _DIFF.match(head):
        return DIFF
    if (sign.isalpha() or not sign.isalnum()) and text[0] == sign:
        if _REFUSAL.match(head):
            return REFUSAL
        if len(text) <= _HEAD_CHARACTERS and _REQUEST.match(head):
            return REQUEST
    if not is_python:
        return PYTHON if _PYTHON.search(head) else 0
    return LANGUAGE if "{" in text and _LANGUAGE.search(head) else 0


def _without_comments(text: str) -> str:
    """Return a text in another language than Python without its comments of several lines, which hold prose."""
    first, *others = text.split("/*")
    return first + "".join(other.partition("*/")[2] for other in others)


def _characters(problem: Problem, text: str) -> int:
    """Return the bits of characters that a program should not have."""
    bits = NUL if "\0" in text else 0
    bits |= NEWLINES if _has_escaped_line_ends(text) else 0
    has_tabs = "\t" in text and (text[0] == "\t" or "\n\t" in text)
    if has_tabs and "\n    " in problem.prompt and not language_of(problem.check):
        bits |= TABS
    return bits


def _thinking_ends(tag: str | None) -> tuple[str, ...]:
    """Return what ends the thinking that begins with a tag, or with the channel of harmony where there is no tag."""
    return (_CLOSING[tag],) if tag else (FINAL, BARE_FINAL)


def _signs(text: str) -> int:
    """Return the bits of a text that calls a tool, or has a comment in the place of code."""
    bits = TOOL if ("<" in text or "[T" in text) and _TOOL.search(text) else 0
    return bits | ELIDED if _ELIDED.search(_script_of(text)) else bits


def _python_faults(problem: Problem, text: str, *, is_taken_whole: bool) -> int:
    """Return the bits of a text in Python that has numbers before its lines, or ends amid a value."""
    bits = NUMBERS if _NUMBERS.search(text) else 0
    if isinstance(problem.check, Expression) or not ends_amid_value(text):
        return bits
    # Behind a fence stands prose, and what follows the function is removed.
    return bits | AMID if is_taken_whole or not ("```" in text or _runs_on(problem, text)) else bits


def _script_faults(problem: Problem, text: str) -> int:
    """Return the bits of a program on standard input; none for any other text."""
    if not isinstance(problem.check, Cases) or problem.check.via != "stdin":
        return 0
    script = _script_of(text)
    asks = not language_of(problem.check) and _PROMPTING.search(script) is not None
    return (DEFINES if _only_defines(script) else 0) | (ASKS if asks else 0)


def _script_of(text: str) -> str:
    """Return a script, or the last fenced block of a reply."""
    pieces = text.split("```")
    return pieces[-2].partition("\n")[2] if len(pieces) >= _FENCED_PIECES else text


def _only_defines(code: str) -> bool:
    """Tell whether a script has definitions and imports alone."""
    return _DEFINITION.search(code) is not None and _STATEMENT.search(code) is None


def _has_escaped_line_ends(text: str) -> bool:
    """Tell whether a text of one line has line ends that are two characters."""
    end = text.strip()
    return "\n" not in end and (end.endswith("\\n") or end.count("\\n") >= _MIN_NEWLINES)


def _whole_program(problem: Problem, text: str) -> int:
    """Return the bits of a text that should be a whole program."""
    name = re.escape(problem.entry_point.rpartition(".")[2])
    if not name:
        # A script: nothing in it is called by name.
        return 0
    if name not in text or not _defines(name, text):
        return CONTINUATION | (BODY if _is_indented(text) else 0)
    return METHOD if _is_method(problem, text) else 0


def _is_method(problem: Problem, text: str) -> bool:
    """Tell whether a text has the function to test as a method of `class Solution` alone."""
    if "class Solution" not in text or "class Solution" in problem.prompt or not problem.entry_point:
        return False
    name = re.escape(problem.entry_point)
    if "." in name or f"def {problem.entry_point}(" not in text:
        return False
    return re.search(rf"^(?:(?:async )?def |class )?{name}\b", text, re.MULTILINE) is None


def begins_function(problem: Problem) -> bool:
    """Tell whether the prompt has the line that defines the function, which a body can continue."""
    return f"def {problem.entry_point}(" in problem.prompt


def _is_lone_body(problem: Problem, text: str) -> bool:
    """Tell whether a text is the body of a function of which neither it nor the prompt has the first line."""
    name = problem.entry_point
    if not name or "." in name or problem.has_gap or name in text or _BEGINS_A_FUNCTION.search(problem.prompt):
        return False
    return _is_indented(text) and f"class {name}" not in problem.prompt


def _runs_on(problem: Problem, text: str) -> bool:
    """Tell whether code follows the function in a text that is taken as it stands."""
    return _NEXT.search(text) is not None if _is_indented(text) else _has_demo(problem, text)


def _has_demo(problem: Problem, text: str) -> bool:
    """Tell whether a statement that may call the function follows it in a whole program."""
    _, definition, rest = f"\n{text}".rpartition(f"\ndef {problem.entry_point}(")
    return bool(definition) and _DEMO.search(rest) is not None


def _is_flush_body(text: str) -> bool:
    """Tell whether a text is the body of a function that has lost its indentation, or that of its first line."""
    return "\nreturn" in text or _STRIPPED.match(text) is not None


def _has_lost_indentation(problem: Problem, text: str) -> bool:
    """Tell whether a text begins flush left as no module does, or indented otherwise than the body of the function."""
    # A comment is indented as anyone likes.
    comments = _COMMENTS.match(text)
    head = text[comments.end() :] if comments else text
    if not head.strip():
        return False
    if head[0].isspace():
        return _is_indented_otherwise(problem, head)
    return not text[0].isspace() and (not _TOP_LEVEL.match(head) or _is_flush_body(head))


def _is_indented_otherwise(problem: Problem, text: str) -> bool:
    """Tell whether the first line of a text has more or fewer spaces before it than the body that the prompt begins."""
    first = text[: -len(text.lstrip())].rpartition("\n")[2]
    body = _body_spaces(problem.prompt, problem.entry_point)
    return bool(first) and bool(body) and first.strip(" ") == "" and len(first) != body


@lru_cache(maxsize=1024)
def _body_spaces(prompt: str, name: str) -> int:
    """Return the number of spaces before the body of a function that a prompt begins; 0 where there is no body yet."""
    head = re.compile(rf"^def {re.escape(name)}\([^\0]*?:[ \t]*(?:#[^\n]*)?\n( +)(?:[rR]?[\"']|\w)", re.MULTILINE)
    match = head.search(prompt)
    return len(match[1]) if match else 0


def _is_indented(text: str) -> bool:
    """Tell whether the first line of a text is indented; blank lines before it do not count."""
    return text[: -len(text.lstrip())].endswith((" ", "\t"))


def _lacks_function(problem: Problem, text: str) -> bool:
    """Tell whether a text of which the extraction takes a part has a function, and not the one to test."""
    name = problem.entry_point.rpartition(".")[2]
    if not name or name in text or "\ndef " not in f"\n{text}" or _is_indented(text):
        return False
    if _is_flush_body(text):
        # What it defines is a helper.
        return False
    is_program = text.lstrip().startswith(("def ", "from ", "import "))
    return f"def {name}(" not in problem.prompt or "```" in text or is_program


def _defines(name: str, text: str) -> bool:
    """Tell whether a text may define a name, in whatever way; a call or a docstring is none."""
    if f"def {name}(" in text or "exec(" in text or "globals()" in text:
        return True
    word, statement = re.compile(rf"\b{name}\b"), re.compile(rf"\b(?:for|as|def|class)\s+{name}\b")
    return statement.search(text) is not None or any(
        _binds(word, line) for line in text.split("\n") if "=" in line or "import" in line
    )


def _binds(word: re.Pattern[str], line: str) -> bool:
    """Tell whether a line may assign to a word or import it.  Piece by piece: a line may be long, and be hostile."""
    for piece in line.partition("#")[0].split("("):
        before, equals, _ = piece.rpartition("=")
        if equals and word.search(before):
            return True
    statement = _IMPORT.search(line)
    return statement is not None and word.search(line, statement.end()) is not None


def _has_fence(text: str) -> bool:
    """Tell whether a line begins with a fence, outside a docstring."""
    match = _FENCE.search(text)
    return match is not None and not any(text.count(quote, 0, match.start()) % 2 for quote in DOCSTRING_QUOTES)


def _holds_prompt(problem: Problem, text: str) -> bool:
    prompt = problem.prompt.strip()
    if len(prompt) <= len(text) and prompt and prompt in text:
        return True
    # Models mend white space and docstrings; they keep the line that defines the function.
    define = f"def {problem.entry_point}("
    return text.lstrip().startswith((define, "from ", "import ")) and define in text and define in prompt
