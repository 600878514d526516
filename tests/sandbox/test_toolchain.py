"""The interpreter of the samples and its packages: found, refused with a reason, and laid out for the jail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

import msgspec
import pytest
from jailed import IS_ONE, ONE, jail_at

from passcurve.errors import SandboxError, UsageError
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.probe import try_walls
from passcurve.sandbox.zygote_client import Walls
from passcurve.types import Limits


def fake(folder: Path, **answers: object) -> str:
    """Return an interpreter that prints these facts about itself and does nothing else."""
    facts = {
        "version": "3.11.1",
        "implementation": "cpython",
        "executable": "x",
        "stdlib": [],
        "libdir": None,
        "path": [],
    }
    script = folder / "python"
    script.write_text(f"#!/bin/sh\necho '{json.dumps(facts | answers)}'\n")
    script.chmod(0o755)
    return str(script)


def test_our_own_interpreter():
    """By default the samples run under the interpreter that runs us, without its virtual environment."""
    toolchain = tools.find_toolchain(None, ())
    assert "%d.%d.%d" % sys.version_info[:3] == toolchain.version
    assert Path(toolchain.executable).samefile(sys._base_executable)  # noqa: SLF001 - CPython has no other name
    assert any(Path(folder, "os.py").exists() for folder in toolchain.folders)
    assert ((), ()) == (toolchain.packages, toolchain.package_paths)


def test_an_interpreter_by_path():
    """An interpreter that is named by path reports the same version as when it runs us."""
    assert tools.find_toolchain(None, ()).version == tools.find_toolchain(sys.executable, ()).version


def test_an_interpreter_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A path is one from the working folder, as everywhere."""
    fake(tmp_path, version="3.11.9")
    monkeypatch.chdir(tmp_path)
    for name in ("./python", f"../{tmp_path.name}/python"):
        assert "3.11.9" == tools.find_toolchain(name, ()).version


@pytest.mark.parametrize("name", ["/nowhere/python", "no-such-python", "/"])
def test_an_interpreter_that_is_not_there(name: str):
    """An interpreter that cannot be run is named, with the reason."""
    with pytest.raises(UsageError, match=f"--python '{name}'"):
        tools.find_toolchain(name, ())


def test_what_is_no_interpreter():
    """A program that is no Python is refused by name."""
    path = shutil.which("false") or "/bin/false"
    with pytest.raises(UsageError, match=f"'{path}'"):
        tools.find_toolchain(path, ())


def test_a_program_that_answers_nonsense():
    """A program that succeeds and prints nothing is no usable Python either."""
    path = shutil.which("true") or "/bin/true"
    with pytest.raises(UsageError, match=f"'{path}'"):
        tools.find_toolchain(path, ())


@pytest.mark.parametrize("end", [0, 1])
def test_a_program_that_writes_no_text(tmp_path: Path, end: int):
    """A program whose output is no UTF-8 is no usable Python either."""
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\nprintf '\\377\\376' | tee /dev/stderr\nexit {end}\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match=f"'{script}' is not a usable Python"):
        tools.find_toolchain(str(script), ())


@pytest.mark.parametrize("version", ["2.7.18", "3.8.20"])
def test_too_old(tmp_path: Path, version: str):
    """An interpreter that is too old is named with its version and the oldest that will do."""
    with pytest.raises(UsageError, match=rf"Python {version}.*3\.9"):
        tools.find_toolchain(fake(tmp_path, version=version), ())


def test_another_implementation(tmp_path: Path):
    """An implementation other than CPython is refused by name."""
    with pytest.raises(UsageError, match=r"pypy.*CPython"):
        tools.find_toolchain(fake(tmp_path, implementation="pypy"), ())


def test_a_build_without_a_module(tmp_path: Path):
    """An interpreter that lacks a module of the library that the sandbox needs is refused with the reason."""
    script = tmp_path / "python"
    script.write_text(f"""#!{sys.executable}
import runpy, sys
sys.modules["_ctypes"] = None
runpy.run_path(sys.argv[2], run_name="__main__")
""")
    script.chmod(0o755)
    with pytest.raises(UsageError, match=r"python' cannot import ctypes .*_ctypes"):
        tools.find_toolchain(str(script), ())


def test_libraries_that_only_a_variable_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An interpreter that needs LD_LIBRARY_PATH, as in modules of clusters, is refused with what to do."""
    compiler, library = shutil.which("cc"), tmp_path / "lib"
    if compiler is None:
        pytest.skip("there is no compiler here")
    library.mkdir()
    (tmp_path / "one.c").write_text("int one(void) { return 1; }")
    # It stands for an interpreter as far as the loader is concerned, which looks for its library first.
    (tmp_path / "main.c").write_text("int one(void); int main(void) { return one(); }")
    for words in (
        ["-shared", "-o", "lib/libone.so", "one.c"],
        ["-o", "python", "main.c", "-Llib", "-lone"],
    ):
        subprocess.run([compiler, *words], cwd=tmp_path, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    toolchain = msgspec.structs.replace(tools.find_toolchain(None, ()), executable=str(tmp_path / "python"))
    walls = Walls(namespaces=False, landlock=False, seccomp=False)
    with pytest.raises(SandboxError, match=r"LD_LIBRARY_PATH.*--python"):
        try_walls(walls, toolchain, Limits())


def test_a_folder_of_libraries_that_cannot_be_entered(public_folder: Path):
    """An interpreter whose folder for libraries is closed to this user is taken without a library from there."""
    closed = public_folder / "closed-libraries"
    closed.mkdir()
    closed.chmod(0)
    python = fake(public_folder, libdir=str(closed / "lib"))
    tools.find_toolchain(python, ())  # it loads what may be out of reach below
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError):
            (closed / "lib").stat()
        toolchain = tools.find_toolchain(python, ())
    finally:
        if is_root:
            os.seteuid(0)
        closed.chmod(0o700)
    assert () == toolchain.folders


@pytest.mark.ci
def test_a_package_that_is_not_there():
    """A package that is not installed is named, with the nearest one that is."""
    with pytest.raises(UsageError, match=r"'msgspek'.*'msgspec'"):
        tools.find_toolchain(None, ("msgspek",))


def test_an_optional_package_that_is_not_there():
    """An optional package may be missing."""
    assert () == tools.find_toolchain(None, (), ("no-such-package-of-anybody",)).packages


@pytest.mark.ci
def test_a_package_with_its_requirements():
    """A package comes with its version and with all that it requires."""
    toolchain = tools.find_toolchain(None, ("httpx",))
    names = {package.partition("==")[0].lower() for package in toolchain.packages}
    assert {"httpx", "httpcore", "anyio", "idna"} <= names
    assert f"httpx=={metadata.version('httpx')}" in toolchain.packages
    assert {"httpx", "httpcore", "anyio", "idna"} <= {name for name, _ in toolchain.package_paths}


@pytest.mark.ci
def test_names_of_packages():
    """A package is found in any spelling of its name."""
    assert tools.find_toolchain(None, ("PyTest",)).packages == tools.find_toolchain(None, ("pytest",)).packages


def installed(folder: Path, metadata_folder: str, files: dict[str, str]) -> str:
    """Return an interpreter beside which a package is installed: its metadata, and other files."""
    site = folder / "site-packages"
    for name, text in {f"{metadata_folder}/PKG-INFO": "Name: Thing\nVersion: 1.0\n", **files}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return fake(folder, path=[str(site)])


def test_a_package_of_a_distribution_of_linux(tmp_path: Path):
    """Debian's packages list no files: their modules are found by name, whether folders, files or libraries."""
    files = {"thing/__init__.py": "", "one.py": "", "_c.cpython-311-x86_64-linux-gnu.so": "", "other.py": ""}
    named = {"Thing-1.0.egg-info/top_level.txt": "_c\none\nthing\n"}
    toolchain = tools.find_toolchain(installed(tmp_path, "Thing-1.0.egg-info", files | named), ("thing",))
    assert ("Thing==1.0",) == toolchain.packages
    assert files.keys() - {"other.py", "thing/__init__.py"} | {"thing"} == {name for name, _ in toolchain.package_paths}


@pytest.mark.parametrize(
    ("metadata_folder", "files", "word"),
    [
        (
            "thing-1.0.dist-info",
            {
                "thing-1.0.dist-info/METADATA": "Name: Thing\nVersion: 1.0\n",
                "thing-1.0.dist-info/RECORD": "thing.pth,,\n",
                "thing-1.0.dist-info/direct_url.json": '{"dir_info":{"editable":true},"url":"file:///thing"}',
            },
            "editable",
        ),
        ("Thing-1.0.egg-info", {}, "files"),
    ],
    ids=["editable", "of unknown files"],
)
def test_a_package_whose_files_are_elsewhere(tmp_path: Path, metadata_folder: str, files: dict[str, str], word: str):
    """It is refused by name where it was asked for, and left out where it is optional: samples could not import it."""
    python = installed(tmp_path, metadata_folder, files)
    with pytest.raises(UsageError, match=f"'thing'.*{word}"):
        tools.find_toolchain(python, ("thing",))
    assert () == tools.find_toolchain(python, (), ("thing",)).packages


def test_what_the_root_holds():
    """The jail's root holds system folders, the standard library and the packages asked for, each once and absolute."""
    toolchain = tools.find_toolchain(None, ("msgspec",))
    folders, links, masks = tools.root_layout(toolchain)
    targets = [target for _, target in folders]
    assert len(targets) == len(set(targets))
    assert all(Path(path).is_absolute() for pair in folders for path in pair)
    assert [os.path.realpath(msgspec.__path__[0])] == [
        os.path.realpath(source) for source, target in folders if target == f"{tools.PACKAGES}/msgspec"
    ]
    assert not {"/", "/home", "/root", "/etc", "/var", "/usr", "/tmp"} & set(targets)
    assert sysconfig.get_path("stdlib") + "/site-packages" in masks
    for place, text in links:
        assert text == str(Path(place).readlink())


@pytest.mark.ci
def test_only_what_was_asked_for_can_be_imported(tmp_path: Path):
    """A package that was asked for can be imported inside, and one beside it on the host cannot."""
    source = (
        "def f():\n"
        "    found = []\n"
        "    for name in ('idna', 'msgspec', 'pytest', 'numpy'):\n"
        "        try:\n"
        "            __import__(name)\n"
        "            found.append(name)\n"
        "        except ImportError:\n"
        "            pass\n"
        "    return found\n"
    )
    for level in ("full", "restricted"):
        with jail_at(level, packages=("idna",)) as jail:
            assert ["idna"] == jail.value(source)


def test_a_package_cannot_shadow_the_library(tmp_path: Path):
    """The standard library wins over packages, and the scratch is not on the path at all."""
    with jail_at("restricted") as jail:
        source = (
            "import sys\n"
            "def f():\n"
            "    open('colorsys.py', 'w').write('x = 1')\n"
            "    import colorsys\n"
            "    return hasattr(colorsys, 'x'), '' in sys.path, '.' in sys.path\n"
        )
        assert (False, False, False) == jail.value(source)


def other_interpreters() -> list[str]:
    """Return other interpreters of this machine that are new enough, found by their usual names."""
    paths = []
    mine = "%d.%d" % sys.version_info[:2]
    for version in ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        path = shutil.which(f"python{version}")
        if path and version != mine:
            try:
                paths.append(tools.find_toolchain(path, ()).executable)
            except UsageError:
                continue
    return paths[:2]


@pytest.mark.ci
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_another_interpreter(level: str):
    """The samples run under the interpreter that was named, also when it is not ours."""
    paths = other_interpreters()
    if not paths:
        pytest.skip("there is no other interpreter of Python on the PATH")
    for path in paths:
        with jail_at(level, packages=(), python=path) as jail:
            assert tools.find_toolchain(path, ()).version == jail.probe.jail.python
            source = "import platform\ndef f():\n    return platform.python_version()\n"
            assert jail.probe.jail.python == jail.value(source)


@pytest.fixture
def public_python() -> str:
    """Return an interpreter that every user can run: with it, samples of root get an id of their own."""
    for path in (tools.find_toolchain(None, ()).executable, "/usr/bin/python3"):
        if Path(path).exists() and tools.is_readable_by_all(list(tools.find_toolchain(path, ()).folders)):
            return path
    pytest.skip("there is no interpreter here that every user can run")


def test_a_narrow_mask_of_new_files(public_python: str):
    """Samples have the usual mask, whatever that of the user is, and can read the packages at each level."""
    source = "import os\ntry:\n    import pip\nexcept ImportError:\n    pip = None\ndef f():\n    mask = os.umask(0)\n"
    source += "    os.umask(mask)\n    return mask, pip is not None\n"
    has_pip = tools.find_toolchain(public_python, (), ("pip",)).packages != ()
    before = os.umask(0o077)
    try:
        for level in ("full", "restricted"):
            with jail_at(level, packages=("pip",), python=public_python) as jail:
                assert (0o022, has_pip) == jail.value(source)
    finally:
        os.umask(before)


def test_a_private_folder_for_temporary_files(public_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Samples of root stay root where no other user can enter it, as under pam_tmpdir; there was no level then."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with jail_at("restricted", packages=(), python=public_python) as jail:
        assert jail.check(ONE, IS_ONE).passed
        assert "restricted" == jail.probe.jail.isolation
    assert not tools.is_enterable_by_all(tmp_path / "scratch")
