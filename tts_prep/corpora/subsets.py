"""Selection of the subsets of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.option import Option


def chosen_subsets(root: Path, existing: Sequence[str], selected: Sequence[str]) -> list[str]:
    """Return the selected subsets in the order of the corpus, or all existing ones if none is selected.

    Raises:
        ConfigurationError: a selected subset does not exist.
    """
    missing = [name for name in selected if name not in existing]
    if missing:
        raise ConfigurationError(f"subset: {root} has no {missing[0]!r}; it has {', '.join(existing)}")
    return [name for name in existing if not selected or name in selected]


def subset_option(example: str) -> Option:
    """Return the option that selects subsets, with the name of one in its help."""
    return Option(
        "subsets",
        f"Use only this subset, such as {example}; may be repeated.  [default: all]",
        flags=("--subset",),
        metavar="NAME",
        repeated=True,
    )
