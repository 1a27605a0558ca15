"""Export of a store to the layouts of other systems: a manifest, and arrays as files.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tts_prep.public_names import public_names

if TYPE_CHECKING:
    from tts_prep.export.layout import Layout as Layout
    from tts_prep.export.layouts import LAYOUTS as LAYOUTS
    from tts_prep.export.layouts import export as export
else:
    __all__, __getattr__, __dir__ = public_names(__name__)
