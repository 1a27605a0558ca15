"""Make missing shards in worker processes, give up if too many rows fail."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tts_prep.errors import ConfigurationError, TooManyFailuresError
from tts_prep.format.assembly import write_failures
from tts_prep.format.contents.shard import ShardHeader
from tts_prep.format.layout import FAILURES, shard_name
from tts_prep.preprocess.make.shards import MadeShard
from tts_prep.preprocess.plan.planned_store import PlannedStore
from tts_prep.preprocess.plan.shard_plans import ShardPlan
from tts_prep.preprocess.workers.pool import WorkerPool
from tts_prep.progress import Progress, ShowProgress
from tts_prep.quantities import count_text

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


LOG = logging.getLogger("tts_prep")
"""The log of runs, silent unless the program adds a handler: ``INFO`` for steps, ``WARNING`` for failed rows, and
``DEBUG`` for shards."""
LOG.addHandler(logging.NullHandler())


class ShardRun:
    """Makes shards, counts failed rows, and reports the progress.

    Attributes:
        now: the progress so far.
    """

    def __init__(self, folder: Path, planned: PlannedStore, allowed: FailureLimit, progress: ShowProgress) -> None:
        self._folder, self._recipe, self._allowed, self._progress = folder, planned.recipe, allowed, progress
        self.now = Progress(0, 0)
        self._under_way: dict[int, tuple[int, float]] = {}

    def make(
        self, plans: Sequence[ShardPlan], make: Callable[[ShardPlan], MadeShard], pool: WorkerPool[ShardPlan, MadeShard]
    ) -> list[MadeShard]:
        """Make all missing shards, and return all of them, in order.

        Raises:
            TooManyFailuresError: more rows failed than allowed.
        """
        self.now = Progress(0, sum(plan.n_rows for plan in plans))
        rows, shards = count_text(self.now.total, "row"), count_text(len(plans), "shard")
        LOG.info("%s: %s in %s", self._folder, rows, shards)
        self._progress(self.now)
        names = partial(_shard_text, self._folder)
        made: list[MadeShard] = []
        with contextlib.closing(pool.run(make, plans, names, _without_row, self._note, self._advance)) as results:
            for result in results:
                made.append(replace(result, stored=result.stored.sharing_settings(self._recipe.settings)))
                _log(result)
                self._under_way.pop(result.stored.number, None)
                self.now = _after(self._with_rows_under_way(), result, filter(None, pool.ready_values))
                self._progress(self.now)
                if self.now.failures > self._allowed.of(self.now.total):
                    self.give_up(made)
        return sorted(made, key=_number)

    def give_up(self, made: Sequence[MadeShard]) -> None:
        """Write the failures, and raise a `TooManyFailuresError`."""
        headers = [shard.stored.header for shard in sorted(made, key=_number)]
        give_up(self._folder, headers, self.now.total, self._allowed, self._recipe.root)

    def _advance(self, plan: ShardPlan, made: tuple[int, float]) -> None:
        """Show the rows that an unfinished shard has, and the seconds of its audio."""
        self._under_way[plan.number] = made
        self.now = self._with_rows_under_way()
        self._progress(self.now)

    def _with_rows_under_way(self) -> Progress:
        made = self._under_way.values()
        return replace(
            self.now, under_way=sum(rows for rows, _ in made), under_way_seconds=sum(seconds for _, seconds in made)
        )

    def _note(self, step: str) -> None:
        self._progress(replace(self.now, step=step))


def _after(now: Progress, shard: MadeShard, compiling: Iterable[float]) -> Progress:
    """Return the progress after one more shard.

    Args:
        compiling: the seconds that workers have spent compiling the mel kernel.
    """
    header = shard.stored.header
    return replace(
        now,
        done=now.done + header.rows + len(header.failures),
        seconds=now.seconds + header.seconds,
        failures=now.failures + len(header.failures),
        made_seconds=now.made_seconds + (header.seconds if shard.is_new else 0.0),
        compiling=max(now.compiling, shard.compiling, *compiling),
    )


def _log(shard: MadeShard) -> None:
    header = shard.stored.header
    how = "made" if shard.is_new else "kept"
    LOG.debug("%s: %s, %s", shard.stored.entry.file, count_text(header.rows, "row"), how)
    for failure in header.failures:
        LOG.warning("failed: %s: %s", failure["id"] or failure["where"], failure["reason"])


def _shard_text(folder: Path, plan: ShardPlan) -> str:
    return f"{folder / shard_name(plan.number)} ({plan.name})"


def _without_row(plan: ShardPlan, number: int) -> ShardPlan:
    return plan.without(number, "ended the process that reads it and its text three times; is one of them broken?")


def _number(shard: MadeShard) -> int:
    return shard.stored.number
