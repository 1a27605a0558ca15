"""The first lines of a run: a summary of its settings, and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tts_prep.cli.verbosity import say
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.filter_bank import filter_bank
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.corpora.source_utterance import SourceUtterance
from tts_prep.preprocess.make.shard_run import Progress
from tts_prep.preprocess.text.language_codes import espeak_lacks
from tts_prep.preprocess.text.scripts import arpabet_phones, language_of_texts
from tts_prep.quantities import values_text

_PHONETIC = frozenset("ˈˌːəɪʊɐɑʌɜɚɹɾʃʒ")
"""Symbols of the International Phonetic Alphabet that no common orthography has."""

TEXT_FRONTENDS = ("espeak", "arpabet", "characters")
"""Frontends that read texts of several languages."""
_MAX_TEXTS = 200


def settings_text(corpus: Path, config: Configuration, *, preset_is_chosen: bool) -> str:
    """Return one line about the corpus and the main settings of a run."""
    text = config.text
    preset = config.preset or "none"
    if not preset_is_chosen:
        preset += " (the default; a vocoder needs its own, see 'tts-prep presets')"
    return (
        f"corpus: {config.corpus} {corpus}; preset: {preset}; frontend: {text.frontend_name}, "
        f"language {text.language}{'' if text.normalize else ', texts unchanged'}"
        + (f"; cleaning: {values_text(cleaning)}" if (cleaning := config.cleaning.as_dict()) else "")
    )


def notes(corpus: Path, store: Path, config: Configuration) -> list[str]:
    """Return notes about probable mistakes."""
    mel, text = config.mel, config.text
    found = []
    if text.frontend_name == "espeak" and (lacks := espeak_lacks(text.language)):
        found.append(f"note: phones of espeak-ng for '{text.language}' are incomplete: {lacks}")
    if corpus.is_dir() and store.absolute().resolve().is_relative_to(corpus.absolute().resolve()):
        found.append(f"note: the store {store} is inside the corpus")
    if n_empty := int(np.count_nonzero(np.diff(filter_bank(mel).offsets) == 0)):
        found.append(
            f"note: {n_empty} of {mel.n_mels} mel bins contain no frequency of n_fft {mel.n_fft}, and have the same "
            "value in every frame; use fewer n_mels, or a larger n_fft"
        )
    return found


def report_low_rate(
    items: Iterator[SourceUtterance | Failure], folder: Path, sample_rate: int, report: Callable[[str], None]
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus, and report if the sample rate of the first recording is lower than that of the mels.

    Args:
        folder: the folder of relative audio paths.
        sample_rate: the sample rate of the mels, Hz.
    """
    is_first = True
    for item in items:
        if is_first and isinstance(item, SourceUtterance) and not item.inside:
            is_first = False
            rate = _rate(folder / item.audio)
            if rate and rate < sample_rate:
                report(
                    f"note: {item.audio} has {rate:,} Hz and is resampled to {sample_rate:,} Hz; "
                    f"above {rate // 2:,} Hz its mels are empty"
                )
        yield item


def report_phonetic_texts(
    items: Iterator[SourceUtterance | Failure], text: TextConfig, report: Callable[[str], None]
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus, and report if the frontend expects texts and gets phonemes, or the reverse."""
    frontend = text.frontend_name
    n_texts = n_phonetic = n_arpabet = 0
    for item in items:
        if isinstance(item, SourceUtterance) and n_texts < _MAX_TEXTS:
            n_texts += 1
            n_phonetic += bool(_PHONETIC.intersection(item.text))
            n_arpabet += bool(arpabet_phones(item.text))
        yield item
    if frontend in TEXT_FRONTENDS and 2 * n_phonetic > n_texts:
        report(
            f"note: most texts look like phonemes (IPA); {frontend} takes them for texts, --frontend phonemes does not"
        )
    if frontend in TEXT_FRONTENDS and 2 * n_arpabet > n_texts:
        report(
            f"note: most texts look like ARPAbet; {frontend} takes them for texts, --frontend phonemes --symbols "
            "parakeet does not"
        )
    if frontend == "phonemes" and text.symbols is None and n_texts and not n_phonetic + n_arpabet:
        report("note: no text has a phonetic symbol (IPA); --frontend phonemes takes texts letter by letter")


def refuse_foreign_texts(
    items: Iterator[SourceUtterance | Failure], text: TextConfig
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus whose language nobody has given.

    Raises:
        ConfigurationError: most of the first texts without a language of their own seem to be in another one.
    """
    first: list[str] = []

    def check() -> None:
        if found := language_of_texts(first, text.language):
            raise ConfigurationError(
                f"language: the texts seem to be in '{found}', such as {first[0][:60]!r}, and would be read in "
                f"{text.language!r}; give --language {found}, or --language {text.language} if it is right"
            )

    for item in items:
        if isinstance(item, SourceUtterance) and not item.language and len(first) < _MAX_TEXTS:
            first.append(item.text)
            if len(first) == _MAX_TEXTS:
                check()
        yield item
    if len(first) < _MAX_TEXTS:
        check()


def _rate(path: Path) -> int:
    import soundfile

    try:
        return int(soundfile.info(path).samplerate) if path.is_file() else 0
    except (soundfile.SoundFileError, OSError, ValueError):
        return 0


def with_first_lines(lines: list[str], progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Return a callback that prints lines and the number of rows before it first shows progress.

    Args:
        lines: the lines, which may grow until then; cleared after printing.
        progress: the callback that shows progress.
    """

    def show(now: Progress) -> None:
        if lines:
            say("\n".join([*lines, f"rows: {now.total:,}"]))
            lines.clear()
        progress(now)

    return show
