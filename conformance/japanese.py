"""Compare the frontend japanese-prosody with ESPnet's pyopenjtalk_g2p_prosody, on sentences and on random texts.

    python conformance/japanese.py ESPNET/espnet2/text/phoneme_tokenizer.py

The function is taken out of the file, whose imports need other packages, and runs as it is, on the text that
`normalize` returns. The texts are the Japanese ones of docs/languages.txt, and 2,000 of random pieces: parts of
these, kana, Chinese characters, numbers and marks.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from definitions import definitions
from packaging.version import parse

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend


def texts() -> Iterator[str]:
    """Yield the texts."""
    rows = (Path(__file__).resolve().parents[1] / "docs" / "languages.txt").read_text(encoding="utf-8").splitlines()
    sentences = [row.partition("|")[2] for row in rows if row.startswith("ja|")]
    yield from sentences
    source = random.Random(0)
    kana = [chr(code) for code in range(0x3042, 0x3094) if chr(code) not in "ぃぅぇぉっゃゅょゎ"]
    for _ in range(2000):
        pieces = []
        for _ in range(source.randint(1, 6)):
            sentence = source.choice(sentences)
            start = source.randrange(len(sentence))
            pieces += source.choice(
                [
                    sentence[start : start + source.randint(1, 8)],
                    "".join(source.choices(kana, k=source.randint(1, 6))),
                    "".join(chr(source.randint(0x4E00, 0x9000)) for _ in range(source.randint(1, 3))),
                    str(source.randint(0, 99999)),
                    source.choice("、。？！…"),
                ]
            )
        yield "".join(pieces)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the frontend japanese-prosody with ESPnet's function.")
    parser.add_argument("file", type=Path, help="phoneme_tokenizer.py of a checkout of ESPnet")
    options = parser.parse_args()
    names = ("pyopenjtalk_g2p_prosody", "_extract_fullcontext_label", "_numeric_feature_by_regex")
    prosody = definitions(options.file, *names, re=re, V=parse).pyopenjtalk_g2p_prosody
    frontend = get_frontend("japanese-prosody")
    n_texts = n_symbols = 0
    refused: Counter[str] = Counter()
    differing = []
    for text in texts():
        spoken = frontend.normalize(text)
        try:
            found = frontend.phoneticize(spoken).split(" ")
        except TextError as error:
            refused[str(error).partition(" in ")[0]] += 1
            continue
        expected = prosody(spoken)
        n_texts += 1
        n_symbols += len(expected)
        if found != expected:
            differing.append(f"{text}\n  {' '.join(found)}\n  {' '.join(expected)}")
    print(f"{n_texts:,} texts, {n_symbols:,} symbols: {len(differing)} texts differ")
    print("refused here:", dict(refused))
    print("\n".join(differing[:10]))


if __name__ == "__main__":
    main()
