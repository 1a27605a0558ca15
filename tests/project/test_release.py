"""Version, changelog and citation say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tts_prep import __version__

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif("dev" in __version__, reason="not a release")
def test_changelog_and_citation_have_the_version_and_one_date() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.findall(r"^## (\d+\.\d+\.\d+) - (\S+)$", changelog, re.MULTILINE)[0]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version == __version__
    assert f"\nversion: {version}\n" in citation
    assert f'\ndate-released: "{date}"\n' in citation


def test_a_release_begins_with_what_to_check_before_an_upgrade() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.split(r"^## \d", changelog, flags=re.MULTILINE)[1]
    assert re.match(r"[^\n]*\n\n### Changed\n\nWhat to check before an upgrade:\n", newest)
