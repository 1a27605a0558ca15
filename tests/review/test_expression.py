from __future__ import annotations

import numpy as np
import pytest

from tts_prep.errors import ConfigurationError
from tts_prep.loader import CategoryValues
from tts_prep.review.expression import evaluate

COLUMNS = {
    "snr": np.array([10.0, 20.0, np.nan, 15.0]),
    "seconds": np.array([1.0, 2.0, 3.0, 4.0]),
    "speaker": CategoryValues(np.array([0, 1, 1, 2], np.int32), ("p225", "p226", "p227")),
    "text": ["the cat", "The dog", "", 'says "hi"'],
}


def rows(condition: str) -> list[int]:
    return np.flatnonzero(evaluate(condition, 4, COLUMNS, COLUMNS.__getitem__)).tolist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("snr < 15", [0]),
        ("snr <= 15", [0, 3]),
        ("10 < snr <= 20", [1, 3]),
        ("snr != 10", [1, 3]),
        ("missing(snr)", [2]),
        ("not missing(snr) and not snr == 10", [1, 3]),
        ('speaker == "p226"', [1, 2]),
        ('"p226" == speaker', [1, 2]),
        ('speaker != "p226" or seconds > 2.5', [0, 2, 3]),
        ('snr < 15 and speaker == "p225"', [0]),
        ('speaker in ("p225", "p227")', [0, 3]),
        ('speaker not in ["p225"]', [1, 2, 3]),
        ("seconds in (2, 4)", [1, 3]),
        ("seconds in ()", []),
        ('"cat" in text', [0]),
        ('"226" in speaker', [1, 2]),
        ('"the" not in text', [1, 2, 3]),
        ("text == 'says \"hi\"'", [3]),
        ("missing(text)", [2]),
        ("seconds * 10 > snr + 5", [3]),
        ("-seconds < -3", [3]),
        ("snr / (seconds - 1) > 0", [0, 1, 3]),
        (" snr<1e400 ", [0, 1, 3]),
        ("1 < 2", [0, 1, 2, 3]),
    ],
)
def test_a_condition_selects_the_rows_that_python_would(condition: str, expected: list[int]) -> None:
    assert rows(condition) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("srn < 15", "no column 'srn'; did you mean 'snr'?"),
        ("snr < p225", "no column 'p225'"),
        ("snr <", "not a condition"),
        ("", "not a condition"),
        ("snr", "expected a condition"),
        ("15", "expected a condition"),
        ('snr < "a"', "expected two numbers"),
        ('speaker < "p"', "texts are compared with =="),
        ("speaker + 1 > 2", "'speaker' is text, expected a number"),
        ("'a' in snr", "expected a text in quotes before 'in'"),
        ("snr in (1, 'a')", "of the kind of the column"),
        ("missing()", "expected missing(COLUMN)"),
        ("snr is 3", "expected <, <=, >"),
        ("True < 1", "expected a number or a text"),
        ("snr ** 9999999 > 1", "expected a column, a number"),
        ("snr if snr else snr", "expected a condition"),
        ("1" * 400 + " < snr", "expected a number"),
        ("snr < 1 and " * 60 + "snr < 2", "500 at most"),
        ("(" * 90 + "snr < 1" + ")" * 90 + " and " + "not " * 45 + "snr < 1", "too deeply nested"),
        ("-" * 100 + "snr < 1", "too deeply nested"),
        ("-" * 490 + "1", "too deeply nested"),
        ("~" * 490 + "snr", "too deeply nested"),
        ("-" * 490 + "1 in text", "too deeply nested"),
        ("\x00", "not a condition"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line(condition: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match="filter: ") as found:
        rows(condition)
    assert message in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "condition",
    [
        "__import__('os').system('touch owned')",
        "().__class__.__bases__",
        "text.__class__ == 'x'",
        "(lambda: 1)() < 2",
        "[x for x in (1, 2)] == 1",
        "f'{snr}' == '1'",
        "(snr := 3) < 4",
        "open('/etc/passwd') == 'x'",
        "text[0] == 'x'",
        "missing(__import__('os'))",
        "missing(*text)",
        "missing.__globals__",
    ],
)
def test_nothing_is_executed(condition: str) -> None:
    with pytest.raises(ConfigurationError, match="filter: "):
        rows(condition)
