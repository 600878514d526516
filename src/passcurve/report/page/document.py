"""The page: one template, filled with numbers of the record, figures, and the parts of texts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from passcurve import __version__
from passcurve.lab.temperature import Temperature
from passcurve.report.comparison import p_value, signed, signed_interval, tidy
from passcurve.report.evidence import Evidence
from passcurve.report.page import figures
from passcurve.report.page.payload import make_payload
from passcurve.report.page.settings import breakable, meaning, setting
from passcurve.report.sentences import temperature_sentences
from passcurve.report.terminal import number
from passcurve.types import Interval, Verdict
from passcurve.types.decoding import decodable

_SCRIPTS = ("data.js", "dom.js", "filters.js", "table.js", "problems.js", "samples.js", "inspector.js", "main.js")


def render(record: Mapping[str, Any], evidence: Sequence[Evidence | None], *, events: str = "") -> str:
    """Return the page of a report as HTML; it needs nothing but itself.

    ``events``: the address on its own server that tells how far the runs are, where there is one.
    """
    return _fill(
        "page.html",
        _SCRIPTS,
        record=record,
        runs=record["runs"],
        evidence=evidence,
        payload=make_payload(record, evidence),
        events=events,
        figures=figures,
        title=_title(record),
        **_tables(record),
    )


def render_list(runs: Sequence[Mapping[str, Any]], folder: str) -> str:
    """Return the page that lists runs, with their counts while they go on."""
    return _fill("list.html", ("list.js",), runs=runs, folder=folder, title=f"Runs in {folder}", events="events")


def render_rows(run: Mapping[str, Any], verdicts: Sequence[Verdict], after: str, status: str, most: int) -> str:
    """Return a page of a large run: some verdicts, in the order in which they came; ``after`` is the next place."""
    title = f"{run['benchmark']}: {run['name']}"
    return _fill(
        "rows.html", (), run=run, verdicts=verdicts, after=after, status=status, most=most, title=title, events=""
    )


def _fill(template: str, scripts: Sequence[str], **values: Any) -> str:
    """Return a template with style and script, and a policy that admits nothing else."""
    style = _read("style.css")
    body = "\n".join(["'use strict';", *(_read(f"script/{name}") for name in scripts)])
    script = f"(() => {{\n{body}\n}})();" if scripts else ""
    policy = {
        "default-src": "'none'",
        "script-src": f"'{_hash(script)}'" if scripts else "'none'",
        "style-src": f"'{_hash(style)}'",
        "img-src": "data:",
        "connect-src": "'self'" if values["events"] else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return (
        _environment()
        .get_template(template)
        .render(
            policy="; ".join(f"{name} {value}" for name, value in policy.items()),
            style=Markup(style),  # noqa: S704 - our own files
            script=Markup(script),  # noqa: S704
            version=__version__,
            **values,
        )
    )


def _tables(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headings and figures that depend on what the runs have."""
    runs = record["runs"]
    levels = {
        estimate["new_problems"]["level"]
        for run in runs
        for estimate in run["scores"].values()
        if estimate["new_problems"] is not None
    }
    names = [f"pass@{k}" for k in record["headline_ks"]]
    has_value = [name for name in names if any(run["scores"].get(name, {}).get("value") is not None for run in runs)]
    headline = has_value or names[:1]
    limits = [run["limits"] for run in runs if run["limits"] is not None and not run["own_limits"]]
    timeout_s = limits[0]["timeout_s"] if limits else None
    memory_mib = limits[0]["memory_bytes"] / (1 << 20) if limits else None

    def rows(kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        return [(run["name"], run["spreads"][kind]) for run in runs if run["spreads"]]

    return {
        "headline": headline,
        "notes": _merge([(run["name"], text) for run in runs for text in _notes(run, headline)]),
        "methods": _merge([(run["name"], run["methods"]) for run in runs if run["methods"]]),
        "sampled": any(run["generated"] for run in runs),
        "level": f"{100 * min(levels):g}%" if levels else "95%",
        "priced": any(run["generated"] and run["generated"]["cost"] for run in runs),
        "spreads": [
            (rows("own_s"), "time of a sample, seconds", timeout_s, "seconds"),
            (rows("memory_mib"), "memory of a sample, MiB", memory_mib, "MiB"),
        ],
        "requests": [
            (rows("tokens"), "completion tokens of a request", None, "tokens"),
            (rows("latency_s"), "latency of a request, seconds", None, "seconds"),
        ],
        "sweep_sentences": temperature_sentences(msgspec.convert(record["sweep"], decodable(Temperature)))
        if record["sweep"]
        else [],
    }


def _notes(run: Mapping[str, Any], headline: Sequence[str]) -> list[str]:
    """Return what is to be said of the scores that the page shows; a k that nobody asked for is none of them."""
    shown = {name: run["scores"][name] for name in headline if name in run["scores"]}
    missing = [f"{name}: {score['reason']}" for name, score in shown.items() if score["value"] is None]
    return [*missing, *dict.fromkeys(text for score in shown.values() for text in score["warnings"])]


def _merge(notes: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return each note once, with the names of its runs."""
    merged: dict[str, list[str]] = {}
    for name, text in notes:
        merged.setdefault(text, []).append(name)
    return [{"text": text, "runs": names} for text, names in merged.items()]


def _title(record: Mapping[str, Any]) -> str:
    benchmarks = dict.fromkeys(run["benchmark"] for run in record["runs"] if run["benchmark"])
    names = ", ".join(run["name"] for run in record["runs"])
    return f"{' and '.join(benchmarks)}: {names}" if benchmarks else names


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "number": number,
        "signed": signed,
        "p_value": p_value,
        "interval": _interval,
        "signed_interval": lambda interval: signed_interval(_as_interval(interval)),
        "series": figures.series,
        "count": lambda value: f"{value:,}",
        "share": lambda value: f"{value:.1%}",
        "short": lambda value: f"{value:.3g}",
        "milli": lambda value: f"{1000 * value:.3g}" if value < 1 else f"{1000 * value:,.0f}",
        "tidy": tidy,
        "breakable": breakable,
        "meaning": meaning,
        "setting": setting,
    }
    return environment


def _interval(interval: Mapping[str, Any]) -> str:
    return f"{number(interval['low'])} to {number(interval['high'])}"


def _as_interval(interval: Mapping[str, Any]) -> Interval:
    return Interval(low=interval["low"], high=interval["high"], level=interval["level"], method=interval["method"])


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
