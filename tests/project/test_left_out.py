"""Tests that a run leaves out are what the next one runs."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SOME = """
import pytest

def test_first(): pass

def test_first_and_more():
    pytest.importorskip("a_library")

@pytest.mark.parametrize("i", [1, 10])
def test_both(i):
    if i == 10:
        pytest.skip("needs a library")
"""
WHOLE = """
import pytest

pytest.importorskip("a_library")

def test_second(): pass
"""


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\ntestpaths = .")
    pytester.makepyfile(test_some=SOME, test_whole=WHOLE)
    return pytester


def names(result: pytest.RunResult) -> list[str]:
    return sorted(line.split()[0].split("::")[1] for line in result.outlines if " PASSED" in line)


def test_a_run_with_the_library_has_only_what_did_not_pass_without_it(tests: pytest.Pytester) -> None:
    tests.inline_run("-p", "left_out")
    tests.makepyfile(a_library="")
    # A part of the tests is no run of all, and a list of them no run.
    tests.inline_run("-p", "left_out", "test_whole.py")
    tests.inline_run("-p", "left_out", "--collect-only")
    result = tests.runpytest_inprocess("-p", "left_out", "--left-out", "-v")
    assert names(result) == ["test_first_and_more", "test_second"]
    result.assert_outcomes(passed=2, skipped=1, deselected=2)


def test_without_a_run_before_it_says_so(tests: pytest.Pytester) -> None:
    result = tests.runpytest_inprocess("-p", "left_out", "--left-out")
    result.stderr.fnmatch_lines("*no run of all tests is recorded here; run 'make test' first")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_line_says_why_tests_were_left_out_and_names_one_whose_reason_has_texts_of_an_example(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_texts="""
        import pytest
        from hypothesis import example, given, strategies

        @pytest.mark.parametrize("kind", ["a", "b"])
        @given(strategies.text())
        @example("x" * 1000)
        def test_texts(kind, text):
            pytest.skip("needs a file")

        def test_other():
            pytest.importorskip("a_library")
        """
    )
    result = pytester.runpytest_inprocess("-p", "left_out")
    (line,) = (line for line in result.outlines if line.startswith("Not tested here"))
    assert line == (
        "Not tested here: could not import 'a_library': No module named 'a_library'; "
        "test_texts.py::test_texts[a]; test_texts.py::test_texts[b]. See 'make test-optional', 'make test-frameworks'."
    )
