"""Jinja templates, for prompts that need more than fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passcurve.errors import DataError, nearest


def check_template(text: str, name: str, fields: Sequence[str]) -> None:
    """Raise DataError when a template is invalid, uses an unknown field, or does not contain the prompt."""
    jinja2 = _library()
    # A template is data from anywhere: the sandboxed environment keeps it from running code.
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
    for unknown in sorted(used - {*fields}):
        hint = nearest(unknown, fields)
        raise DataError(f"template {name!r} uses unknown field {unknown!r}{hint} (known: {', '.join(fields)})")
    if "prompt" not in used:
        raise DataError(f"template {name!r} does not use prompt, so the model would not see the problem")


def compile_template(text: str, name: str, fields: Sequence[str]) -> Callable[[Mapping[str, str]], str]:
    """Return a function that fills the template with fields; it raises DataError when the template fails."""
    check_template(text, name, fields)
    jinja2 = _library()
    template = _environment(jinja2).from_string(text)

    def render(values: Mapping[str, str]) -> str:
        try:
            return str(template.render(**values))
        except Exception as error:
            raise DataError(f"template {name!r} fails on problem {values['task_id']!r}: {error}") from None

    return render


def _library() -> Any:
    # Few prompts need it, and it takes longer to load than all of this package.
    import jinja2
    import jinja2.sandbox

    return jinja2


def _environment(jinja2: Any) -> Any:
    return jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True
    )
