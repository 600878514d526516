"""Languages: how a program is compiled and run, as a row of ``languages/table.toml`` says."""

from __future__ import annotations

import msgspec


class Prepare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that makes compilers start faster, from nothing of a sample's but the names of standard headers."""

    command: tuple[str, ...]
    files: dict[str, str] = {}
    """Files that it reads, by name; a text that begins with @ names a file of ``languages/``."""
    headers: str = ""
    """Name of a file that it reads, with the headers that the source includes first; empty where it needs none."""
    makes: tuple[str, ...]
    """The files that it makes, with wildcards."""
    min_uses: int = 8
    """Number of programs from which on it pays."""
    is_needed: bool = False
    """Whether the compiler cannot do without, so that its first use waits for it."""


class Build(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to compile and run a program."""

    file: str = ""
    """Name of the source file, where it is not the usual one."""
    compile: tuple[str, ...] = ()
    """The compiler and its arguments; empty where nothing is compiled."""
    run: tuple[str, ...] = ()
    """The program and its arguments; ``{memory_bytes}`` stands for the limit of its memory."""
    prepare: Prepare | None = None
    """A command to run once, before many programs."""
    prepared: tuple[str, ...] = ()
    """The compiler and its arguments after that; ``{prepared}`` stands for the folder of what was made."""


class Recorder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The means to run tests that are plain data without what they expect."""

    syntax: str
    """Name of the reader of such tests in ``judging/script_forms.py``."""
    source: str
    """Source that replaces the assertions; a text that begins with @ names a file of ``languages/``."""


class Tools(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a jail, by path; a path may have wildcards."""

    programs: tuple[str, ...] = ()
    """Programs and libraries, which come with the libraries that they load; a name without a folder is looked up."""
    folders: tuple[str, ...] = ()
    """Other files and folders."""


class Language(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One language, with its toolchain of Debian 12."""

    name: str = ""
    """Its key in the table."""
    title: str
    file: str
    """Name of the source file."""
    needs: tuple[str, ...]
    """Files of the toolchain that must be there: programs by name, other files by path."""
    packages: tuple[str, ...]
    """Packages of Debian that hold them."""
    libraries: tuple[str, ...] = ()
    """Packages of Debian with libraries that published tests import; where one is missing, its problems say so."""
    version: tuple[str, ...]
    """The command that tells the version."""
    build: Build
    builds: dict[str, Build] = {}
    """Other ways, by name; what they leave out is as in ``build``."""
    compiler: Tools = Tools()
    compiler_memory_bytes: int = 1 << 30
    """Memory that a compiler may have where the limit of programs is lower."""
    runtime: Tools = Tools()
    makes: tuple[str, ...] = ()
    """The files that the compiler makes: names of files, with wildcards."""
    makes_binary: bool = False
    """Whether that is one program, which runs by itself."""
    files: dict[str, str] = {}
    """Other source files that every program is compiled with, by name; a text that begins with @ names a file of
    ``languages/``."""
    heading: str = ""
    """A pattern of the source, whose group stands for ``{heading}`` in the other files."""
    environment: dict[str, str] = {}
    opening: str = ""
    """The beginning of every source, added where it is missing."""
    confirm: str = ""
    """A statement that writes the job's token; it stands after the last test."""
    confirms_itself: bool = False
    """Whether one of the other files does that."""
    confirm_inside: int = 0
    """Number of closing braces at the end of the tests that the statement stands before."""
    fails: str = ""
    """Pattern of the message on standard error of an assertion that fails without ending the program."""
    recorder: Recorder | None = None
    """The recorder of results, where tests that are plain data can be judged apart from the program."""
    shortest: str = ""
    """The shortest program with tests, by which the toolchain is tried; the statement has its place in it."""
    errors: tuple[str, ...] = ()
    """Patterns of the line of a compiler's or a program's output that says what is wrong, best first."""
    missing: str = ""
    """A pattern of a compiler's or a program's message that a library is not there; its group names that."""
    memory: str = ""
    """A pattern of what a program writes that has run out of memory."""
    is_tested: bool = True
    """Whether its toolchain could be installed and tried."""

    def missing_opening(self, program: str) -> str:
        """Return the beginning of every source; empty where a program has it."""
        return self.opening if self.opening.strip() not in program else ""

    def find_build(self, name: str) -> Build:
        """Return a way to compile and run by its name; the usual one for the empty name."""
        other = self.builds.get(name)
        if other is None:
            other = self.build
        usual = self.build
        return Build(
            file=other.file or self.file,
            compile=other.compile or usual.compile,
            run=other.run or usual.run,
            prepare=other.prepare or (usual.prepare if not other.compile else None),
            prepared=other.prepared or (usual.prepared if not other.compile else ()),
        )
