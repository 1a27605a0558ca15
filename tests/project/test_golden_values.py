"""Versions that stores record are raised with the values that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden import SECTIONS, differences, kept, read_record


@pytest.mark.parametrize("name", SECTIONS)
def test_values_are_those_of_the_version_that_stores_record(name: str, tmp_path: Path) -> None:
    section, recorded = SECTIONS[name], read_record()[name]
    if section.version != recorded["version"]:
        pytest.fail(f"{section.where} is another version than that of the record: run 'python tests/golden.py'")
    if differ := differences(recorded["values"], section.values(tmp_path)):
        pytest.fail(
            f"{len(differ)} values of version {section.version} differ, such as {differ[0]!r}: raise {section.where}, "
            "then run 'python tests/golden.py'"
        )


def test_a_number_or_a_text_that_changes_is_a_difference() -> None:
    recorded = {"a": [1.0, float("nan"), 100.0], "b": "x", "c": "y"}
    assert differences(recorded, {"a": [1.0001, float("nan"), 100.01], "b": "x", "c": "y", "new": "z"}) == []
    assert differences(recorded, {"a": [1.0, float("nan"), 130.0], "b": "z", "c": "y"}) == ["a", "b"]
    assert differences(recorded, {"a": [1.0, float("nan")], "b": "x"}) == ["a", "c"]


def test_a_number_that_another_processor_makes_otherwise_stays_as_it_was_recorded() -> None:
    made = {"a": [1.0001, 2.0], "b": [1.5], "c": [], "d": "new", "e": [3.0]}
    assert kept({"a": [1.0, 2.0], "b": [1.0], "c": [], "d": "old", "gone": [1.0]}, made) == {
        "a": [1.0, 2.0],
        "b": [1.5],
        "c": [],
        "d": "new",
        "e": [3.0],
    }
