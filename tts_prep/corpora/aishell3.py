"""The AISHELL-3 corpus: 218 speakers of Mandarin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tts_prep.corpora.baker import PINYIN, TEXT, TEXTS
from tts_prep.corpora.subsets import chosen_subsets, subset_option
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import Corpus
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.source_utterance import SourceUtterance

_SUBSETS: Final = ("train", "test")
_SPEAKER_LENGTH: Final = len("SSB0005")


def read_aishell3(root: Path, subsets: Sequence[str] = (), text: str = "pinyin") -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``train/content.txt`` and ``test/content.txt``.

    A line is ``SSB00050001.wav<tab>广 guang3 州 zhou1``. Recordings are ``<subset>/wav/<speaker>/<id>.wav``;
    the speaker is the first seven characters of the id. The subset becomes the column ``split``; ``spk-info.txt`` gives
    ``age_group`` (A below 14, B 14 to 25, C 26 to 40, D above), ``gender`` and ``accent``. Texts have no punctuation.

    Args:
        subsets: ``"train"`` or ``"test"``; default: all that exist.
        text: ``"pinyin"``: the text is the pinyin, and the characters become the column ``characters``;
            ``"characters"``: the text is the characters, and the pinyin becomes the column ``pinyin``.

    Raises:
        CorpusError: the folder is not an AISHELL-3 corpus.
        ConfigurationError: a subset does not exist, or ``text`` is not one of `TEXTS`.
    """
    if text not in TEXTS:
        raise ConfigurationError(f"text: expected one of {', '.join(TEXTS)}, found {text!r}")
    existing = [name for name in _SUBSETS if (root / name / "content.txt").exists()]
    if not existing:
        raise CorpusError(f"{root}: expected the AISHELL-3 corpus, with train/content.txt or test/content.txt")
    chosen = chosen_subsets(root, existing, subsets)
    speakers = _read_speakers(root / "spk-info.txt")
    for subset in chosen:
        for place, line in read_lines(root / subset / "content.txt"):
            where = f"{subset}/{place}"
            yield line if isinstance(line, Failure) else _parse(where, subset, line, text, speakers)


def _parse(
    where: str, subset: str, line: str, text: str, speakers: dict[str, dict[str, str]]
) -> SourceUtterance | Failure:
    name, tab, content = line.strip().partition("\t")
    identifier = name.removesuffix(".wav")
    tokens = content.split()
    if not tab or not tokens or len(tokens) % 2:
        reason = f"{where}: expected '<id>.wav<tab>character pinyin character pinyin …', found {line[:60]!r}"
        return Failure(identifier, where, "corpus", reason)
    wrong = [token for token in tokens[1::2] if not PINYIN.fullmatch(token)]
    if wrong:
        reason = f"{where}: expected pinyin with a tone after each character, found {wrong[0]!r}"
        return Failure(identifier, where, "corpus", reason)
    characters, pinyin = "".join(tokens[::2]), " ".join(tokens[1::2])
    speaker = identifier[:_SPEAKER_LENGTH]
    chosen, column, other = (pinyin, "characters", characters) if text == "pinyin" else (characters, "pinyin", pinyin)
    meta = {"split": subset, **speakers.get(speaker, {}), column: other}
    audio = f"{subset}/wav/{speaker}/{identifier}.wav"
    return SourceUtterance(identifier, chosen, audio, where, speaker, meta, normalized=text == "pinyin")


def _read_speakers(path: Path) -> dict[str, dict[str, str]]:
    """Return speaker → columns from lines such as ``SSB0005 B female north``; lines that start with # are comments."""
    speakers: dict[str, dict[str, str]] = {}
    for where, line in read_lines(path) if path.exists() else ():
        if isinstance(line, Failure):
            raise CorpusError(line.reason)
        fields = line.split()
        if fields[0].startswith("#"):
            continue
        if len(fields) != 4:
            raise CorpusError(f"{where}: expected 'speaker age-group gender accent', found {len(fields)} fields")
        speakers[fields[0]] = dict(zip(("age_group", "gender", "accent"), fields[1:], strict=True))
    return speakers


CORPUS = Corpus(
    "aishell3",
    read_aishell3,
    r"""Make STORE of the AISHELL-3 corpus of Mandarin at CORPUS.

    CORPUS contains train and test, each with content.txt and wav/<speaker>/<id>.wav, and spk-info.txt. The
    subset becomes the column split; age group, gender and accent of the speakers are columns too.

    \b
    Example:
      tts-prep aishell3 data_aishell3 store --subset train
    """,
    options=(subset_option("train"), TEXT),
    languages=("zh",),
)
