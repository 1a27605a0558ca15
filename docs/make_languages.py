"""Speak five sentences in each of 32 languages with what a language has by default, and write a table of it.

    python docs/make_languages.py [--base CHECKOUT]

With another checkout of tts-prep, its espeak frontend speaks the same sentences, and the table says how many rows
passed there and how many of those differ now.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from tts_prep.errors import TextError
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.text.frontends.frontend import (
    OTHER_LANGUAGE,
    UNKNOWN_SYMBOLS,
    UNSPOKEN_CHARACTERS,
    default_frontend,
)

SENTENCES = Path(__file__).with_name("languages.txt")

BASE = """
import json, sys
from tts_prep.preprocess import get_frontend
frontends, found = {}, []
for language, text in json.load(sys.stdin):
    frontend = frontends.setdefault(language, get_frontend("espeak", language=language))
    try:
        phonemes = frontend.phoneticize(frontend.normalize(text))
        found.append([phonemes, frontend.numericalize(phonemes).tolist()])
    except Exception:
        found.append(None)
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, metavar="CHECKOUT")
    options = parser.parse_args()
    rows = [line.split("|") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    earlier: list[list[object] | None] = [None] * len(rows)
    if options.base:
        done = subprocess.run(
            [sys.executable, "-c", BASE],
            input=json.dumps(rows),
            capture_output=True,
            text=True,
            check=True,
            cwd=options.base,
            env={"PYTHONPATH": str(options.base)},
        )
        earlier = json.loads(done.stdout)
    print(
        "| language | frontend | passed | unknown symbols | characters not spoken | in another language "
        "| passed before | changed |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    number = 0
    totals = [0] * 7
    for language, group in groupby(rows, lambda row: row[0]):
        frontend = get_frontend(language=language)
        counts = [0] * 7
        for _, text in group:
            counts[0] += 1
            before = earlier[number]
            number += 1
            spoken = frontend.normalize(text)
            ids = phonemes = None
            try:
                phonemes = frontend.phoneticize(spoken)
                kinds = [kind for kind, _ in frontend.remarks(spoken, phonemes, language)]
                for i, kind in enumerate((UNKNOWN_SYMBOLS, UNSPOKEN_CHARACTERS, OTHER_LANGUAGE)):
                    counts[2 + i] += kinds.count(kind)
                ids = frontend.numericalize(phonemes).tolist()
                counts[1] += 1
            except TextError as error:
                print(f"{language}: {text}: {error}", file=sys.stderr)
            counts[5] += before is not None
            if before is not None and [phonemes, ids] != before:
                counts[6] += 1
                print(f"{language}: {text}\n  {before[0]}\n  {phonemes}", file=sys.stderr)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        print(
            f"| `{language}` | `{default_frontend(language)}` | {counts[1]} | "
            + " | ".join(map(str, counts[2:]))
            + " |"
        )
    print(f"| all | | {totals[1]} of {totals[0]} | " + " | ".join(map(str, totals[2:])) + " |")


if __name__ == "__main__":
    main()
