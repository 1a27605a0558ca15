"""What the core brings through its own doors, in the form in which rooms and other packages bring theirs."""

from typing import Final

from tts_prep.doors import Room, Row

_FRONTENDS: Final = "tts_prep.preprocess.text.frontends"
_FEATURES: Final = "tts_prep.preprocess.features"

MAKE: Final = "Make, complete or extend a store"
INSPECT: Final = "Inspect a store"
VERIFY: Final = "Verify and repair a store"
EXPORT: Final = "Export a store"
LISTS: Final = "List values of options"
"""The titles of commands, in the order of the help."""

ROOM: Final = Room(
    {
        "commands": (Row("finish", "tts_prep.cli.commands:finish", group=MAKE),),
        "corpora": (Row("ljspeech", "tts_prep.preprocess.corpora.ljspeech:CORPUS"),),
        "frontends": (
            Row("espeak", f"{_FRONTENDS}.espeak:EspeakFrontend", "IPA by espeak-ng, in over 100 languages"),
            Row("characters", f"{_FRONTENDS}.plain:CharactersFrontend", "the letters of the text"),
            Row("phonemes", f"{_FRONTENDS}.plain:PhonemesFrontend", "texts that are already phonemes"),
            Row("none", f"{_FRONTENDS}.plain:NoFrontend", "no phonemes, for recordings without texts"),
        ),
        "features": (Row("energy", f"{_FEATURES}.energy:KIND"),),
    },
    libraries={
        **dict.fromkeys(("joblib", "librosa", "llvmlite", "numba", "scipy", "soundfile", "soxr", "tqdm"), "prepare"),
        **dict.fromkeys(("espeakng_loader", "phonemizer"), "prepare"),
    },
)
