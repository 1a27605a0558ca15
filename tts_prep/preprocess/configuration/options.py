"""The options of the settings: name, type and help, once.

Commands, the groups of their help, and the settings that `configure` takes from them follow from this table. It imports
none of the records, because they import NumPy, which a help text does not need; a test compares it with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tts_prep.preprocess.option import Option

MELS: Final = "Mels"
CLEANING: Final = "Cleaning"
TEXTS: Final = "Texts"
STORE: Final = "The store"


def preset_names() -> Iterable[str]:
    """Return the presets, for the completion of a shell."""
    from tts_prep.preprocess.audio.presets import PRESETS

    return PRESETS


def symbol_tables() -> Iterable[str]:
    """Return the symbol tables, for the completion of a shell."""
    from tts_prep.preprocess.text.symbols import AUTO, TABLES

    return (*TABLES, AUTO)


_AUDIO = (
    Option(
        "sample_rate",
        "Resample to this rate.",
        int,
        metavar="HZ",
        group=MELS,
        other_names=("sr", "rate", "fs", "sampling-rate", "samplerate", "resample"),
    ),
    Option("n_fft", "Samples per transform.", int, metavar="N", group=MELS, other_names=("fft", "nfft", "fft-size")),
    Option(
        "win_length", "Samples per window.", int, metavar="N", group=MELS, other_names=("win", "win-size", "window")
    ),
    Option(
        "hop_length",
        "Samples between frames.",
        int,
        metavar="N",
        group=MELS,
        other_names=("hop", "hop-size", "n-shift"),
    ),
    Option(
        "n_mels",
        "Mel bins; --mel none makes a store without mels, of waveforms, tokens, texts and vectors.",
        int,
        flags=("--n-mels", "--mel"),
        metavar="N|none",
        none=True,
        group=MELS,
        other_names=("mels", "num-mels", "mel-bins"),
    ),
    Option("fmin", "Lower end of the filter bank.", float, metavar="HZ", group=MELS),
    Option("fmax", "Upper end of the filter bank.", float, metavar="HZ", group=MELS),
    Option(
        "channel",
        "Use the first channel, the mean of all, or the sum of two divided by √2.  [default: that of the preset]",
        choices=("first", "mean", "power"),
        group=MELS,
    ),
    Option(
        "peak",
        "Scale every recording to this peak (full scale: 1), or do not scale.  [default: that of the preset]",
        float,
        metavar="LEVEL|none",
        none=True,
        group=MELS,
    ),
)
_CLEANING = (
    Option("highpass", "Remove frequencies below this.", float, metavar="HZ", group=CLEANING),
    Option(
        "trim_db",
        "Trim both ends where the level is this far below the loudest frame.",
        float,
        metavar="DB",
        group=CLEANING,
        other_names=("trim", "top-db", "trim-silence"),
    ),
    Option(
        "trim_vad",
        "Trim both ends where speech is less probable than this, such as 0.5; needs the extra 'vad'.",
        float,
        metavar="PROBABILITY",
        group=CLEANING,
        other_names=("vad",),
    ),
    Option(
        "trim_margin",
        "Margin that trimming keeps at both ends.  [default: 0.1]",
        float,
        metavar="SECONDS",
        group=CLEANING,
    ),
    Option("loudness", "Normalize recordings to this integrated loudness.", float, metavar="LUFS", group=CLEANING),
    Option("limiter", "Attenuate peaks above this level, such as -1.", float, metavar="DBFS", group=CLEANING),
)
_TEXT = (
    Option(
        "frontend",
        "Text frontend; 'tts-prep frontends' lists them. tokenizer:FILE gives the ids of a language model's "
        "tokenizer.  [default: that of the language, usually espeak]",
        metavar="NAME",
        group=TEXTS,
        other_names=("g2p", "phonemizer", "phonemize", "phonemes", "text-frontend"),
    ),
    Option(
        "language",
        "Language of texts for which the corpus has none.  [default: that of the corpus, or en-us]",
        metavar="CODE",
        group=TEXTS,
        other_names=("lang", "locale"),
    ),
    Option(
        "normalize",
        "Expand numbers and abbreviations in texts that the corpus does not mark as normalized.  [default: normalize]",
        bool,
        group=TEXTS,
        other_names=("cleaner", "cleaners", "text-cleaners"),
    ),
    Option(
        "symbols",
        "Symbol table: a name in 'tts-prep symbols'; a file with one symbol per line, a voice's .json or a system's "
        "symbols.py; or 'auto' for the symbols of the corpus.  [default: that of the frontend and language]",
        metavar="NAME|FILE|auto",
        values=symbol_tables,
        group=TEXTS,
        other_names=("symbol-table", "vocab", "tokens", "alphabet"),
    ),
    Option(
        "ends",
        "Add the table's start and end symbols to every utterance.  [default: as the table's system does]",
        bool,
        group=TEXTS,
    ),
    Option(
        "blanks",
        "Insert the table's blank between symbols, also at both ends (around), or after the groups of a voice's "
        "pinyin.  [default: none; those of a voice's .json]",
        choices=("none", "between", "around", "groups"),
        group=TEXTS,
        other_names=("add-blank", "blank", "intersperse"),
    ),
    Option(
        "unknown",
        "Let the row fail if a symbol is not in the table, replace the symbol, or drop it.  [default: error]",
        choices=("error", "unk", "drop"),
        group=TEXTS,
    ),
    Option(
        "punctuation",
        "Attach punctuation to words, or separate it by spaces.  [default: that of the preset or frontend]",
        choices=("attached", "separate"),
        group=TEXTS,
    ),
    Option(
        "lexicon",
        "Pronunciations of words, a line each: the word, its phones as the frontend writes them and, after a tab, its "
        "language. CMUdict's and MFA's files are taken, up to 5,000 words.",
        Path,
        metavar="FILE",
        group=TEXTS,
        other_names=("dictionary", "pronunciations", "custom-words"),
    ),
    Option(
        "heteronyms",
        "Read words with two pronunciations, such as English 'close', by the words around them, with espeak.  "
        "[default: as the system of the table, voice or preset does; else yes]",
        bool,
        group=TEXTS,
        other_names=("homographs",),
    ),
    Option(
        "marks",
        "Leave out and count marks that are not speech (<b>, [noise], **), let the row fail, read the phones of "
        "[word](/phones/) and [[phones]], or take all as text. A mark in the table is its symbol.  [default: remove]",
        choices=("remove", "error", "phones", "text"),
        group=TEXTS,
        other_names=("markup", "tags", "inline-phones"),
    ),
    Option("ood_texts", "Out-of-domain texts to phonemize, one per line.", Path, metavar="FILE", group=TEXTS),
)
_STORE = (
    Option(
        "mel_dtype",
        "Dtype of stored mels.  [default: float32]",
        flags=("--dtype",),
        choices=("float32", "float16"),
        group=STORE,
        other_names=("fp16", "half", "float16"),
    ),
    Option(
        "waveform_dtype",
        "Store waveforms, too, with this dtype.",
        flags=("--waveform",),
        choices=("int16", "float32"),
        group=STORE,
        other_names=("wav", "wavs", "waveforms", "audio"),
    ),
    Option(
        "shard_utterances",
        "Number of utterances in a shard, on average; from half to twice as many.  [default: 128]",
        int,
        metavar="N",
        group=STORE,
    ),
)

SETTINGS: Final[Mapping[str, tuple[Option, ...]]] = {
    "audio": _AUDIO,
    "cleaning": _CLEANING,
    "text": _TEXT,
    "store": _STORE,
}
"""The options by the table of their settings in a configuration file; other settings have no option."""
