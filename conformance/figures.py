"""Score figures of other languages than English on the test cases of NeMo's and XTTS's normalization.

    python conformance/figures.py [--nemo FOLDER] [--coqui FOLDER] [--wrong]

FOLDER are checkouts of NVIDIA/NeMo-text-processing (``tests/nemo_text_processing/LANGUAGE/data_text_normalization``)
and of coqui-ai/TTS (``TTS/tts/layers/xtts/tokenizer.py``). A case is right if the words are those of one of its
readings: case, spaces, hyphens and punctuation are not compared.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tts_prep import doors
from tts_prep.preprocess.text.language_codes import normalize

LANGUAGES = tuple(row.name for row in doors.rooms()["figures"].rows["languages"])
KINDS = ("cardinal", "date", "decimal", "measure", "money", "ordinal", "time", "range")


def of_nemo(root: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield language, kind, text and readings. Russian files have the reading first, as those of its grammar do."""
    for language in LANGUAGES:
        for kind in KINDS:
            folder = root / "tests" / "nemo_text_processing" / language / "data_text_normalization"
            path = folder / f"test_cases_{kind}.txt"
            for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
                written, *readings = line.split("~")
                if not re.search(r"\d", written):
                    written, readings = readings[0] if readings else "", [written]
                if re.search(r"\d", written):
                    yield language, kind, written, readings


def of_coqui(root: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield the cases of the three functions of tests in the tokenizer's file."""
    tree = ast.parse((root / "TTS" / "tts" / "layers" / "xtts" / "tokenizer.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "test_cases":
            for written, reading, language in ast.literal_eval(node.value):
                if language in LANGUAGES:
                    yield language, "xtts", written, [reading]


def words(text: str) -> str:
    """Return the letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text.lower())


def main() -> None:
    """Print the share of right cases by language and kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nemo", type=Path)
    parser.add_argument("--coqui", type=Path)
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    cases = [*(of_nemo(options.nemo) if options.nemo else ()), *(of_coqui(options.coqui) if options.coqui else ())]
    right: Counter[tuple[str, str]] = Counter()
    all_of: Counter[tuple[str, str]] = Counter()
    for language, kind, written, readings in cases:
        got = normalize(written, language)
        all_of[language, kind] += 1
        if words(got) in map(words, readings):
            right[language, kind] += 1
        elif options.wrong:
            print(f"{language} {kind}: {written} -> {got}; expected {' or '.join(readings)}")
    for language in LANGUAGES:
        found = [(kind, right[key], n) for key, n in sorted(all_of.items()) for kind in key[1:] if key[0] == language]
        total = sum(n for _, _, n in found)
        if total:
            shown = ", ".join(f"{kind} {ok}/{n}" for kind, ok, n in found)
            print(f"{language}: {sum(ok for _, ok, _ in found)} of {total}: {shown}")


if __name__ == "__main__":
    main()
