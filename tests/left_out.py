"""``pytest --left-out``: run what did not pass in the last run of all tests.

What a run leaves out for lack of a library is then tested where the library is, without a list of such tests: one that
needs a library and does not say so fails in the first run.
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    cache = getattr(config, "cache", None)  # None without pytest's plugin for it
    if cache and config.args_source is config.ArgsSource.TESTPATHS and not config.getoption("left_out"):
        cache.set(PASSED, [report.nodeid for report in terminalreporter.stats.get("passed", [])])
