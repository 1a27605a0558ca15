"""Compare the phones of frontends with those of the Montreal Forced Aligner's dictionary; print a markdown table.

    python conformance/aligner_lexicon.py ljspeech-mfa-phones.txt

Each line of the file is ``id|phones|text``, with phones of ARPAbet and ``sp`` for pauses: the first 1,000 lines of
``preprocessed_data/LJSpeech`` of github.com/ming024/FastSpeech2, sorted by id. Stress and pauses are not compared. The
phones of espeak-ng are written as ARPAbet by the table below; their marks of stress and length are dropped.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from tts_prep.preprocess.text.frontends.frontend import get_frontend

PAUSES: Final = {"sp", "sil", "spn", ""}
N_SHOWN: Final = 8

_TABLE: Final = """
aɪə AY AH; aɪɚ AY ER; aɪ AY; aʊ AW; eɪ EY; oʊ OW; ɔɪ OY; dʒ JH; tʃ CH; iə IY AH; əl AH L; n̩ AH N; l̩ AH L
ɑːɹ AA R; ɔːɹ AO R; oːɹ AO R; ɛɹ EH R; ɪɹ IH R; ʊɹ UH R
ɑ AA; æ AE; ʌ AH; ə AH; ɐ AH; ɔ AO; ɛ EH; ɜ ER; ɚ ER; ɪ IH; ᵻ IH; i IY; ʊ UH; u UW; o AO; a AA; e EH
b B; d D; ð DH; f F; ɡ G; h HH; k K; l L; m M; n N; ŋ NG; p P; ɹ R; r R; s S; ʃ SH; t T; ɾ T; θ TH; v V; w W; j Y
z Z; ʒ ZH; ʔ T; x K
"""
IPA: Final = {entry.split()[0]: " ".join(entry.split()[1:]) for entry in _TABLE.strip().replace("\n", ";").split(";")}
"""The phones of espeak-ng's ``en-us`` as ARPAbet; the longest one that fits counts."""

_PHONE: Final = re.compile("|".join(sorted(map(re.escape, IPA), key=len, reverse=True)))
_LENGTH: Final = re.compile("(?<!ɑ)(?<!ɔ)(?<!o)ː|ː(?!ɹ)|[ˈˌ]")


def from_arpabet(phonemes: str) -> list[str]:
    """Return the phones of the frontend ``arpabet``, without stress."""
    names = (re.sub("[0-9]+$", "", name) for name in phonemes.split())
    return [name for name in names if name.isalpha() and name.isupper()]


def from_ipa(phonemes: str) -> list[str]:
    """Return the phones of the frontend ``espeak`` as ARPAbet."""
    return " ".join(IPA[phone] for phone in _PHONE.findall(_LENGTH.sub("", phonemes))).split()


def compare(found: Sequence[str], expected: Sequence[str], others: Counter[str]) -> int:
    """Return the number of phones that agree, and count the differences."""
    matcher = SequenceMatcher(None, found, expected, autojunk=False)
    for kind, first, last, start, stop in matcher.get_opcodes():
        if kind != "equal":
            others[f"{' '.join(found[first:last]) or '–'} / {' '.join(expected[start:stop]) or '–'}"] += 1
    return sum(block.size for block in matcher.get_matching_blocks())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phones", type=Path)
    rows = [line.split("|") for line in parser.parse_args().phones.read_text("utf-8").splitlines()]
    print("| frontend | utterances | phones of the aligner | of the frontend | equal | most frequent others |")
    print(f"|{' --- |' * 6}")
    readers: tuple[tuple[str, Callable[[str], list[str]]], ...] = (("arpabet", from_arpabet), ("espeak", from_ipa))
    for name, read in readers:
        frontend = get_frontend(name, language="en-us")
        n_found = n_expected = n_equal = 0
        others: Counter[str] = Counter()
        for _, phones, text in rows:
            expected = [re.sub("[0-9]+$", "", phone) for phone in phones.split() if phone not in PAUSES]
            found = read(frontend.phoneticize(frontend.normalize(text)))
            n_found, n_expected = n_found + len(found), n_expected + len(expected)
            n_equal += compare(found, expected, others)
        shown = ", ".join(f"{pair} {count}" for pair, count in others.most_common(N_SHOWN))
        share = f"{100 * n_equal / n_expected:.1f} %"
        print(f"| `{name}` | {len(rows):,} | {n_expected:,} | {n_found:,} | {share} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
