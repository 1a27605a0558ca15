"""Count the heteronyms that the rules of `arpabet` read as annotators did, in Wikipedia Homograph Data.

    git clone https://github.com/google-research-datasets/WikipediaHomographData
    python conformance/heteronyms.py WikipediaHomographData/data/eval

The data are by K. Gorman and others, under Apache-2.0: sentences of Wikipedia, in each of which the pronunciation of
one word is marked. Counted are the words that the rules know. "First" is the first pronunciation of the dictionary.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from pathlib import Path

from tts_prep.english.arpabet import cmu_dictionary
from tts_prep.english.heteronyms import HETERONYMS, choose_pronunciations

# The pronunciations that are the second one of the rules; beside them the verbs, whose names end with _vrb.
_SECOND = {"bass_corp", "bow_nou-ship", "content_adj-nou-vrb", "lead_nou-vrb", "minute_adj", "read_present", "sow"}
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s\"'()]")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the rules for heteronyms with annotated sentences.")
    parser.add_argument("folder", type=Path, help="the folder of Wikipedia Homograph Data with a table for each word")
    folder = parser.parse_args().folder
    paths = [path for path in sorted(folder.glob("*.tsv")) if path.stem in HETERONYMS]
    if not paths:
        parser.error(f"{folder}: no table of a word that the rules know, such as lead.tsv")
    n, n_first, n_right = 0, 0, 0
    errors: Counter[str] = Counter()
    for path in paths:
        word = path.stem
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        for row in rows:
            wanted = HETERONYMS[word][row["wordid"] in _SECOND or row["wordid"].endswith("_vrb")]
            # The position is in bytes.
            start = len(row["sentence"].encode()[: int(row["start"])].decode())
            tokens = list(_TOKEN.finditer(row["sentence"]))
            chosen = choose_pronunciations([token[0].lower() for token in tokens])
            got = [phones for i, phones in chosen.items() if tokens[i].start() == start]
            n += 1
            n_first += _same(cmu_dictionary()[word], wanted)
            n_right += got == [wanted]
            errors[word] += got != [wanted]
    print(f"{n} sentences; first {n_first} ({n_first / n:.1%}), rules {n_right} ({n_right / n:.1%})")
    print(", ".join(f"{word} {count}" for word, count in errors.most_common(10)))


def _same(first: str, second: str) -> bool:
    """Compare without regard to the two spellings of an unstressed vowel."""
    return first.replace("IH0", "AH0") == second.replace("IH0", "AH0")


if __name__ == "__main__":
    main()
