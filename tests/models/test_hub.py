"""The Hugging Face cache and hub, with the network cut off in several ways."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("huggingface_hub", reason="needs huggingface_hub: pip install '.[hf]'")

COMMIT = "0" * 40
CODE = """
import sys, time
from passcurve.errors import RefusedError
from passcurve.models.hub import cached_commit, require_hub
began = time.monotonic()
try:
    print(cached_commit(sys.argv[1], None) or require_hub(sys.argv[1], None))
except RefusedError as error:
    print(error)
print(time.monotonic() - began)
"""


@pytest.fixture
def hub_home(tmp_path):
    """Return a cache folder that holds the configuration of one model."""
    folder = tmp_path / "hub" / "models--org--cached"
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "snapshots" / COMMIT / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    return tmp_path


def look_up(hub_home, name, prefix=(), **environment):
    """Return the outcome of a look-up in a process of its own, and its seconds without the start of Python."""
    clean = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", CODE, name],
        env=clean | {"HF_HOME": str(hub_home)} | environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    outcome, seconds = done.stdout.splitlines()
    return outcome, float(seconds)


@pytest.fixture
def silent_port():
    """Return a port of the loopback that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def check_unreachable(outcome, seconds):
    """Check that a model is refused in time, with the command that downloads it."""
    assert "'org/absent'" in outcome
    assert "cannot be reached" in outcome
    assert outcome.endswith("hf download org/absent")
    assert seconds < 6.0


def test_a_closed_port(hub_home):
    """A model that is not cached is refused at once when nobody listens."""
    check_unreachable(*look_up(hub_home, "org/absent", HF_ENDPOINT="http://127.0.0.1:9"))


def test_a_proxy_that_is_down(hub_home):
    """The same behind a proxy that does not answer."""
    check_unreachable(*look_up(hub_home, "org/absent", HTTPS_PROXY="http://127.0.0.1:9"))


def test_a_hub_that_is_silent(hub_home, silent_port):
    """A hub that accepts the connection and says nothing is given three seconds."""
    check_unreachable(*look_up(hub_home, "org/absent", HF_ENDPOINT=f"http://127.0.0.1:{silent_port}"))


def test_offline_mode(hub_home):
    """With HF_HUB_OFFLINE the hub is not asked at all."""
    check_unreachable(*look_up(hub_home, "org/absent", HF_HUB_OFFLINE="1"))


def test_no_network_at_all(hub_home):
    """In a network namespace without interfaces a cached model is found and another is refused in time."""
    unshare = shutil.which("unshare")
    prefix = (unshare or "", "--user", "--map-root-user", "--net")
    if unshare is None or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs unshare and user namespaces")
    check_unreachable(*look_up(hub_home, "org/absent", prefix))
    assert COMMIT == look_up(hub_home, "org/cached", prefix)[0]


def test_a_cached_model_needs_no_hub(hub_home):
    """The commit of a model in the cache is found without a request."""
    assert COMMIT == look_up(hub_home, "org/cached", HF_ENDPOINT="http://127.0.0.1:9")[0]


def test_a_name_that_cannot_be(hub_home):
    """A path that does not exist is refused without a request."""
    outcome, _ = look_up(hub_home, "/no/such/folder", HF_ENDPOINT="http://127.0.0.1:9")
    assert "'/no/such/folder'" in outcome
    assert "OWNER/NAME" in outcome


def test_a_model_that_the_hub_does_not_have(hub_home):
    """A refusal of the hub is reported as such, and not as a missing network."""

    class NotFound(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.send_header("x-error-code", "RepoNotFound")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), NotFound)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        outcome, _ = look_up(hub_home, "org/absent", HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    assert "hub refuses" in outcome


@pytest.mark.nightly
@pytest.mark.filterwarnings("default")
def test_a_run_without_a_network(shell, llama, hub_home):
    """``passcurve run`` generates with a cached model, and ends in seconds with one line for any other."""
    shutil.copytree(llama, hub_home / "hub" / "models--org--cached" / "snapshots" / COMMIT, dirs_exist_ok=True)
    shell.env |= {"HF_HOME": str(hub_home), "HF_ENDPOINT": "http://127.0.0.1:9", "OMP_NUM_THREADS": "1"}
    words = ("run", "starter", "-n", 1, "--problems", "starter/0", "--max-tokens", 8)
    done = shell(*words, "--model", "hf:org/cached", "--run", "r")
    assert 0 == done.code, done.err
    record = json.loads((shell.folder / "r" / "config-001.json").read_bytes())
    assert COMMIT == record["generation"]["identity"]["weights"]
    began = time.monotonic()
    refused = shell(*words, "--model", "hf:org/absent")
    assert (2, "", 1) == (refused.code, refused.out, len(refused.err.splitlines()))
    assert "hf download org/absent" in refused.err
    assert time.monotonic() - began < 15.0
