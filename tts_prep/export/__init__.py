"""Export of a store to the layouts of other systems: a manifest, and arrays as files.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.export.layout import Layout
    from tts_prep.export.layouts import LAYOUTS, export

__all__ = ["LAYOUTS", "Layout", "export"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tts_prep.export.layouts"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
