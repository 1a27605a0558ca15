"""Notes about probable mistakes, before a run: settings, recordings and texts that do not suit one another."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tts_prep import doors
from tts_prep.cli.preparing import ChosenSettings
from tts_prep.errors import ConfigurationError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.filter_bank import filter_bank
from tts_prep.preprocess.configuration.records import Configuration, TextConfig
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.preprocess.text import language_codes
from tts_prep.preprocess.text.frontends.frontend import NO_PHONEMES

_MAX_TEXTS = 200


def watched(
    rows: CorpusRows, settings: ChosenSettings, report: Callable[[str], None]
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus, and report on recordings and texts that do not suit the settings.

    Raises:
        ConfigurationError: the texts are of another language than the settings, which do not say so.
    """
    config = settings.config
    items = report_low_rate(iter(rows.items), rows.root, config.mel.sample_rate, report)
    items = report_kinds_of_texts(items, config.text, report)
    frontend = config.text.frontend_name
    has_languages = not getattr(config.text.symbols, "is_tokenizer", False)
    if frontend in doors.rows("frontends") and frontend not in (NO_PHONEMES, "phonemes") and has_languages:
        items = report_foreign_texts(items, config.text, report, is_given=settings.language_is_given)
    return items


def notes(corpus: Path, store: Path, config: Configuration) -> list[str]:
    """Return notes about probable mistakes."""
    mel, text = config.mel, config.text
    found = []
    if text.frontend_name == "espeak" and (lacks := language_codes.espeak_lacks(text.language)):
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


def report_kinds_of_texts(
    items: Iterator[SourceUtterance | Failure], text: TextConfig, report: Callable[[str], None]
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus, and report if most texts are of a kind that the frontend takes for another one."""
    frontend = text.frontend_name
    found = dict.fromkeys(TEXT_KINDS, 0)
    first: list[str] = []
    for item in items:
        if isinstance(item, SourceUtterance) and len(first) < _MAX_TEXTS:
            first.append(item.text)
            for kind in TEXT_KINDS:
                found[kind] += bool(kind.is_of(item.text))
        yield item
    if frontend == NO_PHONEMES:
        return
    for kind, count in found.items():
        if 2 * count > len(first) and not kind.is_read(frontend, text.language):
            report(f"note: most texts look like {kind.name}; {frontend} takes them for texts, {kind.instead}")
    phonetic = [count for kind, count in found.items() if kind.read_by == "phonemes"]
    if frontend == "phonemes" and text.symbols is None and first and not any(phonetic):
        report("note: no text has a phonetic symbol (IPA); --frontend phonemes takes texts letter by letter")


def report_foreign_texts(
    items: Iterator[SourceUtterance | Failure], text: TextConfig, report: Callable[[str], None], *, is_given: bool
) -> Iterator[SourceUtterance | Failure]:
    """Yield the rows of a corpus, and report if most of the first texts seem to be in another language.

    Texts that name their own language are left out.

    Args:
        is_given: somebody has given the language, so that it is right, or a mistake to be named.

    Raises:
        ConfigurationError: nobody has, and it seems to be another one.
    """
    first: list[str] = []

    def check() -> None:
        if not (found := language_of_texts(first, text.language)):
            return
        seems = f"the texts seem to be in {found!r}, such as {first[0][:60]!r}, and"
        if is_given:
            report(f"note: {seems} are read in {text.language!r}; --language {found} reads them in that")
            return
        raise ConfigurationError(
            f"language: {seems} would be read in {text.language!r}; give --language {found}, or "
            f"--language {text.language} if it is right"
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


# "ni3 hao3": at least half of the words of a text.
_PINYIN: Final = re.compile(r"\b[a-zü]{1,6}[1-5]\b")

_PHONETIC: Final = frozenset("ˈˌːəɪʊɐɑʌɜɚɹɾʃʒ")
"""Symbols of the International Phonetic Alphabet that no common orthography has."""
_RECORDING: Final = re.compile(r"[^\s|]+\.(?:wav|flac|mp3|ogg|opus|m4a)", re.IGNORECASE)


@dataclass(frozen=True)
class TextKind:
    """A kind of texts that are no sentences of a language.

    Attributes:
        name: what the texts look like.
        is_of: whether a text is of this kind.
        instead: what to do with it.
        read_by: the frontend that reads it, if one does.
        read_in: the language whose frontends read it, if it is of one.
    """

    name: str
    is_of: Callable[[str], object]
    instead: str
    read_by: str = ""
    read_in: str = ""

    def is_read(self, frontend: str, language: str) -> bool:
        """Return whether a frontend reads such texts as what they are."""
        return frontend == self.read_by or (self.read_in != "" and language_codes.subtags(language)[0] == self.read_in)


TEXT_KINDS: Final = (
    TextKind("phonemes (IPA)", _PHONETIC.intersection, "--frontend phonemes does not", "phonemes"),
    TextKind(
        "ARPAbet",
        lambda text: language_codes.arpabet_phones(text),
        "--frontend phonemes --symbols parakeet does not",
        "phonemes",
    ),
    TextKind("pinyin with tones", language_codes.is_pinyin, "--language zh does not", "phonemes", "zh"),
    TextKind("labels with times", language_codes.is_labels, "and numbers for words"),
    TextKind("paths of recordings", _RECORDING.fullmatch, "so look at the order of the columns"),
)
"""What frontends would misread without a remark."""


_KANA: Final = re.compile(r"[\u3041-\u30ff]")
_HANZI: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_ENOUGH_HANZI: Final = 20
_ENOUGH_OF_ALL: Final = 5
"""The number of common words of another language in all texts, from which they are suspicious."""


def language_of_texts(texts: Iterable[str], language: str) -> str | None:
    """Return the language that the texts of a corpus seem to have, if it is not the one that they are read in.

    Many texts together show a language better than each of them: common words are counted in all. Pinyin with tones is
    ``zh``, and so are texts without any kana that are to be Japanese.
    """
    own = language_codes.subtags(language)[0]
    found: Counter[str] = Counter()
    n_words = n_pinyin = n_hanzi = n_kana = 0
    for text in texts:
        if own == "ja":
            n_kana += len(_KANA.findall(text))
            n_hanzi += len(_HANZI.findall(text))
        lower = text.lower()
        words = language_codes.WORD.findall(lower)
        n_words += len(words)
        n_pinyin += len(_PINYIN.findall(lower))
        if language_codes.is_comparable(text, language):
            found.update(filter(None, map(language_codes.COMMON.get, words)))
    if own not in ("zh", "cmn") and n_words >= _ENOUGH_OF_ALL and 2 * n_pinyin > n_words:
        return "zh"
    if n_hanzi >= _ENOUGH_HANZI and not n_kana:
        return "zh"
    return language_codes.other_language(found, own, _ENOUGH_OF_ALL)
