"""The documentation site, looked at by a checker of accessibility in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from browser import CHROMIUM, DRIVER, Browser

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium or chromedriver"),
    pytest.mark.skipif(not os.environ.get("AXE_CORE"), reason="AXE_CORE is not the path of npm's axe-core/axe.min.js"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "-b", "html", str(ROOT / "docs"), str(folder)], check=True
    )
    return folder


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_axe_finds_nothing_on_any_page(site: Path, browser: Browser, width: int, scheme: str) -> None:
    pages = [page.as_uri() for page in sorted(site.glob("*.html"))]
    assert len(pages) > 30
    axe = Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8")
    browser.show(width=width, scheme=scheme)
    wrong = {}
    for page in [*pages, (site / "search.html").as_uri() + "?q=resume"]:
        browser.go(page)
        browser.wait("document.readyState === 'complete'")
        if page.endswith("resume"):
            browser.wait("document.querySelectorAll('#search-results li').length")
            time.sleep(0.5)  # more results follow
        browser.run(axe)
        browser.run("window.axed = null; axe.run().then((found) => { window.axed = found; });")
        browser.wait("window.axed")
        wrong[page] = browser.run("return window.axed.violations.map((v) => [v.id, v.nodes.map((n) => n.html)])")
        assert browser.run("return window.axed.passes.length") > 10
    assert {page: found for page, found in wrong.items() if found} == {}


def test_the_search_finds_the_place_of_each_word_of_the_index_first(site: Path, browser: Browser) -> None:
    rows = re.findall(
        r"^\| (.+) \| \[.+\]\((.+)\.md(#.+)?\) \|$", (ROOT / "docs/words.md").read_text("utf-8"), re.MULTILINE
    )
    places = {word: f"{page}.html{anchor}" for words, page, anchor in rows for word in words.split(", ")}
    assert len(places) > 150
    found = {}
    for word in places:
        browser.go("about:blank")
        browser.go(f"{(site / 'search.html').as_uri()}?q={quote(word)}")
        browser.wait("document.querySelectorAll('#search-results li a').length")
        found[word] = browser.run("return document.querySelector('#search-results li a').getAttribute('href')")
    assert found == places
