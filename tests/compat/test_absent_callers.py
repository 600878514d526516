"""Drop-ins whose caller is not installed: an error that names the command which installs it."""

from __future__ import annotations

import sys

import pytest

from passcurve.compat.inspect_ai import passcurve_scorer
from passcurve.compat.trainers import skyrl, verifiers
from passcurve.errors import UsageError


@pytest.mark.parametrize(
    ("module", "call", "install"),
    [
        ("inspect_ai", lambda: passcurve_scorer("starter"), "pip install inspect-ai"),
        ("verifiers.v1", lambda: verifiers.make_reward("starter"), "pip install 'verifiers"),
        ("skyrl_gym", lambda: skyrl.make_env("starter", extras={"task_id": "starter/0"}), "pip install skyrl-gym"),
    ],
)
def test_a_caller_that_is_not_installed(monkeypatch, module, call, install):
    """The error says how to get it."""
    for name in (module, "skyrl_gym.envs.base_text_env"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=install):
        call()
