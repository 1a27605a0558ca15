"""Quality measures of the utterances of a store, and detection of suspect ones. The store is not changed.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.checks.catalogue import MEASURES as MEASURES
    from tts_prep.checks.catalogue import Measure as Measure
    from tts_prep.checks.catalogue import Threshold as Threshold
    from tts_prep.checks.catalogue import thresholds as thresholds
    from tts_prep.checks.detection import Suspects as Suspects
    from tts_prep.checks.detection import suspects as suspects
    from tts_prep.checks.findings import Measures as Measures
    from tts_prep.checks.measuring import measure as measure
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
