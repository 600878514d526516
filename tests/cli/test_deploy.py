"""The server as a service: what ``doctor --serve`` tries, the files of ``deploy/``, and a user with few rights."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
if not DEPLOY.is_dir():
    pytest.skip("deploy/ is a part of the checkout alone", allow_module_level=True)

NAMES = ["start", "judge", "problems that are sent", "programs", "limits of time", "end", "descriptors"]


@pytest.mark.ci
def test_doctor_asks_a_server(shell):
    """Each thing that callers rely on is tried, and all work here."""
    done = shell("doctor", "--serve", "--json")
    trials = json.loads(done.out)["serve"]
    assert NAMES == [trial["name"] for trial in trials]
    assert [] == [trial for trial in trials if not trial["works"] and trial["name"] != "descriptors"]


def test_doctor_has_one_trial(shell):
    """Two that take the place of the usual one are refused together."""
    done = shell("doctor", "--serve", "--languages")
    assert (2, True) == (done.code, "choose one" in done.err)


def test_doctor_where_no_server_starts(shell):
    """It ends, with what the server has said."""
    shell.before = ("sh", "-c", 'ulimit -n 48; exec "$@"', "sh")
    done = shell("doctor", "--serve")
    assert (1, True) == (done.code, "FAILS   start: passcurve: a sample may have 64 open files" in done.out)


def commands() -> dict[str, list[str]]:
    """Return the command of each file, as words behind ``passcurve``."""
    container = (DEPLOY / "Containerfile").read_text("utf-8")
    (words,) = re.findall(r"^CMD (\[.*\])$", container, re.MULTILINE)
    (start,) = re.findall(r"^ExecStart=(.*)$", (DEPLOY / "passcurve.service").read_text("utf-8"), re.MULTILINE)
    program, *rest = shlex.split(start)
    assert "/opt/passcurve/bin/passcurve" == program
    assert 'ENTRYPOINT ["passcurve"]' in container
    return {"container": json.loads(words), "unit": rest}


@pytest.mark.parametrize("name", ["container", "unit"])
def test_commands_are_valid(shell, name):
    """Their options are those of the command; without the token's file it ends with one line and exit code 2."""
    command = commands()[name]
    names = [word for word in command if word.startswith("--")]
    help_text = shell("serve", "--help").out
    assert all(name in help_text for name in names)
    words = ["starter" if word == "humaneval" else word for word in command]
    done = shell(*words[: words.index("--token-file")], "--token-file", "no-such-file")
    assert 2 == done.code
    assert "no-such-file" in done.err


def test_what_is_started_has_its_problems_and_can_be_reached():
    """The unit fetches the benchmark that it serves, and no command served from a container listens inside it alone."""
    unit = (DEPLOY / "passcurve.service").read_text("utf-8")
    (fetch,) = re.findall(r"^ExecStartPre=/opt/passcurve/bin/passcurve (.*)$", unit, re.MULTILINE)
    assert ["bench", "fetch", commands()["unit"][1]] == shlex.split(fetch)
    assert "starter" == commands()["container"][1]
    remarks = re.sub(r"\\\n#", "", (DEPLOY / "Containerfile").read_text("utf-8"))
    served = [shlex.split(words) for words in re.findall(r"^#.* passcurve( serve .*|)$", remarks, re.MULTILINE)]
    assert 2 == len(served)
    assert all("--host 0.0.0.0" in shlex.join(words) for words in served if words)


def test_unit_is_a_unit():
    """The unit is read without a complaint but that its program is not installed here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(DEPLOY / "passcurve.service")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if "passcurve.service" in line]
    assert all("is not executable" in line for line in lines), lines


_AS_A_CONTAINER = """
mount --rbind / /mnt && mount -o remount,ro,bind /mnt && cd /mnt && pivot_root . mnt && cd / && umount -l /mnt
mount -t tmpfs tmpfs /tmp && mkdir /tmp/work && chmod 777 /tmp/work && cd /tmp/work
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
  env -i PATH=/usr/bin:/bin HOME=/tmp/work TMPDIR=/tmp/work PYTHONDONTWRITEBYTECODE=1 "$@"
"""


@pytest.mark.nightly
def test_user_without_rights_on_a_read_only_root(tmp_path_factory):
    """A user without capabilities has full isolation, and the server works, where only its folder can be written."""
    if os.getuid() != 0 or shutil.which("setpriv") is None or not Path("/mnt").is_dir():
        pytest.skip("needs root, setpriv and /mnt")
    place = Path("/opt", f"passcurve-test-{os.getpid()}")
    try:
        subprocess.run(["/usr/bin/python3", "-m", "venv", str(place)], check=True, capture_output=True)
        pip = [str(place / "bin" / "pip"), "install", "--quiet", "--no-compile", f"{ROOT}[serve]"]
        subprocess.run(pip, check=True, capture_output=True)
        for words in (["doctor", "--json"], ["doctor", "--serve", "--json"]):
            done = subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", _AS_A_CONTAINER, "sh",
                 str(place / "bin" / "passcurve"), *words],
                capture_output=True, text=True, check=False, timeout=120,
            )  # fmt: skip
            assert "{" in done.stdout, done.stderr
            record = json.loads(done.stdout)
            if "serve" in record:
                assert [] == [trial for trial in record["serve"] if not trial["works"]]
            else:
                assert "full" == record["isolation"]
    finally:
        shutil.rmtree(place, ignore_errors=True)
