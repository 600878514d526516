"""Base of all commands: records of options as parameters, finite numbers, errors in one line."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, get_type_hints

import msgspec
import typer
from typer.core import TyperCommand

from passcurve.cli.output import handle_errors


class Command(TyperCommand):
    """A command that reports its errors in one line and takes neither NaN nor infinity."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raise BadParameter for a number that is not finite, for which no bound holds."""
        for option in self.params:
            value = ctx.params.get(option.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(f"{value} is not a finite number", ctx=ctx, param=option)
        with handle_errors(as_json=bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a command; a parameter whose type is a record becomes the record's options."""
        add = super().command(name, cls=Command, **options)
        return lambda function: add(_expand_records(function))


def _expand_records(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes each field of the record parameters of ``function`` as a parameter of its own."""
    parameters: list[inspect.Parameter] = []
    records: dict[str, type[msgspec.Struct]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            records[parameter.name] = kind
            parameters += _fields_as_parameters(kind)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(function)
    def call(**values: Any) -> Any:
        for name, record in records.items():
            values[name] = record(**{field: values.pop(field) for field in record.__struct_fields__})
        return function(**values)

    del call.__wrapped__  # else the old signature is found
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _fields_as_parameters(record: type[msgspec.Struct]) -> Iterator[inspect.Parameter]:
    types = get_type_hints(record, include_extras=True)
    for field in msgspec.structs.fields(record):
        default = inspect.Parameter.empty if field.default is msgspec.NODEFAULT else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[field.name]
        )
