"""Templates in Jinja's language, for prompts that need more than fields to be replaced; an extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passcurve.errors import DataError, UsageError, nearest


def check(text: str, name: str, fields: Sequence[str]) -> None:
    """Raise DataError when a text is no template, names what there is not, or leaves the problem out."""
    jinja2 = _library()
    # A template from anywhere is data: it must not reach what the process can do.
    environment = _environment(jinja2)
    try:
        tree = environment.parse(text)
        environment.from_string(text)
    except jinja2.TemplateSyntaxError as error:
        raise DataError(f"template {name!r}, line {error.lineno}: {error.message}") from None
    except jinja2.TemplateError as error:
        raise DataError(f"template {name!r}: {error}") from None
    from jinja2 import meta

    used = meta.find_undeclared_variables(tree)
    for each in sorted(used - {*fields}):
        raise DataError(f"template {name!r} uses {each!r}{nearest(each, fields)}; there are {', '.join(fields)}")
    if "prompt" not in used:
        raise DataError(f"template {name!r} does not use prompt, so the model would not see the problem")


def renderer(text: str, name: str, fields: Sequence[str]) -> Callable[[Mapping[str, str]], str]:
    """Return what makes a text of the fields; it raises DataError when the template fails on them."""
    check(text, name, fields)
    jinja2 = _library()
    template = _environment(jinja2).from_string(text)

    def render(values: Mapping[str, str]) -> str:
        try:
            return str(template.render(**values))
        except Exception as error:
            raise DataError(f"template {name!r} fails on problem {values['task_id']!r}: {error}") from None

    return render


def _library() -> Any:
    try:
        import jinja2
        import jinja2.sandbox
    except ImportError:
        raise UsageError(
            "a template in Jinja's language needs jinja2, which is not installed: pip install 'passcurve[jinja]'"
        ) from None
    return jinja2


def _environment(jinja2: Any) -> Any:
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
