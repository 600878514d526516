"""passcurve: what a code-generation model can really do.

Importing the package loads the standard library only; each public name is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"
