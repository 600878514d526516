"""Closed programs: those that can reach nothing but values of their own.

A program is closed when its compiled code, all of it, keeps to instructions, names and attributes from which nothing
can be reached that outlives it: no attribute is ever set, no class made, no exception caught, no code left that could
run later, no module named but a few that hold functions and constants, no attribute read but the plain methods of plain
values, and no function in Python.  Two closed programs can run one after the other in one process and neither changes
what the other does.  What is not on the lists is not closed; that costs time and nothing else, since such a program
gets a process of its own.

docs/sandbox.md has the argument, tests/sandbox/test_closed.py walks all that the lists reach.
"""

from __future__ import annotations

import builtins
import opcode
import re
import sys
from types import CodeType

VERSIONS = ((3, 11), (3, 12), (3, 13))
"""Whose instructions are known here; under any other interpreter no program is closed."""

INSTRUCTIONS = frozenset(
    """
    NOP CACHE RESUME EXTENDED_ARG POP_TOP PUSH_NULL COPY SWAP PRECALL
    UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT BINARY_OP COMPARE_OP IS_OP CONTAINS_OP TO_BOOL
    BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR BINARY_SLICE STORE_SLICE BUILD_SLICE
    LOAD_CONST LOAD_NAME STORE_NAME DELETE_NAME LOAD_GLOBAL STORE_GLOBAL DELETE_GLOBAL LOAD_ATTR LOAD_METHOD
    LOAD_FAST STORE_FAST DELETE_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST
    STORE_FAST_STORE_FAST MAKE_CELL LOAD_CLOSURE LOAD_DEREF STORE_DEREF DELETE_DEREF COPY_FREE_VARS
    BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_STRING
    LIST_APPEND LIST_EXTEND LIST_TO_TUPLE SET_ADD SET_UPDATE MAP_ADD DICT_UPDATE DICT_MERGE
    UNPACK_SEQUENCE UNPACK_EX FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE
    GET_ITER FOR_ITER END_FOR YIELD_VALUE RETURN_GENERATOR
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP
    POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE
    POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE
    POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    IMPORT_NAME IMPORT_FROM MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE KW_NAMES CALL CALL_KW CALL_FUNCTION_EX
    CALL_INTRINSIC_1 RETURN_VALUE RETURN_CONST
    LOAD_ASSERTION_ERROR RAISE_VARARGS RERAISE
    """.split()
)
"""None of them sets an attribute, makes a class, enters a ``with``, awaits, imports names that are not written, or
catches an exception: what a program does when memory or stack ends would depend on what was there before."""

MODULES = frozenset("bisect collections functools heapq itertools math operator string sys typing".split())

ATTRIBUTES = frozenset(
    """
    capitalize casefold center count endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit
    isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition
    removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title translate upper zfill
    append clear copy extend insert pop remove reverse sort
    fromkeys get items keys popitem setdefault update values
    add difference difference_update discard intersection intersection_update isdisjoint issubset issuperset
    symmetric_difference symmetric_difference_update union
    bit_count bit_length conjugate denominator imag is_integer numerator real
    acos asin atan atan2 ceil comb copysign cos degrees dist e exp fabs factorial floor fmod fsum gcd hypot inf isclose
    isfinite isinf isnan isqrt lcm log log10 log1p log2 modf nan perm pi pow prod radians sin sqrt tan tau trunc
    accumulate chain combinations combinations_with_replacement compress cycle dropwhile filterfalse from_iterable
    groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
    appendleft defaultdict deque extendleft popleft reduce rotate
    ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation whitespace
    and_ eq floordiv ge gt itemgetter le lt mod mul ne neg or_ sub truediv xor
    Any Dict List Optional Set Tuple Union
    bisect bisect_left bisect_right heapify heappop heappush heappushpop heapreplace insort insort_left insort_right
    maxsize
    """.split()
)
"""Plain methods of plain values, and functions and constants of MODULES: none that is written in Python, because what
such a function does with a value depends on what it is given."""

BUILTINS = frozenset(
    """
    Ellipsis False None NotImplemented True __debug__ abs all any bin bool bytearray bytes callable chr complex dict
    divmod enumerate filter float format frozenset hex int isinstance issubclass iter len list map max min next oct ord
    pow print range repr reversed round set slice sorted str sum tuple zip
    """.split()
) | {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}
"""Those that do nothing beyond their result; not ``type``, which makes classes, and not ``id`` and ``hash``, which
tell where things lie."""

_HIDDEN = frozenset(vars(builtins)) - BUILTINS
_OWN_NAME = "__name__"
_CODES = bytes(number for name, number in opcode.opmap.items() if name in INSTRUCTIONS and number < 256)
_EXTENDED = opcode.opmap["EXTENDED_ARG"]
_SHIFTED = {"LOAD_GLOBAL": (3, 11), "LOAD_ATTR": (3, 12)}
"""From which version on the lowest bit of the argument says something else than the name."""
_INTRINSICS = frozenset((3, 5, 6))
"""Of CALL_INTRINSIC_1: an exception in a generator, the plus sign, a list as a tuple."""
_AWAITED = 0x80 | 0x100 | 0x200
"""Flags of coroutines, of generators that serve as such, and of asynchronous generators."""
_GENERATOR = 0x20
_EXPRESSION = "<genexpr>"
"""A generator that is an expression has no code of its own to run when it is let go; no function has such a name."""
_DEEP = 50


def is_closed(code: CodeType, also: frozenset[str] = frozenset()) -> bool:
    """Say whether compiled code, with all code in it, is closed.

    ``also``: names that are known to be harmless in it, each after a letter: g for a name of its own, a for an
    attribute, m for a module.
    """
    return sys.version_info[:2] in VERSIONS and _is_closed(code, also, 0)


def forget_types() -> None:
    """Empty the caches of ``typing``, by which one program could see what types another has written."""
    for forget in getattr(sys.modules.get("typing"), "_cleanups", ()):
        forget()


def _kinds() -> tuple[bytes, bytes]:
    """Return for each instruction what its argument names, and by how much that is shifted."""
    kinds = ["."] * 256
    shifts = bytearray(256)
    named = {
        "LOAD_ATTR": "a",
        "LOAD_METHOD": "a",
        "IMPORT_FROM": "a",
        "LOAD_GLOBAL": "g",
        "LOAD_NAME": "g",
        "IMPORT_NAME": "m",
        "STORE_NAME": "s",
        "STORE_GLOBAL": "s",
        "DELETE_NAME": "s",
        "DELETE_GLOBAL": "s",
        "CALL_INTRINSIC_1": "i",
        "EXTENDED_ARG": "x",
    }
    for name, kind in named.items():
        number = opcode.opmap.get(name, 256)
        # Above are names that only the compiler uses.
        if number < 256:
            kinds[number] = kind
            shifts[number] = name in _SHIFTED and sys.version_info[:2] >= _SHIFTED[name]
    return "".join(kinds).encode(), bytes(shifts)


_KINDS, _SHIFTS = _kinds()
_NAMING = re.compile(rb"[^.]")


def _is_closed(code: CodeType, also: frozenset[str], depth: int) -> bool:
    raw = code.co_code
    numbers = raw[::2]
    # What is no plain instruction is left over.
    if numbers.translate(None, _CODES) or code.co_flags & _AWAITED or depth > _DEEP:
        return False
    if code.co_flags & _GENERATOR and code.co_name != _EXPRESSION:
        return False
    names = code.co_names
    extended, follows = 0, -1
    for found in _NAMING.finditer(numbers.translate(_KINDS)):
        place = found.start()
        kind = found.group().decode()
        argument = raw[2 * place + 1]
        if place == follows:
            argument |= extended
        if kind == "x":
            extended, follows = argument << 8, place + 1
        elif kind == "i":
            if argument not in _INTRINSICS:
                return False
        else:
            name = names[argument >> _SHIFTS[numbers[place]]]
            if not _is_allowed(kind, name) and kind + name not in also:
                return False
    return all(_is_closed(each, also, depth + 1) for each in code.co_consts if type(each) is CodeType)


def _is_allowed(kind: str, name: str) -> bool:
    if kind == "a":
        return name in ATTRIBUTES
    if kind == "m":
        # One that is not loaded yet would be loaded by the program, and stay.
        return name in MODULES and name in sys.modules
    if name[:2] == "__":
        return kind == "g" and name == _OWN_NAME
    # Any other name is the program's own, or there is none.
    return kind == "s" or name not in _HIDDEN
