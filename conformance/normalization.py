"""How much of public test tables for English text normalization comes out as expected, by class.

    python conformance/normalization.py TABLES [--failures]

TABLES is the folder tests/nemo_text_processing/en/data_text_normalization of the repository
https://github.com/NVIDIA/NeMo-text-processing; none of its data is kept here. A case counts where the words are the
same without regard to case and punctuation; initials count as one word (p.m. = PM = P M), and an "and" behind hundred,
thousand or a larger scale is not counted.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tts_prep.english.normalization import normalize_english

_NUMBER = "one|two|three|four|five|six|seven|eigh|nine|ten|eleven|twelve|thir|fif|twen|for"
_AND = re.compile(rf"\b(hundred|thousand|[a-z]+illion) and (?={_NUMBER})")
_INITIALS = re.compile(r"\b[A-Za-z](?:\.[A-Za-z])+\b\.?|(?<!\S)[A-Z](?: [A-Z])+(?!\S)")
# These compare punctuation or several readings.
_NOT_COUNTED = ("normalize_with_audio", "punctuation_match_input")


def words(text: str) -> list[str]:
    """Return what is compared of a text."""
    joined = _INITIALS.sub(lambda match: re.sub(r"[. ]", "", match[0]), text)
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", _AND.sub(r"\1 ", joined.lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--failures", action="store_true", help="print the cases that differ")
    arguments = parser.parse_args()
    right = total = 0
    print("| class | cases | as expected |\n| --- | --- | --- |")
    for path in sorted(arguments.tables.glob("test_cases_*.txt")):
        name = path.stem.removeprefix("test_cases_")
        if name in _NOT_COUNTED:
            continue
        cases = [line.split("~", 1) for line in path.read_text(encoding="utf-8").splitlines() if line.count("~") == 1]
        good = [words(normalize_english(written)) == words(spoken) for written, spoken in cases]
        right, total = right + sum(good), total + len(cases)
        print(f"| {name} | {len(cases)} | {sum(good) / max(1, len(cases)):.0%} |")
        if arguments.failures:
            for (written, spoken), same in zip(cases, good, strict=True):
                if not same:
                    print(f"    {written} | {normalize_english(written)} | {spoken}")
    print(f"| all | {total} | {right / max(1, total):.1%} |")


if __name__ == "__main__":
    main()
