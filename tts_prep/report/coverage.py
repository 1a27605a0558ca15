"""Coverage of texts and phonemes: counts of symbols, diphones and words."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tts_prep.acoustics.phones.symbols import PHONE, is_pause, symbol_kinds
from tts_prep.errors import broken
from tts_prep.loader import UtteranceDataset

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Coverage:
    """Counts of symbols, diphones and words.

    Attributes:
        symbol_counts: [n_symbols] int64, by id.
        never_seen: symbols that do not occur, without padding and symbols that are shadowed by a later id.
        phones: ids of the phones that occur.
        diphone_counts: [n_phones, n_phones] int64, first phone by second, in the order of `phones`. Stress and length
            marks between two phones are ignored; pauses separate them.
        word_counts: counts of words, or of characters in scripts without spaces between words.
        word_unit: "words" or "characters".
    """

    symbol_counts: npt.NDArray[np.int64]
    never_seen: tuple[str, ...]
    phones: tuple[int, ...]
    diphone_counts: npt.NDArray[np.int64]
    word_counts: Counter[str]
    word_unit: str


def cover(dataset: UtteranceDataset) -> Coverage:
    """Count the symbols, diphones and words of a dataset.

    Raises:
        CorruptStoreError: a phoneme id is not in the vocabulary.
    """
    n = len(dataset.symbols)
    phone = symbol_kinds(dataset.symbols, dataset.pad_id) == PHONE
    pause = np.array([is_pause(symbol) for symbol in dataset.symbols], bool)
    # Other symbols (stress, length, tones, spaces) do not separate phones.
    place = np.full(n, -1, np.int64)
    place[phone] = np.arange(phone.sum())
    n_phones = int(phone.sum())
    counts = np.zeros(n, np.int64)
    pairs = np.zeros(n_phones**2, np.int64)
    for start in range(0, len(dataset), _AT_A_TIME):
        texts = dataset[start : start + _AT_A_TIME].views("phonemes")
        ids = np.concatenate([*texts, np.empty(0, np.int32)], dtype=np.int64, casting="same_kind")
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < n:
            raise broken(f"{dataset.path}: a phoneme id is not in the vocabulary")
        counts += np.bincount(ids, minlength=n)
        kept = phone[ids] | pause[ids]
        places, utterances = place[ids[kept]], np.repeat(np.arange(len(texts)), [*map(len, texts)])[kept]
        first, second = places[:-1], places[1:]
        both = (first >= 0) & (second >= 0) & (utterances[:-1] == utterances[1:])
        pairs += np.bincount(first[both] * n_phones + second[both], minlength=n_phones**2)
    used = np.flatnonzero(phone & (counts > 0))
    square = pairs.reshape(n_phones, n_phones)[np.ix_(place[used], place[used])]
    in_use = {symbol: number for number, symbol in enumerate(dataset.symbols)}
    never = tuple(symbol for symbol, number in in_use.items() if not counts[number] and number != dataset.pad_id)
    words, unit = _words(dataset)
    return Coverage(counts, never, tuple(used.tolist()), square, words, unit)


def _words(dataset: UtteranceDataset) -> tuple[Counter[str], str]:
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for text in dataset.text:
        words.update(_WORD.findall(text.casefold()))
        if not text.isascii():
            characters.update(text)
    ideographs = Counter({c: k for c, k in characters.items() if _has_no_spaces(c)})
    if ideographs.total() > sum(len(word) * k for word, k in words.items()) / 2:
        return ideographs, "characters"
    return words, "words"


def _has_no_spaces(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words: Chinese, Japanese, Thai."""
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER", "THAI ")
    )
