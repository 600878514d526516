"""The public names: what a user may rely on, each where the registry says it is."""

from __future__ import annotations

import importlib
import re

import pytest

import passcurve
from passcurve import registry


def test_the_list_of_public_names_is_sorted():
    """``__all__`` is in order, each name once."""
    assert sorted(set(passcurve.__all__)) == passcurve.__all__


def test_the_list_is_the_registry():
    """``__all__`` names what the registry knows, and the version."""
    assert sorted([*registry.PUBLIC, "__version__"]) == passcurve.__all__


@pytest.mark.parametrize("name", passcurve.__all__)
def test_a_public_name_can_be_imported(name):
    """``from passcurve import name`` works for each public name."""
    assert getattr(passcurve, name) is not None


@pytest.mark.parametrize(("name", "target"), registry.PUBLIC.items())
def test_a_public_name_is_what_its_module_has(name, target):
    """A public name is the object that its own module has under the registered attribute."""
    module, _, attribute = target.partition(":")
    loaded = importlib.import_module(module)
    assert (getattr(loaded, attribute) if attribute else loaded) is getattr(passcurve, name)


@pytest.mark.parametrize("name", registry.PUBLIC)
def test_a_public_name_explains_itself(name):
    """Each public name has a docstring."""
    assert (getattr(passcurve, name).__doc__ or "").strip()


def test_dir_shows_the_public_names():
    """``dir(passcurve)`` lists the public names."""
    assert passcurve.__all__ == dir(passcurve)


def test_a_star_import_brings_the_public_names():
    """``from passcurve import *`` binds each public name."""
    space: dict[str, object] = {}
    exec("from passcurve import *", space)
    assert set(passcurve.__all__) == space.keys() - {"__builtins__"}


def test_a_wrong_name_is_an_attribute_error():
    """A name that does not exist says so, with the name."""
    with pytest.raises(AttributeError, match="'pass_at_kk'"):
        _ = passcurve.pass_at_kk


def test_the_version_is_a_version():
    """The version is three numbers, perhaps with a suffix."""
    assert re.fullmatch(r"\d+\.\d+\.\d+([a-z]+\d+)?", passcurve.__version__)
