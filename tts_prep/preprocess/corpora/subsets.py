"""Which parts of a corpus are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tts_prep.errors import ConfigurationError


def chosen_subsets(root: Path, there: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the subsets that are wanted, in the corpus's order; all, where none is named.

    Raises:
        ConfigurationError: a wanted one is not there.
    """
    missing = [name for name in wanted if name not in there]
    if missing:
        raise ConfigurationError(f"subset: {root} has no {missing[0]!r}; it has {', '.join(there)}")
    return [name for name in there if not wanted or name in wanted]
