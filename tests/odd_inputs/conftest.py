"""Failures of the shared assertions show their values."""

import pytest

pytest.register_assert_rewrite("odd_input")
