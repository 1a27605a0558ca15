"""Batches of utterances of similar length, which need little padding."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader.batch_info import BatchShape
from tts_prep.loader.randomness import BlockedPermutation, check_seed, digest, permutation, random_words, sort_order
from tts_prep.loader.samplers import buckets
from tts_prep.loader.samplers.base import EpochProgress, Sampler, check_batch_size
from tts_prep.loader.samplers.batch_plan import BatchPlan, joined, shared
from tts_prep.loader.samplers.budgets import Budget, Limits, check_budgets, find_over_budget, whole_lengths
from tts_prep.loader.samplers.ranks import Rank
from tts_prep.loader.samplers.shard_windows import ShardWindows

_UTTERANCES, _BATCHES, _EDGES, _REMAINDER, _WINDOWS = range(5)
"""Random streams: one for each kind of draw in an epoch."""

_STREAMS = 5
_FINEST_TOLERANCE = 1e-4
_EPOCHS = 4
"""The number of epochs of which the one with most batches sets the number for all, if it is to be equal."""

_ATTEMPTS = 100
_BLOCK = 1 << 20

Int64Array = npt.NDArray[np.int64]


class LengthBucketBatchSampler(Sampler[list[int]]):
    """Batch utterances of similar length, with new batches every epoch.

    Lengths are grouped into buckets a few percent wide, whose edges move every epoch. Utterances are shuffled within
    a bucket. From the longest bucket to the shortest, they are cut into batches as large as the limits allow. Then the
    batches are shuffled. Padding is about half of `tolerance`, and the composition of batches changes every epoch. An
    epoch is a pure function of lengths, settings, seed and epoch number.

    Example:
        >>> from tts_prep.loader import LengthBucketBatchSampler, UtteranceDataset
        >>> dataset = UtteranceDataset("store")
        >>> sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=200, seed=0)
        >>> sorted(len(batch) for batch in sampler)
        [2, 3, 3]
        >>> round(sampler.plan(epoch=0).padding(), 2)  # the share of frames that is padding
        0.07

    An epoch of more than `window` utterances is planned in windows of about that size. Each window is a random sample
    of the remaining utterances, so that the first batch waits for one window only. Utterances that do not fill a batch
    move to the next window.

    Each rank takes every ``world_size``-th batch of a common list. All ranks get the same number of batches: if
    necessary, the largest ones are split in two. If all have one utterance, some are repeated, with an
    `ExactlyOnceWarning`. `state_dict` and `load_state_dict` resume within an epoch, also with another number of ranks;
    every remaining utterance still comes once. Only `len`, `count` and `plan` plan a complete epoch.

    Args:
        lengths: [n] integers, the length of each utterance of the dataset: ``dataset.n_frames``. Or several fields by
            name, the first of which defines the buckets: ``{"n_frames": …, "n_phonemes": …}``. A field may be [n, k],
            the lengths of parts that a batch pads one by one, such as text and tokens: its longest is then the sum of
            the longest of each part, and utterances are sorted by the sum of their parts. Excludes `n_shapes`.
        batch_size: the maximum number of utterances per batch.
        max_frames: the maximum number of padded frames per batch: its count times the longest of the first field.
        seed: a non-negative integer, the same on every rank.
        shuffle: False gives the same batches every epoch, strictly sorted, the longest first, planned in one window.
        drop_last: drop the one batch of an epoch that is smaller because utterances ran out. With `batch_size` alone
            it is a random batch; with `max_frames`, where most sizes differ, the batch of the shortest utterances.
        tolerance: the relative width of a bucket; 0 shuffles only utterances of equal length.
        budgets: further limits, on other fields or on a quadratic cost; every batch respects all of them.
        over_budget: how to treat an utterance that exceeds a budget by itself: ``"error"`` raises, ``"drop"`` leaves
            it out (`dropped` lists the positions), ``"alone"`` puts it into a batch of one.
        longest_first: begin each epoch with the batches of the longest utterances, one per rank, so that a batch that
            does not fit into memory fails in the first step. With several windows, these batches are strictly sorted.
        multiple_of: batch sizes are multiples of this, if a budget allows that many and enough utterances remain.
        n_shapes: pad every batch to one of at most this many shapes: a number of utterances, and a length for each
            field of `lengths`. Pass ``n_phonemes`` and ``n_samples`` as fields to fix the shapes of phonemes and
            waveforms too. The chosen lengths minimize the padded elements of the first field. `tolerance` is ignored.
            `collate` adds empty utterances to a batch that has fewer than its shape. Excludes `drop_last` and
            `over_budget="alone"`.
        sampler: a sampler of the positions of an epoch; by default every utterance comes once. `MixingSampler` mixes
            corpora or speakers in batches of similar length. It must not be sharded itself. Such an epoch is planned in
            one window; `n_shapes` optimizes for every utterance once.
        window: the approximate number of utterances planned at a time.
        shards: [n] integers, the shard of each utterance: ``dataset.shard``. Each window then has the utterances of
            `shard_window` shards instead, drawn at random every epoch, so that batches use few files at a time and a
            rank reads each file in one stretch of the epoch: for stores behind URLs with a cache of limited size.
            Each window has one smaller batch, which `drop_last` drops. Excludes `sampler`, `shuffle=False` and
            `equal_epochs`.
        shard_window: the number of shards of a window, with `shards`.
        nodes: the number of machines, with `shards`. Each machine has its own shards in every epoch, and its own
            windows of `shard_window` shards; the ranks 0 to ``world_size / nodes - 1`` are on the first one, and so on.
            In each window, the largest batches are split until all machines have the same number. The epoch of a state
            of another number of nodes or ranks is finished as it was begun, without shares. Excludes `longest_first`.
        equal_epochs: give all epochs the same number of batches. With `max_frames`, it varies a little otherwise, and
            frameworks that ask for it once, such as Lightning and the Trainer of Hugging Face, lose the last batches of
            a longer epoch and cannot resume. The largest batches are split to make the number that of the first epochs.
            Excludes `sampler` and epochs of several windows.
        rank: the rank of this process, or ``"auto"``; see `Sampler`.
        world_size: the number of ranks.

    Raises:
        ConfigurationError: a setting is out of range, both `batch_size` and `max_frames` are missing, or settings
            exclude each other.
        SamplingError: there are no lengths, they are not non-negative integers, fields differ in length, or an
            utterance exceeds a budget.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike | Mapping[str, npt.ArrayLike],
        batch_size: int | None = None,
        max_frames: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        tolerance: float = 0.02,
        *,
        budgets: Sequence[Budget] = (),
        over_budget: Literal["error", "drop", "alone"] = "error",
        longest_first: bool = False,
        multiple_of: int = 1,
        n_shapes: int | None = None,
        sampler: Sampler[int] | None = None,
        window: int = 1 << 20,
        shards: npt.ArrayLike | None = None,
        shard_window: int = 32,
        nodes: int = 1,
        equal_epochs: bool = False,
        rank: Rank = 0,
        world_size: int = 1,
    ) -> None:
        super().__init__(rank=rank, world_size=world_size)
        _check_settings(tolerance, over_budget, window)
        if n_shapes is not None and (drop_last or over_budget == "alone"):
            raise ConfigurationError("n_shapes: cannot be combined with drop_last or over_budget='alone'")
        if shards is not None and (sampler is not None or not shuffle or equal_epochs):
            raise ConfigurationError("shards: cannot be combined with sampler, shuffle=False or equal_epochs")
        if nodes < 1 or self._n_ranks % nodes or (nodes > 1 and (shards is None or longest_first)):
            raise ConfigurationError(
                f"nodes: expected a divisor of the {self._n_ranks} ranks, with shards and without longest_first, found "
                f"{nodes}"
            )
        # Of the epochs to come, and of the current one, which may have begun with another number.
        self._nodes = self._begun_nodes = nodes
        self._fields = _check_fields(lengths)
        if n_shapes is not None and any(of.ndim > 1 for of in self._fields.values()):
            raise ConfigurationError("n_shapes: cannot be combined with lengths of parts, [n, k]")
        self._main = next(iter(self._fields))
        self._lengths = whole_lengths(self._fields[self._main])
        self._budgets = check_budgets(budgets, max_frames, self._main, self._fields)
        self._batch_size = _checked_size(batch_size, multiple_of, is_needed=not self._budgets)
        self._multiple_of = multiple_of
        self._seed = check_seed(seed)
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._tolerance = tolerance if shuffle else 0.0
        self._over_budget = over_budget
        self._longest_first = longest_first
        self._n_shapes = n_shapes
        bounding = () if over_budget == "alone" else self._budgets
        self.dropped = find_over_budget(self._fields, bounding, max_frames, self._main, drop=over_budget == "drop")
        self._left_out = _mask(self.size, self.dropped) if len(self.dropped) else None
        n_kept = self.size - len(self.dropped)
        self._window = window
        self._n_windows = -(-n_kept // window) if shuffle and sampler is None else 1
        self._shard_windows = None if shards is None else ShardWindows(shards, shard_window, self.size)
        if self._shard_windows is not None:
            self._n_windows = len(self._shard_windows)
            if len(np.unique(np.asarray(shards))) < nodes:
                raise SamplingError(f"nodes: expected at least {nodes} shards, one for each; make smaller ones")
        self._equal_epochs = equal_epochs
        self._check_kept(n_kept, has_sampler=sampler is not None)
        if sampler is not None:
            self._take_from(sampler)
        self._planned: tuple[tuple[int, EpochProgress], BatchPlan] | None = None
        # The number of batches of an epoch, and of those planned so far, by (epoch, steps done).
        self._counted: tuple[tuple[int, EpochProgress], int] = (-1, ()), 0
        self._certain: tuple[tuple[int, EpochProgress], int] = (-1, ()), 0

    def _check_kept(self, n_kept: int, *, has_sampler: bool) -> None:
        if not n_kept:
            raise SamplingError(f"all {self.size:,} utterances are over the budget; raise max_frames or budgets")
        if self._equal_epochs and (has_sampler or self._n_windows > 1):
            raise ConfigurationError(
                f"equal_epochs: cannot be combined with sampler, and needs a window of all {n_kept:,} utterances"
            )

    def _take_from(self, sampler: Sampler[int]) -> None:
        if sampler.world_size > 1 or sampler._n_ranks > 1:
            raise ConfigurationError(
                "sampler: it is sharded already; pass rank and world_size to LengthBucketBatchSampler only"
            )
        if sampler.size not in (None, self.size):
            raise SamplingError(f"sampler: made for {sampler.size:,} utterances, there are {self.size:,} lengths")
        self._draw_from(sampler)

    @property
    def size(self) -> int:
        """The number of utterances that positions index into."""
        return len(self._lengths)

    @cached_property
    def shapes(self) -> tuple[BatchShape, ...]:
        """The fixed shapes, ascending by length; empty without `n_shapes`."""
        if self._n_shapes is None:
            return ()
        # An empty utterance is padded to a length of 1, so that no two shapes have the same length.
        values, counts = _counted_as_one(*self._histogram)
        # For each length of the first field, the longest of the other fields among utterances up to that length.
        longest = {name: values if name == self._main else np.zeros(len(values), np.int64) for name in self._fields}
        for block in self._blocks() if len(longest) > 1 else ():
            numbers = np.searchsorted(values, self._lengths[block])
            for name, maxima in longest.items():
                if name != self._main:
                    np.maximum.at(maxima, numbers, self._fields[name][block])
        longest = {name: np.maximum.accumulate(maxima) for name, maxima in longest.items()}
        limits = self._limits
        rows = np.array(
            [
                limits.max_utterances({name: int(maxima[i]) for name, maxima in longest.items()})
                for i in range(len(values))
            ],
            np.int64,
        )
        chosen = np.searchsorted(values, buckets.best_lengths(values, counts, rows, self._n_shapes))
        return tuple(
            BatchShape(int(rows[i]), {name: max(1, int(maxima[i])) for name, maxima in longest.items()}) for i in chosen
        )

    def order(self, epoch: int) -> Iterator[list[int]]:
        """Iterate over the batches of an epoch, for all ranks."""
        for plan, _ in self._remaining(epoch, ()):
            yield from plan.batches(range(len(plan)), epoch)

    def _order_size(self, epoch: int) -> int:
        """Return the number of batches of an epoch, for all ranks; with `max_frames` it varies between epochs."""
        return self.count(epoch) * self.world_size

    def _rest(self, epoch: int, done: EpochProgress) -> Iterator[list[int]]:
        """Iterate over this rank's remaining batches of an epoch after the steps in `done`."""
        number = self.rank
        planned = 0
        for plan, last in self._remaining(epoch, done):
            planned += len(plan)
            # Only for the current epoch: `draw` of another one must not discard what is known about this one.
            if (epoch, done) == (self._epoch, self._done):
                self._certain = (epoch, done), planned
                if last:
                    self._counted = self._certain
            if last and plan.repeats:
                self._warn(
                    f"utterances repeated in an epoch: {plan.repeats:,}, because {self._n_ranks} ranks do not divide "
                    "its batches, and the last ones cannot be split, having one utterance each"
                )
            yield from plan.batches(range(number, len(plan), self.world_size), epoch)
            number = (number - len(plan)) % self.world_size

    def _count_rest(self, epoch: int, done: EpochProgress) -> int:
        """Return the number of this rank's remaining batches of an epoch after the steps in `done`."""
        if self._counted[0] != (epoch, done):
            self._counted = (epoch, done), sum(len(plan) for plan, _ in self._remaining(epoch, done))
        return self._counted[1] // self.world_size

    def _ends_after(self, steps: int) -> bool:
        """Return whether the current epoch ends within this number of further steps."""
        key, certain = self._certain
        if key == (self._epoch, self._done) and steps * self.world_size < certain:
            # `state_dict` within an epoch must not wait for the rest of it to be planned.
            return False
        return super()._ends_after(steps)

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine an epoch."""
        return {
            "lengths": {name: digest(lengths) for name, lengths in self._fields.items()},
            "first": self._main,
            "batch_size": self._batch_size,
            "budgets": [[budget.field, budget.limit, budget.power] for budget in self._budgets],
            "seed": self._seed,
            "shuffle": self._shuffle,
            "drop_last": self._drop_last,
            "tolerance": self._tolerance,
            "over_budget": self._over_budget,
            "longest_first": self._longest_first,
            "multiple_of": self._multiple_of,
            "n_shapes": self._n_shapes,
            # The window matters only if there is more than one.
            **({"window": self._window} if self._n_windows > 1 and self._shard_windows is None else {}),
            **(self._shard_windows.settings() if self._shard_windows is not None else {}),
            **({"equal_epochs": True} if self._equal_epochs else {}),
            **({"sampler": self._inner.fingerprint} if self._inner else {}),
        }

    def plan(self, epoch: int, done: EpochProgress = ()) -> BatchPlan:
        """Return the batches of an epoch, for all ranks. The last plan of a single window is cached."""
        return joined([plan for plan, _ in self._remaining(epoch, done)])

    def _remaining(self, epoch: int, done: EpochProgress) -> Iterator[tuple[BatchPlan, bool]]:
        """Yield the remaining batches of an epoch, for all ranks, by window, and whether the window is the last."""
        drawn = epoch if self._shuffle else 0
        # The number of batches moved to the front is the world size with which the epoch began.
        leaders = (done[0][0] if done else self._n_ranks) if self._longest_first else 0
        nodes = self._nodes_of(epoch, done)
        if nodes > 1:
            n_ranks = done[0][0] if done else self._n_ranks
            yield from shared(self._node_windows(drawn, nodes, n_ranks), done, self._n_ranks, self._multiple_of)
            return
        if self._n_windows > 1:
            yield from shared(self._windows(drawn, leaders), done, self._n_ranks, self._multiple_of)
            return
        if self._planned is None or self._planned[0] != (drawn, done):
            plan = self._equal_window(drawn, leaders) if self._equal_epochs else self._single_window(drawn, leaders)
            window = [(plan, True)]
            ((plan, _),) = shared(window, done, self._n_ranks, self._multiple_of)
            self._planned = (drawn, done), plan
        yield self._planned[1], True

    def _single_window(self, epoch: int, leaders: int) -> BatchPlan:
        """Return the batches of an epoch, planned by one sort of all utterances.

        Args:
            epoch: the epoch number.
            leaders: the number of batches of the longest utterances to move to the front.
        """
        kept = self._chosen(epoch)
        if kept is not None and not len(kept):
            return BatchPlan(kept, kept, kept, self._fields[self._main], self.shapes, kept)
        keys, longest = self._buckets(self._lengths if kept is None else self._lengths[kept], epoch)
        counts = np.bincount(keys, minlength=len(longest))
        if self._shuffle:
            words = random_words(len(keys), self._seed, epoch, _UTTERANCES)
        else:
            words = np.zeros(len(keys), np.uint64)
        positions = sort_order(keys.view(np.uint64), (len(longest) - 1).bit_length(), words)
        del keys, words
        if kept is not None:
            positions = kept[positions]
        word = self._random_word(epoch, _REMAINDER) if self._shuffle else None
        plan, short = self._cutter.cut(positions, counts, longest, word)
        if self._drop_last:
            plan = plan.without(short)
        if self._shuffle:
            plan = plan.chosen(permutation(len(plan), self._seed, epoch, _BATCHES))
        if leaders:
            first = np.argsort(-plan.longest(), kind="stable")[:leaders]
            plan = plan.chosen(np.concatenate([first, np.delete(np.arange(len(plan)), first)]))
        return plan

    @cached_property
    def _equal_count(self) -> int:
        return max(len(self._single_window(epoch, 0)) for epoch in range(_EPOCHS))

    def _equal_window(self, epoch: int, leaders: int) -> BatchPlan:
        """Return the batches of an epoch, as many as in every other."""
        # Batches can be split, not merged: with too many, draw again. Epoch 0 has few enough.
        draws = chain((epoch + (attempt << 32) for attempt in range(_ATTEMPTS)), [0])
        plans = (self._single_window(draw, leaders) for draw in draws)
        plan = next(plan for plan in plans if len(plan) <= self._equal_count)
        return plan.evened(self._equal_count, self._multiple_of) if len(plan) else plan

    def _chosen(self, epoch: int) -> Int64Array | None:
        """Return the positions of the utterances of an epoch in any order; None if it has all of them."""
        left_out = self._left_out
        if self._inner is None:
            return None if left_out is None else np.flatnonzero(~left_out)
        drawn = np.fromiter(self._inner.order(epoch), np.int64)
        if len(drawn) and not 0 <= int(drawn.min()) <= int(drawn.max()) < self.size:
            raise SamplingError(f"sampler: positions are out of range for {self.size:,} utterances")
        return drawn if left_out is None else drawn[~left_out[drawn]]

    def _windows(self, epoch: int, leaders: int) -> Iterator[tuple[BatchPlan, bool]]:
        """Yield the batches of an epoch by window, and whether the window is the last.

        Args:
            epoch: the epoch number.
            leaders: the number of batches of the longest utterances to move to the front.
        """
        waiting: Int64Array = np.empty(0, np.int64)
        left_out = self._left_out
        if leaders:
            longest = self._longest(leaders)
            if longest is None:
                yield self._single_window(epoch, leaders), True
                return
            left_out = _mask(self.size, longest) if left_out is None else left_out | _mask(self.size, longest)
            plan, _ = self._cut(longest)
            waiting = plan.utterances(slice(leaders, None))
            yield plan.chosen(slice(leaders)), False
        for number, drawn in enumerate(self._drawn(epoch)):
            last = number == self._n_windows - 1
            if left_out is not None:
                drawn = drawn[~left_out[drawn]]
            word = self._random_word(epoch, _REMAINDER) if last or self._shard_windows is not None else None
            plan, short = self._cut(np.concatenate([waiting, drawn]), epoch, word)
            # Windows of shards keep their small batch: what waited would need its shards again much later.
            waits = not last and self._shard_windows is None
            waiting = plan.utterances(short if waits else slice(0))
            if waits or self._drop_last:
                plan = plan.without(short)
            order = permutation(len(plan), self._seed, epoch, number * _STREAMS + _BATCHES)
            yield plan.chosen(order), last

    def _drawn(self, epoch: int) -> Iterator[Int64Array]:
        """Yield the positions of the utterances of each window, in random order."""
        windows = self._shard_windows
        if windows is None:
            yield from map(
                BlockedPermutation(self.size, self._n_windows, self._seed, epoch, _WINDOWS).block,
                range(self._n_windows),
            )
            return
        for number in range(self._n_windows):
            yield windows.block(number, self._seed, epoch, _WINDOWS, number * _STREAMS + _UTTERANCES)

    def _node_windows(self, epoch: int, nodes: int, n_ranks: int) -> Iterator[tuple[BatchPlan, bool]]:
        """Yield the batches of a window of each node, in the order of ranks, and whether they are the last."""
        windows, each = self._shard_windows, n_ranks // nodes
        assert windows is not None
        for number in range(windows.count(nodes)):
            plans = []
            for node in range(nodes):
                stream = (number * nodes + node) * _STREAMS
                drawn = windows.block(number, self._seed, epoch, _WINDOWS, stream + _UTTERANCES, node, nodes)
                if self._left_out is not None:
                    drawn = drawn[~self._left_out[drawn]]
                plan, short = self._cut(drawn, epoch, self._random_word(epoch, stream + _REMAINDER))
                plan = plan.without(short) if self._drop_last else plan
                plans.append(plan.chosen(permutation(len(plan), self._seed, epoch, stream + _BATCHES)))
            most = -(-max(map(len, plans)) // each) * each
            evened = [plan.evened(most, self._multiple_of) if len(plan) else plan for plan in plans]
            if any(len(plan) != most or plan.repeats for plan in evened):
                raise SamplingError(
                    f"nodes: window {number} has too few utterances for {most:,} batches on each of {nodes} nodes; "
                    "decrease nodes, or increase shard_window or the size of batches"
                )
            # A step is a batch for each rank: those of the first node, of the second, and so on.
            order = np.arange(nodes * most).reshape(nodes, most // each, each).transpose(1, 0, 2).ravel()
            yield joined(evened).chosen(order), number == windows.count(nodes) - 1

    def _nodes_of(self, epoch: int, done: EpochProgress) -> int:
        return self._begun_nodes if done and (epoch, done) == (self._epoch, self._done) else self._nodes

    def _begin(self, epoch: int, done: EpochProgress) -> None:
        super()._begin(epoch, done)
        self._begun_nodes = self._nodes

    def state_dict(self, steps: int | None = None) -> dict[str, Any]:
        """Return the position in the epoch; see `Sampler.state_dict`."""
        state = super().state_dict(steps)
        return state | {"nodes": self._nodes_of(self._epoch, self._done)} if state["done"] else state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state; see `Sampler.load_state_dict`."""
        super().load_state_dict(state)
        nodes = operator.index(state.get("nodes", 1)) if self._done else self._nodes
        if nodes < 1 or (nodes > 1 and (self._shard_windows is None or self._done[0][0] % nodes)):
            self._begin(self._epoch, ())
            raise ConfigurationError(f"load_state_dict: {nodes} nodes are impossible")
        self._begun_nodes = nodes

    def _windows_of(self, epoch: int) -> Sequence[Int64Array]:
        """Return one position in each shard of each window of an epoch."""
        windows, done = self._shard_windows, self._done if epoch == self._epoch else ()
        nodes = self._nodes_of(epoch, done)
        if windows is None or windows.count(nodes) == 1:
            return ()
        # An epoch that began with other ranks has batches of all nodes for each of them.
        is_share = self.world_size > 1 and all(n_ranks == self.world_size for n_ranks, _ in done)
        node = self.rank * nodes // self.world_size if is_share and nodes == self._nodes else None
        return windows.firsts(self._seed, epoch, _WINDOWS, node, nodes)

    def _cut(
        self, positions: Int64Array, epoch: int | None = None, word: int | None = None
    ) -> tuple[BatchPlan, Int64Array]:
        """Cut shuffled utterances into batches, the longest first. Return also the numbers of the small batches.

        Args:
            positions: the positions of the utterances.
            epoch: the epoch whose buckets to use; None makes every distinct length a bucket.
            word: see `Cutter.cut`.
        """
        if not len(positions):
            return BatchPlan(positions, positions, positions, self._fields[self._main], self.shapes), positions
        keys, longest = self._buckets(self._lengths[positions], epoch)
        counts = np.bincount(keys, minlength=len(longest))
        # numpy uses radix sort for 16 bits. A stable sort keeps the random order within a bucket.
        order = np.argsort(keys.astype(np.uint16) if len(longest) <= 1 << 16 else keys, kind="stable")
        return self._cutter.cut(positions[order], counts, longest, word)

    def _buckets(self, lengths: npt.NDArray[Any], epoch: int | None) -> tuple[Int64Array, Int64Array]:
        """Return the bucket of each length, and the longest length of each bucket, in descending order.

        In descending order, the bucket of a batch's first utterance bounds the length of the batch.
        """
        if self.shapes:
            longest = np.array([shape.lengths[self._main] for shape in self.shapes], np.int64)
            numbers = buckets.number_shapes(lengths, longest)
        else:
            numbers, longest = buckets.number_buckets(lengths, self._edges(epoch) if epoch is not None else ())
        return np.subtract(len(longest) - 1, numbers, out=numbers), longest[::-1]

    def _edges(self, epoch: int) -> list[float]:
        if not self._tolerance:
            return []
        phase = (self._random_word(epoch, _EDGES) >> 11) / 2**53
        return buckets.bucket_edges(*self._range, self._tolerance, phase)

    @cached_property
    def _range(self) -> tuple[int, int]:
        """The minimum and the maximum length of the utterances that are used."""
        if self._left_out is None:
            return int(self._lengths.min()), int(self._lengths.max())
        values, _ = self._histogram
        return int(values[0]), int(values[-1])

    @cached_property
    def _histogram(self) -> tuple[Int64Array, Int64Array]:
        return buckets.histogram_of_blocks(self._lengths[block] for block in self._blocks())

    def _blocks(self) -> Iterator[Int64Array | slice]:
        """Yield the positions of the utterances that are used, by block."""
        for start in range(0, self.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            yield block if self._left_out is None else start + np.flatnonzero(~self._left_out[block])

    @cached_property
    def _limits(self) -> Limits:
        return Limits(self._batch_size or self.size, self._budgets, self._multiple_of)

    @cached_property
    def _cutter(self) -> buckets.Cutter:
        return buckets.Cutter(self._fields, self._limits, self.shapes)

    def _longest(self, n_batches: int) -> Int64Array | None:
        """Return the longest utterances, enough to fill `n_batches`, longest first; None if there are too few."""
        values, counts = self._histogram
        for value, n in zip(values[::-1].tolist(), np.cumsum(counts[::-1]).tolist(), strict=True):
            # The longer the utterances, the smaller the batch: none of these batches is larger than one at `value`.
            wanted = n_batches * self._limits.max_utterances({self._main: value})
            if n >= wanted:
                break
        else:
            return None
        longer, equal = np.flatnonzero(self._lengths > value), np.flatnonzero(self._lengths == value)
        if self._left_out is not None:
            longer, equal = (positions[~self._left_out[positions]] for positions in (longer, equal))
        by_length = np.argsort(-self._lengths[longer].astype(np.int64), kind="stable")
        return np.concatenate([longer[by_length], equal])[:wanted]

    def _random_word(self, epoch: int, stream: int) -> int:
        return int(random_words(1, self._seed, epoch, stream)[0])


def _check_settings(tolerance: float, over_budget: str, window: int) -> None:
    if not (tolerance == 0 or _FINEST_TOLERANCE <= tolerance <= 1):
        raise ConfigurationError(f"tolerance: expected 0, or {_FINEST_TOLERANCE} to 1, found {tolerance}")
    if over_budget not in ("error", "drop", "alone"):
        raise ConfigurationError(f"over_budget: expected 'error', 'drop' or 'alone', found {over_budget!r}")
    if window < 1:
        raise ConfigurationError(f"window: expected an integer >= 1, found {window}")


def _checked_size(batch_size: int | None, multiple_of: int, *, is_needed: bool) -> int | None:
    if multiple_of < 1 or (batch_size or 0) % multiple_of:
        raise ConfigurationError(
            f"multiple_of: expected an integer >= 1 that divides the batch size {batch_size}, found {multiple_of}"
        )
    if batch_size is None and is_needed:
        raise ConfigurationError("LengthBucketBatchSampler: expected batch_size, max_frames or both, found neither")
    return None if batch_size is None else check_batch_size(batch_size)


def _counted_as_one(values: Int64Array, counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return distinct lengths and their counts, with lengths of 0 counted as 1."""
    if values[0]:
        return values, counts
    n_empty = 2 if len(values) > 1 and values[1] == 1 else 1
    return np.append(1, values[n_empty:]), np.append(counts[:n_empty].sum(), counts[n_empty:])


def _mask(size: int, positions: Int64Array) -> npt.NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[positions] = True
    return mask


def _check_fields(lengths: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
    fields = lengths if isinstance(lengths, Mapping) else {"n_frames": lengths}
    if not fields:
        raise ConfigurationError("lengths: expected at least one field, found none")
    checked = {name: _check_lengths(name, values) for name, values in fields.items()}
    sizes = {name: len(values) for name, values in checked.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name}: {size:,}" for name, size in sizes.items())
        raise SamplingError(f"lengths: expected fields of equal length, found {counts}")
    return checked


def _check_lengths(name: str, lengths: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(lengths)
    if array.size == 0:
        raise SamplingError("there are no lengths; did a filter remove all utterances?")
    if not (array.ndim == 1 or (array.ndim == 2 and array.shape[1] > 1)) or array.dtype.kind not in "iu":
        raise SamplingError(
            f"lengths: expected integers [n], such as dataset.n_frames, or [n, k] of several parts, found "
            f"{array.dtype} of shape {list(array.shape)}"
        )
    if int(array.min()) < 0:
        i = int(array.argmin()) // (array.size // len(array))
        raise SamplingError(f"utterance {i} has the length {array[i].min()} as {name}; expected non-negative integers")
    return array
