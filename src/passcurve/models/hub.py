"""The Hugging Face cache and hub: the commit of a cached model, and a check that the hub can be reached.

The hub's own client retries each file of a model for half a minute before it reports that there is no network.  Ask
once here, with a short limit, before any file is requested.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from passcurve.errors import RefusedError
from passcurve.models.sanitize import first_line

_REACH_S = 3.0
"""Time limit for the first answer of the hub, name resolution included."""


def cached_commit(name: str, revision: str | None) -> str | None:
    """Return the commit of a cached model, None where it is not cached; raises RefusedError for an invalid name."""
    hub = _hub()
    try:
        path = hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except hub.errors.HFValidationError:
        raise RefusedError(f"hf: cannot load {name!r}: it is neither a folder nor a name like OWNER/NAME") from None
    # .../snapshots/COMMIT/config.json
    return Path(path).parent.name if isinstance(path, str) else None


def require_hub(name: str, revision: str | None) -> None:
    """Raise RefusedError where the hub does not have a model or cannot be reached within a few seconds."""
    hub, failures = _hub(), []

    def ask() -> None:
        try:
            hub.HfApi().model_info(name, revision=revision, timeout=_REACH_S)
        except Exception as error:
            failures.append(error)

    # In a thread of its own: no time limit of the client covers a name server that does not answer.
    thread = threading.Thread(target=ask, name="passcurve-hub", daemon=True)
    thread.start()
    thread.join(_REACH_S)
    if not thread.is_alive() and not failures:
        return
    error = failures[0] if failures else TimeoutError(f"no answer within {_REACH_S:g} s")
    where = f"hf: cannot load {name!r}: it is neither a folder nor in the Hugging Face cache"
    if isinstance(error, hub.errors.HfHubHTTPError):
        raise RefusedError(f"{where}, and the hub refuses it: {first_line(error)}") from None
    raise RefusedError(
        f"{where}, and the hub cannot be reached ({first_line(error)}); "
        f"download it first, where there is a network: hf download {name}"
    ) from None


def _hub() -> Any:
    import huggingface_hub
    import huggingface_hub.errors
    import huggingface_hub.utils

    # It logs its progress and its retries on stderr; an error that ends a run is reported by us.
    huggingface_hub.utils.logging.set_verbosity(logging.CRITICAL)
    return huggingface_hub
