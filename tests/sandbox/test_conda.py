"""An interpreter as conda installs it, whose packages find shared libraries from where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from jailed import jail_at

from passcurve.sandbox import toolchain as tools

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc on the PATH"),
]

LEFT_OUT = shutil.ignore_patterns("*-packages", "__pycache__", "config-*", "ensurepip", "idlelib", "lib2to3", "test")
RECORD = "".join(f"{path},,\n" for path in ("curve/__init__.py", "curve/_curve.so", "curve-1.0.dist-info/RECORD"))
MODULE = """
import ctypes, os
value = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "_curve.so")).twice()
"""


def compile_library(path: Path, source: str, *options: str) -> None:
    """Make a shared library of a text in C."""
    subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", path, *options], input=source.encode(), check=True)


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    """Return the prefix of an installation with two packages, one of which needs a library of the installation."""
    library = Path(os.__file__).parent
    packages = tmp_path / "lib" / library.name / "site-packages"
    shutil.copytree(library, packages.parent, ignore=LEFT_OUT)
    for name in ("conda-meta", "bin"):
        (tmp_path / name).mkdir()
    shutil.copy(tools.find_toolchain(None, ()).executable, tmp_path / "bin" / "python")
    needed = tmp_path / "lib" / "libneeded.so"
    compile_library(needed, "int value(void) { return 42; }", "-Wl,-soname,libneeded.so")
    for name in ("curve", "curve-1.0.dist-info", "other"):
        (packages / name).mkdir(parents=True)
    options = (
        "-Wl,--no-as-needed",
        f"-L{needed.parent}",
        "-lneeded",
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../..",
    )
    source = "int value(void); int twice(void) { return 2 * value(); }"
    compile_library(packages / "curve" / "_curve.so", source, *options)
    (packages / "curve" / "__init__.py").write_text(MODULE)
    (packages / "other" / "__init__.py").touch()
    (packages / "curve-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: curve\nVersion: 1.0\n")
    (packages / "curve-1.0.dist-info" / "RECORD").write_text(RECORD)
    return tmp_path


def test_a_package_that_needs_a_library_of_conda(conda: Path):
    """It is found from the place that the package has in the jail, too; packages that nobody named are not."""
    source = "import curve\ntry:\n    import other\nexcept ImportError:\n    other = None\n"
    with jail_at("restricted", packages=("curve",), python=str(conda / "bin" / "python")) as jail:
        assert (84, None) == jail.value(f"{source}def f():\n    return curve.value, other\n")


def test_the_libraries_of_conda_in_a_root_of_its_own(conda: Path):
    """With mounts, all of its libraries are there, and none of the packages in the same folder."""
    toolchain = tools.find_toolchain(str(conda / "bin" / "python"), ("curve",))
    layout = tools.root_layout(toolchain)
    assert [str(conda / "lib")] * 2 in layout.binds
    assert f"{Path(toolchain.folders[0])}/site-packages" in layout.hidden
    assert toolchain.folders[0].startswith(f"{conda}/lib/")
