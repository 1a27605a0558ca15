"""The logger ``tts_prep`` of runs, which is silent unless the program adds a handler.

The levels are ``INFO`` for the steps of a run, ``WARNING`` for failed rows, and ``DEBUG`` for shards.
"""

from __future__ import annotations

import logging
from typing import Final

LOG: Final = logging.getLogger("tts_prep")
LOG.addHandler(logging.NullHandler())
