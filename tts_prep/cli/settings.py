"""What the options of a command choose: the settings of a store, the files of splits, and corrections."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tts_prep import doors
from tts_prep.errors import ConfigurationError
from tts_prep.format.layout import CORRECTIONS
from tts_prep.format.records.manifest import read_manifest
from tts_prep.preprocess.configuration.options import SETTINGS
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.configuration.settings import configure, read_config_file
from tts_prep.preprocess.configuration.text_of_corpus import text_of_corpus


@dataclass(frozen=True)
class ChosenSettings:
    """The settings of a run, and which of them are not the default's.

    Attributes:
        splits: the files of ids by split.
        preset_is_chosen: the mels are those of an option or a file of settings.
        language_is_given: the language of texts is that of an option, a file of settings or the corpus.
    """

    config: Configuration
    splits: Mapping[str, Path]
    preset_is_chosen: bool
    language_is_given: bool


def chosen_settings(
    reader: str,
    corpus: Path,
    options: Mapping[str, Any],
    root: Path | None = None,
    reader_options: Mapping[str, Any] | None = None,
) -> ChosenSettings:
    """Return the settings of the options of a command, which override those of the file and of the corpus."""
    splits = split_lists(options["splits"])
    file = read_config_file(options["config"]) if options["config"] else None
    in_file: Mapping[str, Any] = file.tables if file else {}
    like = None
    if options["like"]:
        like = Configuration.from_dict(options["like"], read_manifest(options["like"]).configuration)
    of_corpus = text_of_corpus(reader, corpus, reader_options, root=root, limit=options["limit"])
    config = configure(
        reader,
        limit=options["limit"],
        preset=options["preset"],
        vocoder=options["vocoder_config"],
        file=file,
        settings={
            table: {option.name: options[option.name] for option in known if options[option.name] is not None}
            for table, known in SETTINGS.items()
        },
        options=reader_options,
        splits=splits,
        text=of_corpus,
        like=like,
    )
    return ChosenSettings(
        config,
        splits,
        preset_is_chosen=bool(
            options["preset"] or options["vocoder_config"] or like or in_file.keys() & {"preset", "audio"}
        ),
        language_is_given=bool(options["language"] or like or "language" in {**in_file.get("text", {}), **of_corpus}),
    )


def corrections_of(store: Path, options: Mapping[str, Any]) -> Any:
    """Return what the store shall have otherwise than its corpus, which an update keeps; None if that is nothing."""
    is_kept = options["update"] and os.path.lexists(store / CORRECTIONS)
    if options["corrections"] is None and options["exclude"] is None and not is_kept:
        return None
    return doors.need("corrections", "chosen")(store, options)


def split_lists(values: Iterable[str]) -> dict[str, Path]:
    """Parse values of ``--split NAME=FILE``.

    Raises:
        ConfigurationError: a value is malformed, or a name is repeated.
    """
    lists: dict[str, Path] = {}
    for value in values:
        name, equals, file = value.partition("=")
        if not (name and equals and file) or name in lists:
            raise ConfigurationError(f"split: expected NAME=FILE, each name once, found {value!r}")
        lists[name] = Path(file)
    return lists
