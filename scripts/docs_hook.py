"""Hook of mkdocs: pages of the repository's root join the site, and links between the two folders are adapted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "LICENSE": "LICENSE",
}
"""Files of the root, with their names on the site."""
LINK = re.compile(r"(\]\()(?:docs/|\.\./)?([\w./-]+?)((?:#[\w-]+)?\))")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages of the root."""
    for name, site_name in PAGES.items():
        files.append(File.generated(config, site_name, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with links as they are on the site, where all pages lie side by side."""
    return LINK.sub(lambda match: match[1] + PAGES.get(match[2], match[2]) + match[3], markdown)
