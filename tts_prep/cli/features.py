"""The options ``--feature``, ``--alignments`` and ``--array``, and the features that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tts_prep.errors import ConfigurationError

if TYPE_CHECKING:
    from tts_prep.preprocess.configuration.records import Configuration
    from tts_prep.preprocess.features.alignments.applying import Alignments
    from tts_prep.preprocess.features.feature import Feature

FEATURE_OPTIONS = (
    click.option(
        "--feature",
        "features",
        multiple=True,
        metavar="NAME[:KEY=VALUE,…]",
        help="Add pitch, energy, durations or spectrogram, such as pitch:algorithm=harvest,floor=80.",
    ),
    click.option(
        "--alignments",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="TextGrids or durations, one file an id, or a CTM file; adds durations.",
    ),
    click.option(
        "--array",
        "arrays",
        multiple=True,
        metavar="NAME[@AXIS]=PATH",
        help="Add an array made elsewhere, by id; AXIS is frame, phoneme, sample, utterance or own.",
    ),
)


@dataclass(frozen=True)
class AskedFeatures:
    """What the options ask for.

    Attributes:
        config: the configuration, with the settings of alignments that change shards.
        alignments: these alignments; None where there are none.
        recordings: the names of the features that are computed from recordings.
    """

    features: tuple[Feature, ...]
    config: Configuration
    alignments: Alignments | None
    recordings: tuple[str, ...]


def asked_features(options: Mapping[str, Any], config: Configuration) -> AskedFeatures:
    """Return the features that the options of a command ask for.

    Raises:
        ConfigurationError: an option cannot be used; the message says why.
    """
    from tts_prep.preprocess.features.alignments.alignment import AlignmentFolder
    from tts_prep.preprocess.features.alignments.applying import Alignments
    from tts_prep.preprocess.features.registry import alignment_config, make_feature, make_imported, parse_feature

    wanted: dict[str, dict[str, str]] = {}
    for text in options["features"]:
        name, settings = parse_feature(text)
        if name in wanted:
            raise ConfigurationError(f"feature: '{name}' stands twice; give all of its settings at once")
        wanted[name] = settings
    folder = options["alignments"]
    if folder is not None:
        wanted.setdefault("durations", {})
    made = [make_feature(name, settings, config.mel, folder) for name, settings in wanted.items()]
    made += [make_imported(text) for text in options["arrays"]]
    alignments = None
    if folder is not None and (aligning := alignment_config(wanted["durations"])).changes_mels:
        alignments = Alignments(AlignmentFolder.open(folder), aligning)
        config = replace(config, alignments=aligning.as_dict())
    recordings = tuple(name for name in wanted if name != "durations")
    return AskedFeatures(tuple(made), config, alignments, recordings)
