"""Quality measures of the utterances of a store, and detection of suspect ones. The store is not changed.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_prep.checks.catalogue import MEASURES, Measure, Threshold, thresholds
    from tts_prep.checks.detection import Suspects, suspects
    from tts_prep.checks.findings import Measures
    from tts_prep.checks.measuring import measure

__all__ = ["MEASURES", "Measure", "Measures", "Suspects", "Threshold", "measure", "suspects", "thresholds"]

_MODULES = {
    "MEASURES": "tts_prep.checks.catalogue",
    "Measure": "tts_prep.checks.catalogue",
    "Measures": "tts_prep.checks.findings",
    "Suspects": "tts_prep.checks.detection",
    "Threshold": "tts_prep.checks.catalogue",
    "measure": "tts_prep.checks.measuring",
    "suspects": "tts_prep.checks.detection",
    "thresholds": "tts_prep.checks.catalogue",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
