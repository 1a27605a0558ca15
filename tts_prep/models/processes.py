"""Processes that call a function on batches: one for each device, which ends and starts again when a batch hangs.

A process gets the batches of one shard after another. A batch that fails, takes too long or kills its process is tried
again one utterance at a time, so that only utterances that fail alone have no value.
"""

from __future__ import annotations

import multiprocessing.connection
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tts_prep.errors import ConfigurationError, FeatureError, TtsPrepError, UtteranceError, WorkerError, one_line
from tts_prep.models.function import SAMPLE_RATE, Description, LoadedModel, Missing, ModelFunction, Values, reason_of
from tts_prep.models.inputs import ShardInputs, Source
from tts_prep.preprocess.plan.shard_plans import ShardPlan
from tts_prep.preprocess.workers.pool import Note
from tts_prep.preprocess.workers.processes import Worker, WorkerDiedError, working_folder, working_in
from tts_prep.preprocess.workers.worker import DONE, READY, UNREADY

if TYPE_CHECKING:
    from tts_prep.additions.add_arrays import ModelRun

Outcome: TypeAlias = "Values | Missing"

_LOOK_SECONDS: Final = 0.5
"""Seconds after which batches that take too long are looked for, and an interruption is noticed."""

_DEATHS: Final = 2
"""How often a process may end while it loads the function, or with an utterance alone, before that is given up."""


@dataclass(frozen=True)
class ShardWork:
    """A shard whose values are to be computed.

    Attributes:
        plan: its plan, if recordings are read.
        batches: the positions of the utterances that have no values yet, in batches.
        columns: the arguments that are columns of the index: name → a value for each utterance.
    """

    number: int
    plan: ShardPlan | None
    batches: Sequence[Sequence[int]]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Batch:
    """A batch that a process computes."""

    number: int
    plan: ShardPlan | None
    positions: tuple[int, ...]
    columns: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class _Failed:
    """The reason why a whole batch failed."""

    reason: str


@dataclass
class _InProcess:
    """What a process has loaded.

    Attributes:
        folder: the working folder in which it was started, to which paths of a corpus may be relative.
        shard: the shard that it read last.
    """

    model: LoadedModel
    source: Source
    folder: str | None
    shard: tuple[int, ShardInputs] | None = None

    def inputs(self, batch: _Batch) -> ShardInputs:
        if self.shard is None or self.shard[0] != batch.number:
            self.shard = batch.number, ShardInputs(self.source, batch.number, batch.plan)
        return self.shard[1]


_loaded: _InProcess | None = None


def _load(model: ModelFunction, device: str, source: Source, note: Note) -> Description | TtsPrepError:  # noqa: ARG001
    """Load the function in this process; return its description, or the error."""
    global _loaded
    folder = working_folder()
    try:
        _loaded = _InProcess(LoadedModel(model, device, source.names), source, folder)
    except TtsPrepError as error:
        return error
    except BaseException as error:
        return ConfigurationError(f"{model.where} cannot be loaded: {reason_of(error)}")
    return _loaded.model.description


def _compute(batch: _Batch) -> Sequence[Outcome] | _Failed:
    """Return the values of a batch in a process that has loaded the function."""
    assert _loaded is not None
    description = _loaded.model.description
    # Some models leave the folder in which their process was started.
    with working_in(_loaded.folder):
        shard = _loaded.inputs(batch)
        given, found = _arguments(batch, shard, description)
    rows = [row for row in range(len(batch.positions)) if row not in found]
    if rows:
        try:
            if SAMPLE_RATE in description.inputs:
                given[SAMPLE_RATE] = description.sample_rate or shard.sample_rate
            positions = [batch.positions[row] for row in rows]
            lengths, seconds = map(shard.lengths, positions), map(shard.seconds, positions)
            found.update(zip(rows, _loaded.model(given, list(lengths), list(seconds)), strict=True))
        except BaseException as error:  # sys.exit in a model is a failure of its utterances
            if len(batch.positions) > 1:
                return _Failed(reason_of(error))
            found[0] = Missing(reason_of(error))
    return [found[row] for row in range(len(batch.positions))]


def _arguments(
    batch: _Batch, shard: ShardInputs, description: Description
) -> tuple[dict[str, Any], dict[int, Outcome]]:
    """Return the arguments that are lists, of the utterances that have them, and why the others have none, by row."""
    found: dict[int, Outcome] = {}
    given: dict[str, list[Any]] = {name: [] for name in description.inputs if name != SAMPLE_RATE}
    for row, position in enumerate(batch.positions):
        try:
            values = {name: _argument(batch, shard, description, name, row, position) for name in given}
        except UtteranceError as error:
            found[row] = Missing(reason_of(error))
            continue
        for name, value in values.items():
            given[name].append(value)
    return given, found


def _argument(batch: _Batch, shard: ShardInputs, description: Description, name: str, row: int, position: int) -> Any:
    if name in batch.columns:
        return batch.columns[name][row]
    spec = shard.arrays.get(name)
    if spec and spec.failures in batch.columns and (reason := batch.columns[spec.failures][row]):
        raise FeatureError(f"no value of '{name}': {reason}")
    return shard.value(name, position, description.sample_rate)


class _Process:
    """One process, and the shard that it works on."""

    def __init__(self, model: ModelFunction, device: str, source: Source, run: ModelRun) -> None:
        self.device, self._model, self._load = device, model, partial(_load, model, device, source)
        self._run = run
        self.work: ShardWork | None = None
        self._waiting: deque[tuple[int, ...]] = deque()
        self._now: tuple[int, ...] = ()
        self._deaths = self._failed_starts = 0
        self._found: dict[int, Outcome] = {}
        self._deadline = float("inf")
        self._begin()

    def _begin(self) -> None:
        try:
            self.worker = Worker(self._load)
            self.worker.begin()
        except ConfigurationError as error:
            raise ConfigurationError(f"{self._model.where}: {error}") from error
        self._is_ended = False
        self.description: Description | None = None
        self._loaded_by = time.monotonic() + self._run.load_timeout

    @property
    def is_done(self) -> bool:
        """Whether every utterance of the batches has its outcome."""
        return self.work is not None and len(self._found) == sum(map(len, self.work.batches))

    def begin_shard(self, work: ShardWork) -> None:
        """Begin a shard."""
        self.work, self._found = work, {}
        self._waiting = deque(tuple(batch) for batch in work.batches)
        self._next()

    def finished(self) -> tuple[ShardWork, Mapping[int, Outcome]]:
        """Return the shard that is done, and the outcome of each utterance of its batches by position."""
        assert self.work is not None
        work, self.work = self.work, None
        return work, self._found

    def _next(self) -> None:
        """Give the next batch to the process."""
        self._deadline, self._now = float("inf"), ()
        if self._waiting and self.work is not None:
            self._now = self._waiting.popleft()
            columns = {name: [of_rows[row] for row in self._now] for name, of_rows in self.work.columns.items()}
            self.worker.give(_compute, _Batch(self.work.number, self.work.plan, self._now, columns))
            if self.description is not None:
                self._deadline = time.monotonic() + self._run.timeout

    def answer(self) -> None:
        """Take an answer of the process.

        Raises:
            TtsPrepError: the function cannot be loaded, or the store or the corpus cannot be read.
        """
        try:
            kind, value = self.worker.receive()
        except WorkerDiedError:
            self._died()
            return
        if kind == UNREADY:
            raise ConfigurationError(
                f"{self._model.where} cannot be loaded in a new process: {one_line(value)}; expected a module that it "
                "can import: not a notebook, and not one on a path that was removed from sys.path"
            )
        if kind == READY:
            if not isinstance(value, Description):
                raise value
            self.description, self._failed_starts = value, 0
            # Only now, because loading can take long.
            self._deadline = time.monotonic() + self._run.timeout if self._now else float("inf")
        elif kind == DONE:
            if isinstance(value, _Failed):
                self._one_by_one()
            else:
                self._found.update(zip(self._now, value, strict=True))
            self._deaths = 0
            self._next()

    def _died(self) -> None:
        was_ready, how = self.description is not None, self.end()
        if was_ready:
            self._again(f"its process ended ({how})")
            return
        self._failed_starts += 1
        if self._failed_starts >= _DEATHS:
            raise WorkerError(
                f"the process of {self.device} ended twice while it loaded the function ({how}); finished shards are "
                "kept. Is there enough memory? A script that calls this needs if __name__ == '__main__'"
            )
        if self._now:
            self._waiting.appendleft(self._now)
        self._begin()
        self._next()

    def check_time(self, now: float) -> None:
        """End the process and start another one if a batch takes too long.

        Raises:
            WorkerError: loading the function takes too long.
        """
        if self.description is None and now >= self._loaded_by:
            self.end()
            raise WorkerError(
                f"the process of {self.device} did not load the function within {self._run.load_timeout:g} s; finished "
                "shards are kept. Does it wait for a download? Load it once in Python, or give a greater --load-timeout"
            )
        if now >= self._deadline:
            self.end()
            self._again(f"no result within {self._run.timeout:g} s", deaths=_DEATHS)

    def _again(self, reason: str, deaths: int = 1) -> None:
        """Start the process again, and try its batch one by one; an utterance that was alone has no value."""
        if len(self._now) == 1:
            self._deaths += deaths
            if self._deaths >= _DEATHS:
                self._found[self._now[0]] = Missing(reason)
                self._deaths = 0
            else:
                self._waiting.appendleft(self._now)
        else:
            self._one_by_one()
        self._begin()
        self._next()

    def _one_by_one(self) -> None:
        self._waiting.extendleft((position,) for position in reversed(self._now))

    def end(self) -> str:
        """Kill the process, unless it has been; return its exit status."""
        is_ended, self._is_ended = self._is_ended, True
        return "" if is_ended else self.worker.end()


class ModelProcesses:
    """Processes that call a function, one for each device; a device may come more than once.

    Args:
        look: called again and again, also while nothing happens; it may raise to end the run.
    """

    def __init__(
        self, model: ModelFunction, run: ModelRun, source: Source, look: Callable[[], None] = lambda: None
    ) -> None:
        self._model, self._source, self._waiting = model, source, deque(run.devices or ())
        self._run, self._look = run, look
        self._processes: list[_Process] = []
        self._interface: object = None

    def describe(self) -> Description:
        """Start the first process, and return the description of its function."""
        process = self._start()
        while process.description is None:
            self._wait()
        return process.description

    def run(self, todo: Iterator[ShardWork]) -> Generator[tuple[ShardWork, Mapping[int, Outcome]], None, None]:
        """Yield every shard with the outcome of each utterance of its batches by position; shards in any order."""
        work = next(todo, None)
        while work is not None or any(process.work for process in self._processes):
            while work is not None and (process := self._idle()):
                process.begin_shard(work)
                work = next(todo, None)
            for process in [process for process in self._processes if process.is_done]:
                yield process.finished()
            if any(process.work for process in self._processes):
                self._wait()

    def _idle(self) -> _Process | None:
        """Return a process without a shard, started if there is none; None if all are busy."""
        idle = next((process for process in self._processes if process.work is None), None)
        return idle or (self._start() if self._waiting else None)

    def _start(self) -> _Process:
        device = self._waiting.popleft()
        process = _Process(self._model, device, self._source, self._run)
        self._processes.append(process)
        return process

    def _wait(self) -> None:
        """Take the answers of processes, and end those that take too long.

        Raises:
            ConfigurationError: the function says in one process that it returns something else than in another one.
        """
        self._look()
        by_connection: dict[Any, _Process] = {process.worker.connection: process for process in self._processes}
        ready = multiprocessing.connection.wait(list(by_connection), _LOOK_SECONDS)
        for connection in ready:
            by_connection[connection].answer()
        self._check_descriptions()
        now = time.monotonic()
        for process in self._processes:
            process.check_time(now)

    def _check_descriptions(self) -> None:
        for process in self._processes:
            if process.description is None:
                continue
            self._interface = self._interface or process.description.interface
            if process.description.interface != self._interface:
                raise ConfigurationError(
                    f"{self._model.where}: asks for or returns something else in the process of {process.device} than "
                    "in the first one; expected the same arrays, columns, arguments and sample_rate in each"
                )

    def stop(self) -> None:
        """End all processes."""
        while self._processes:
            self._processes.pop().end()
