"""The log of runs: ``logging.getLogger("tts_prep")``, silent until the program that uses the library gives a handler.

``INFO`` says what a run does, ``WARNING`` names every row that is left out, ``DEBUG`` every shard.
"""

from __future__ import annotations

import logging
from typing import Final

LOG: Final = logging.getLogger("tts_prep")
LOG.addHandler(logging.NullHandler())
