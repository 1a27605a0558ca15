"""The options of settings, compared with the records of the settings."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest

from tts_prep import doors
from tts_prep.format.layout import ARRAYS
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.config import CHANNELS, MelConfig, ReadingConfig
from tts_prep.preprocess.configuration import SETTINGS
from tts_prep.preprocess.configuration.records import MARKS_POLICIES, StoreConfig, TextConfig
from tts_prep.preprocess.option import Option
from tts_prep.preprocess.text.frontends.frontend import PUNCTUATION_STYLES
from tts_prep.preprocess.text.vocab import BLANKS, UNKNOWN_POLICIES

RECORDS: dict[str, tuple[type[Any], ...]] = {
    "audio": (MelConfig, ReadingConfig),
    "cleaning": (CleaningConfig,),
    "text": (TextConfig,),
    "store": (StoreConfig,),
}
OPTIONS = [(table, option) for table, options in SETTINGS.items() for option in options if option.kind is not Path]
CHOICES = {
    "channel": CHANNELS,
    "blanks": BLANKS,
    "unknown": UNKNOWN_POLICIES,
    "punctuation": PUNCTUATION_STYLES,
    "marks": MARKS_POLICIES,
    "mel_dtype": ARRAYS["mel"].dtypes,
    "waveform_dtype": ARRAYS["waveform"].dtypes,
}


def field_of(table: str, option: Option) -> tuple[Any, tuple[type, ...]]:
    """Return the default and the types of the setting that an option sets."""
    (record,) = [record for record in RECORDS[table] if option.name in {field.name for field in fields(record)}]
    (default,) = [
        field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(record)
        if field.name == option.name
    ]
    hint = get_type_hints(record)[option.name]
    return default, get_args(hint) or (hint,)


@pytest.mark.parametrize(("table", "option"), OPTIONS, ids=lambda value: getattr(value, "name", value))
def test_an_option_sets_a_field_of_its_table_and_has_its_type_and_default(table: str, option: Option) -> None:
    default, kinds = field_of(table, option)
    assert option.kind in kinds
    # A store without mels has 0 bins.
    assert not option.none or NoneType in kinds or option.name == "n_mels"
    assert option.default is None
    shown = re.search(r"\[default: (\S+)]$", option.help)
    # Where no room reads marks, they stay.
    if shown and shown[1] != "normalize" and (option.name != "marks" or doors.row("words", "marks")):
        assert shown[1] == str(default)
    assert set(option.choices) == set(CHOICES.get(option.name, ()))


def test_every_choice_is_compared() -> None:
    assert {option.name for _, option in OPTIONS if option.choices} == set(CHOICES)
