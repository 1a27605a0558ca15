"""Every invalid input has the status and the message of docs/errors.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bad_inputs import Case, cases, outcome, page

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"
CASES = list(cases())


def documented() -> list[tuple[str, ...]]:
    rows = [line for line in ERRORS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]
    return [tuple(cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]) for row in rows]


def words(text: str) -> list[str]:
    """Return a message as words: versions of click and Python differ in quotes and colons."""
    return re.findall(r"[\w./%-]+", text)


@pytest.mark.whole
def test_there_are_at_least_two_hundred_and_each_is_in_the_document_in_order() -> None:
    assert len(CASES) >= 200
    assert [(case.name, case.given) for case in CASES] == [row[:2] for row in documented()]
    assert ERRORS.read_text(encoding="utf-8") == page(documented())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad")


@pytest.mark.whole
@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.name} {case.given}" for case in CASES])
def test_a_bad_input_has_the_documented_message_and_status(number: int, folder: Path) -> None:
    case: Case = CASES[number]
    status, message = outcome(case, folder / str(number))
    expected = documented()[number]
    assert (status, words(message)) == (expected[2], words(expected[3]))
    assert status != "0"
