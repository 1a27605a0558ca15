"""Every common mistake has the message of docs/first-hour.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from first_hour import Mistake, mistakes, page, said
from test_bad_inputs import words

PAGE = Path(__file__).parents[2] / "docs" / "first-hour.md"
MISTAKES = [(chapter, mistake) for chapter, found in mistakes().items() for mistake in found]


def documented() -> dict[str, str]:
    """Return title → message."""
    blocks = re.findall(r"^### (.*)\n\n```text\n.*\n((?:.*\n)*?)```$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {title: message.rstrip("\n") for title, message in blocks}


def test_there_are_at_least_forty_and_the_page_is_made_of_them() -> None:
    messages = documented()
    assert len({mistake.title for _, mistake in MISTAKES}) == len(MISTAKES) >= 40
    assert PAGE.read_text("utf-8") == page((chapter, mistake, messages[mistake.title]) for chapter, mistake in MISTAKES)


@pytest.mark.whole
@pytest.mark.parametrize("mistake", [mistake for _, mistake in MISTAKES], ids=lambda mistake: mistake.title)
def test_a_mistake_has_the_documented_message(mistake: Mistake, tmp_path_factory: pytest.TempPathFactory) -> None:
    message = said(mistake, tmp_path_factory.getbasetemp() / "first" / re.sub(r"\W", "-", mistake.title))
    assert message
    assert words(message) == words(documented()[mistake.title])
