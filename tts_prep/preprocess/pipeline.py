"""From a corpus to a store: plan, shards in parallel, index, manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from tts_prep.errors import ConfigurationError, StoreError, TooManyFailuresError
from tts_prep.format.atomic import replacing
from tts_prep.format.checksum import file_sha256, json_sha256
from tts_prep.format.columns import CategoryColumn
from tts_prep.format.index import build_index, open_index
from tts_prep.format.layout import FAILURES, INDEX, shard_name
from tts_prep.format.manifest import FileEntry, Manifest, write_manifest
from tts_prep.format.statistics import MelStatistics
from tts_prep.preprocess.audio.mel import MelExtractor, compile_kernels
from tts_prep.preprocess.configuration import Configuration
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.folder import open_folder, remove_extra_shards
from tts_prep.preprocess.plan import ShardPlan, first_rows, make_plan, plan_sha256
from tts_prep.preprocess.shards import ShardRecipe, ShardSummary, make_shard
from tts_prep.preprocess.software import software_versions
from tts_prep.preprocess.text.frontend import get_frontend


@dataclass(frozen=True)
class Progress:
    """How far a run has come; given to the callback after every shard.

    Attributes:
        done, total: rows of the corpus, those that failed included.
        seconds: of audio, in the shards done.
        failures: rows left out so far.
    """

    done: int
    total: int
    seconds: float
    failures: int


@dataclass(frozen=True)
class Result:
    """What a run made.

    Attributes:
        shards_made: shards that this run made; the others were there already.
    """

    store: Path
    manifest: Manifest
    shards_made: int


def prepare(
    items: Iterable[Utterance | Failure],
    root: Path,
    store: Path,
    config: Configuration,
    *,
    jobs: int = 1,
    max_failures: str | int = "1%",
    overwrite: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Make a store of a corpus, or go on with one that was begun.

    The bytes of the store depend on the corpus, the configuration and the versions of the libraries, and on nothing
    else: not on ``jobs``, nor on how often the run was interrupted.

    Args:
        items: from a corpus reader, such as `tts_prep.preprocess.corpora.read_ljspeech`.
        root: what the utterances' relative audio paths are relative to.
        store: the folder to make.
        jobs: worker processes.
        max_failures: most rows that may fail, as a number or as a share of all (``"1%"``, rounded up).
        overwrite: replace a store that is there.

    Raises:
        TtsPrepError: the message says what and where. Shards that were made are kept.
    """
    allowed = FailureLimit.parse(max_failures)
    recipe = _recipe(config, root)
    manifest = open_folder(store, recipe.settings, overwrite=overwrite)
    plans = make_plan(first_rows(items, config.limit), root, config.store)
    if manifest:
        if manifest.plan != plan_sha256([recipe.key(plan) for plan in plans]):
            raise StoreError(
                f"{store}: a whole store, but the corpus has changed since it was made; give another path, or "
                "--overwrite to replace it"
            )
        return Result(store, manifest, 0)
    remove_extra_shards(store, len(plans))
    total = sum(len(plan.rows) for plan in plans)
    summaries: list[ShardSummary] = []
    for summary in _make_shards(plans, recipe, store, jobs):
        summaries.append(summary)
        failures = sum(len(done.header.failures) for done in summaries)
        progress(
            Progress(
                sum(done.header.rows for done in summaries) + failures,
                total,
                sum(done.header.seconds for done in summaries),
                failures,
            )
        )
        if failures > allowed.of(total):
            _give_up(store, summaries, total, allowed)
    summaries.sort(key=lambda summary: summary.number)
    manifest = _finish(store, recipe, summaries)
    return Result(store, manifest, sum(summary.made for summary in summaries))


@dataclass(frozen=True)
class FailureLimit:
    """The most rows that may fail: a number, or a share of all."""

    text: str
    number: float
    is_share: bool

    @classmethod
    def parse(cls, value: str | int) -> FailureLimit:
        """Read ``"20"`` or ``"1%"``.

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
        """Return the number of rows, a share rounded up."""
        return -int(-self.number * total // 100) if self.is_share else int(self.number)


def available_jobs() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _recipe(config: Configuration, root: Path) -> ShardRecipe:
    extractor = MelExtractor(config.mel)
    frontend = get_frontend(config.text.frontend, language=config.text.language)
    settings: dict[str, Any] = {
        "configuration": config.as_dict(),
        "software": {**software_versions(), **frontend.software()},
        "arrays": {
            "mel": {
                "dtype": config.store.mel_dtype,
                "row_shape": [config.mel.n_mels],
                "sample_rate": config.mel.sample_rate,
                "hop_length": config.mel.hop_length,
                "silence": extractor.silence().tolist(),
            },
            "phonemes": {"dtype": "int32", "row_shape": []},
            **(
                {"waveform": {"dtype": config.store.waveform_dtype, "row_shape": []}}
                if config.store.waveform_dtype
                else {}
            ),
        },
        "vocabulary": {"symbols": list(frontend.vocab.symbols), "pad": frontend.vocab.pad},
    }
    return ShardRecipe(root, settings, extractor, config.reading, config.text)


def _make_shards(plans: Sequence[ShardPlan], recipe: ShardRecipe, store: Path, jobs: int) -> Iterator[ShardSummary]:
    """Yield the shards as they are finished, in any order."""
    compile_kernels(recipe.extractor.config)
    if jobs == 1:
        for plan in plans:
            yield make_shard(plan, recipe, store)
        return
    with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        parallel = joblib.Parallel(return_as="generator_unordered")
        yield from parallel(joblib.delayed(make_shard)(plan, recipe, store) for plan in plans)


def _give_up(store: Path, summaries: Sequence[ShardSummary], total: int, allowed: FailureLimit) -> None:
    failures = _write_failures(store, summaries)
    first = failures[0]
    raise TooManyFailuresError(
        f"{len(failures)} of {total} rows failed so far, more than --max-failures {allowed.text} allows; the first is "
        f"{first['id'] or 'without an id'} ({first['stage']}): {first['reason']}; all are in {store / FAILURES}; "
        "what was done is kept"
    )


def _write_failures(store: Path, summaries: Sequence[ShardSummary]) -> list[dict[str, str]]:
    ordered = sorted(summaries, key=lambda summary: summary.number)
    failures = [dict(failure) for summary in ordered for failure in summary.header.failures]
    with replacing(store / FAILURES) as partial:
        text = "".join(json.dumps(failure, ensure_ascii=False) + "\n" for failure in failures)
        partial.write_text(text, encoding="utf-8")
    return failures


def _finish(store: Path, recipe: ShardRecipe, summaries: Sequence[ShardSummary]) -> Manifest:
    try:
        failures = _write_failures(store, summaries)
        paths = [store / shard_name(summary.number) for summary in summaries]
        rows = build_index(store, paths)
        index = open_index(store / INDEX, rows, list(recipe.settings["arrays"]), len(paths))
        statistics = MelStatistics.total(
            (MelStatistics.from_dict(part) for summary in summaries for part in summary.header.mel_statistics.values()),
            recipe.extractor.config.n_mels,
        )
        speakers = index.column("speaker")
        assert isinstance(speakers, CategoryColumn)
        manifest = Manifest(
            configuration=recipe.settings["configuration"],
            fingerprint=json_sha256([recipe.settings["configuration"], recipe.settings["software"]]),
            plan=plan_sha256([summary.header.key for summary in summaries]),
            software=recipe.settings["software"],
            arrays=recipe.settings["arrays"],
            vocabulary=recipe.settings["vocabulary"],
            speakers=tuple(speakers.table),
            mel_statistics={
                "count": statistics.count,
                "mean": statistics.mean.tolist(),
                "std": statistics.std.tolist(),
            },
            totals={
                "utterances": rows,
                "failures": len(failures),
                "seconds": sum(summary.header.seconds for summary in summaries),
                "frames": statistics.count,
                "phonemes": int(index.arrays["phonemes"][1].sum()),
                "shards": len(paths),
            },
            shards=tuple(summary.entry for summary in summaries),
            index=_entry(store, INDEX, rows),
            failures=_entry(store, FAILURES, len(failures)),
        )
        write_manifest(store, manifest)
    except OSError as error:
        raise StoreError(
            f"{store}: cannot be written ({error.strerror}); what was done is kept, run again to go on"
        ) from error
    return manifest


def _entry(store: Path, file: str, rows: int) -> FileEntry:
    path = store / file
    return FileEntry(file, path.stat().st_size, rows, file_sha256(path))
