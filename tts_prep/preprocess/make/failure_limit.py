"""The maximum number of rows that may fail before a run stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tts_prep.errors import ConfigurationError, TooManyFailuresError
from tts_prep.format.assembly import write_failures
from tts_prep.format.contents.shard import ShardHeader
from tts_prep.format.layout import FAILURES

_NO_FILE = "no such file"


@dataclass(frozen=True)
class FailureLimit:
    """The maximum number of rows that may fail, or their maximum share of all rows."""

    text: str
    number: float
    is_share: bool

    @classmethod
    def parse(cls, value: str | int) -> FailureLimit:
        """Parse ``"20"`` or ``"1%"``.

        Raises:
            ConfigurationError: it is neither.
        """
        text = str(value).strip()
        is_share = text.endswith("%")
        try:
            number = float(text.removesuffix("%")) if is_share else int(text)
        except ValueError:
            number = -1
        if not 0 <= number <= (100 if is_share else float("inf")):
            raise ConfigurationError(
                f"max-failures: expected a number such as 20 or a share such as 1%, found {text!r}"
            )
        return cls(text, number, is_share)

    def of(self, total: int) -> int:
        """Return the limit as a number of rows. A share is rounded down: 1 % of two rows is none."""
        return int(self.number * total // 100) if self.is_share else int(self.number)


def give_up(
    store: Path, headers: Sequence[ShardHeader], total: int, allowed: FailureLimit, root: Path | None = None
) -> None:
    """Write the failures of shards, in order, and raise a `TooManyFailuresError`.

    Args:
        root: what audio paths are relative to, where it is known.
    """
    failures = write_failures(store, headers)
    first = failures[0]
    if len(failures) <= allowed.of(total):
        rows = f"all {total:,} rows" if total != 1 else "the only row"
        why = f"{rows} failed, but a store needs at least one utterance"
    else:
        why = f"{len(failures)} of {total} rows failed so far, more than --max-failures {allowed.text} allows"
    # failures.jsonl says nothing of where a corpus lies: its bytes are the same on every machine.
    where = f"; audio paths are relative to '{root}'" if root and first["reason"].endswith(_NO_FILE) else ""
    raise TooManyFailuresError(
        f"{why}; the first is {first['id'] or 'without an id'} ({first['stage']}): {first['reason']}{where}; all are "
        f"in {store / FAILURES}; correct them, or allow more by --max-failures; finished shards are kept"
    )
