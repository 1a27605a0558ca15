"""What the options ``--feature``, ``--alignments`` and ``--array`` ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tts_prep import doors
from tts_prep.cli.verbosity import say
from tts_prep.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from tts_prep.format.records.arrays import ArraySpec
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.features.feature import CorpusAlignments, Feature
    from tts_prep.preprocess.plan.planned_store import CorpusRows


@dataclass(frozen=True)
class ParsedFeatures:
    """The features requested by options.

    Attributes:
        config: the configuration, with the settings of alignments that change shards.
        alignments: the alignments that change shards, or None.
        recordings: the names of the features that are computed from recordings.
        aligner: the settings of durations that the complete store gives itself; None if they are not requested.
        models: the models that are called with batches of the complete store.
    """

    features: tuple[Feature, ...]
    config: Configuration
    alignments: CorpusAlignments | None
    recordings: tuple[str, ...]
    aligner: Any = None
    models: tuple[Any, ...] = ()


def parse_features(options: Mapping[str, Any], config: Configuration) -> ParsedFeatures:
    """Parse the options of a command for features.

    Raises:
        ConfigurationError: an option is invalid.
    """
    from tts_prep.preprocess.features.registry import get_feature, make_feature, parse_feature

    requested = [*map(parse_feature, options["features"])]
    # One whose row has keys makes an array of each setting, such as mels of several presets.
    rows = doors.rows("features")
    names = [name for name, _ in requested if name not in rows or not rows[name].keys]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"feature: '{repeated}' is repeated; give all of its settings in one option")
    folder, aligner, durations = options["alignments"], None, dict(requested).get("durations")
    if folder is not None and durations is None:
        requested.append(("durations", durations := {}))
    elif folder is None and durations is not None:
        aligner = _aligner(durations, makes_part=bool(options.get("part")))
        requested = [(name, settings) for name, settings in requested if name != "durations"]
    kinds = [(get_feature(name), settings) for name, settings in requested]
    models = tuple(
        doors.need("models", "function")(kind.name, kind.model, texts) for kind, texts in kinds if kind.model
    )
    made = [make_feature(kind.name, texts, config.mel, folder) for kind, texts in kinds if not kind.model]
    made += [doors.need("imports", "array")(text) for text in options["arrays"]]
    alignments = None
    if folder is not None and (aligning := get_feature("durations").configured(durations or {})).changes_mels:
        alignments = doors.need("imports", "alignments")(folder, aligning.as_dict())
        config = replace(config, alignments=aligning.as_dict())
    recordings = tuple(dict.fromkeys(kind.name for kind, _ in kinds if not kind.model and kind.reads == "recording"))
    return ParsedFeatures(tuple(made), config, alignments, recordings, aligner, models)


def _aligner(texts: Mapping[str, str], *, makes_part: bool) -> Any:
    """Return the settings of durations without alignments."""
    from tts_prep.preprocess.features.feature import configured
    from tts_prep.preprocess.features.registry import get_feature

    kind = get_feature("durations")
    trained = kind.trained or doors.need("trained", kind.name, is_record=True)
    settings = configured(kind.name, trained.settings, texts)
    if makes_part:
        raise ConfigurationError(
            "durations: without --alignments, they need the complete store; make the parts without durations, and "
            "add them by 'tts-prep add STORE --feature durations'"
        )
    return settings


def add_models(
    store: Path, parsed: ParsedFeatures, options: Mapping[str, Any], rows: Callable[[], CorpusRows | None], jobs: int
) -> None:
    """Add the outputs of models to a complete store, and print what was added.

    Args:
        rows: returns the rows of the corpus, which each model reads once; or None for the waveforms of the store.
    """
    for model in parsed.models:
        for spec in doors.need("models", "add")(store, model, options, rows(), parsed.alignments, jobs):
            say_array(store, spec, {})


def say_array(store: Path, spec: ArraySpec, remarks: Mapping[str, Any]) -> None:
    """Print a line about an added array, and one about each kind of remark."""
    shape = "".join(f" × {n}" for n in spec.row_shape)
    say(f"{store}: {spec.name}, {spec.dtype}{shape}, by {spec.axis}")
    for remark in remarks.values():
        examples = ", ".join(f"{example['symbol']}: {example['count']:,}" for example in remark["examples"][:4])
        say(f"  {examples}")
