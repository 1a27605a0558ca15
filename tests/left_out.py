"""``pytest --left-out``: run what did not pass in the last run of all tests.

What a run leaves out for lack of a library is then tested where the library is, without a list of such tests: one that
needs a library and does not say so fails in the first run. A line at the end of a run says why tests were left out.
"""

from __future__ import annotations

import pytest

PASSED = "tests/passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--left-out", action="store_true", help="run what did not pass in the last run of all tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("left_out"):
        return
    passed = {*config.cache.get(PASSED, [])} if config.cache else set()
    if not passed:
        raise pytest.UsageError("--left-out: no run of all tests is recorded here; run 'make test' first")
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
    items[:] = [item for item in items if item.nodeid not in passed]


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was left out; its name, if the reason has the texts of an example."""
    assert isinstance(report.longrepr, tuple)
    reason, *more = report.longrepr[2].removeprefix("Skipped: ").splitlines() or [""]
    return report.nodeid.rpartition("/")[2] if more else reason


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reasons = {_reason(report) for report in terminalreporter.stats.get("skipped", []) if report.longrepr}
    if reasons:
        terminalreporter.write_line(
            f"Not tested here: {'; '.join(sorted(reasons))}. See 'make test-optional', 'make test-frameworks'."
        )
    cache = getattr(config, "cache", None)  # None without pytest's plugin for it
    is_run = not (config.getoption("left_out") or config.getoption("collectonly"))
    if cache and is_run and config.args_source is config.ArgsSource.TESTPATHS:
        cache.set(PASSED, [report.nodeid for report in terminalreporter.stats.get("passed", [])])
