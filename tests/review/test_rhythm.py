"""Reviewers who press keys faster than the page shows what they decide about, in several windows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from browser import CHROMIUM, DRIVER, Browser
from reviewing import Review, Serve
from stores import Row, make_rows

from tts_prep.review.decisions import Decision, read_decisions

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium or chromedriver")


def begun(browser: Browser, review: Review, width: int = 1400) -> None:
    """Open the page with the utterances in the order of the store."""
    browser.go("about:blank")
    browser.show(width=width)
    browser.go(f"{review.server.address}#sort=row")
    browser.wait("document.documentElement.dataset.ready && document.querySelectorAll('#table tbody tr').length > 0")


def listed(browser: Browser) -> list[str]:
    return browser.run("return [...document.querySelectorAll('#table tbody th')].map((e) => e.textContent)")


def shown(browser: Browser, utterance: str) -> None:
    browser.wait(f"document.querySelector('#id').textContent === '{utterance}'")


FAULTS = ("dropped", "noted", "corrected", "unsure")


def keys_for(row: Row, fault: str) -> tuple[list[str], Decision]:
    """Return what is pressed at an utterance, and what is to be in the file."""
    if fault == "dropped":
        return ["n"], Decision("no")
    if fault == "noted":
        return ["m", *"hum, yes", "Enter", "n"], Decision("no", note="hum, yes")
    if fault == "corrected":
        return ["c", *" any", "Enter", "y"], Decision("yes", f"{row.text} any")
    return (["u"], Decision("unsure")) if fault == "unsure" else (["y"], Decision("yes"))


def reviewed(
    serve: Serve, first: Browser, second: Browser, n: int, n_faults: int
) -> tuple[Review, dict[str, Decision]]:
    """Let two reviewers decide about a half of a store each, and a tenth in common; return what rows are to have.

    What both type about a row in common would be there twice, so that these have marks alone.
    """
    review = serve(make_rows([5 + i % 7 for i in range(n)]))
    low, high = n // 2 + n // 20, n // 2 - n // 20
    rows = [n // n_faults * i + i % 3 for i in range(n_faults)]
    faults = {row: "dropped" if high <= row < low else FAULTS[i % 4] for i, row in enumerate(rows)}
    pressed = [keys_for(row, faults.get(i, "")) for i, row in enumerate(review.rows)]
    begun(first, review, 390)
    begun(second, review)
    for each in (first, second):
        each.run("window.times = []; addEventListener('keydown', (e) => window.times.push(e.timeStamp), true)")

    def go(browser: Browser, condition: str, keys: list[list[str]]) -> None:
        browser.type("f", *condition, "Enter", "j", *[key for of_row in keys for key in of_row])

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(go, first, f"row < {low}", [keys for keys, _ in pressed[:low]])
        two = threads.submit(go, second, f"row >= {high}", [keys for keys, _ in pressed[high:]])
        one.result()
        two.result()
    for each, last in ((first, low - 1), (second, n - 1)):
        each.wait(f"document.querySelector('#id').textContent === '{review.rows[last].id}'", 120)
        each.wait("[...document.querySelectorAll('#table td.mark')].every((e) => e.textContent)")
        assert each.run("return document.querySelector('#stop').open") is False
        times = each.run("return window.times")
        print(f"{len(times)} keys, {median(b - a for a, b in pairwise(times)):.1f} ms apart (median)")
    return review, {row.id: decision for row, (_, decision) in zip(review.rows, pressed, strict=True)}


def test_two_reviewers_who_do_not_wait_for_the_page_decide_what_they_mean(
    serve: Serve, browser: Browser, tmp_path: Path
) -> None:
    with closing(Browser()) as other:
        _, expected = reviewed(serve, browser, other, 24, 4)
    assert read_decisions(tmp_path / "decisions.csv") == expected


@pytest.mark.soak
def test_two_hundred_utterances_with_twenty_faults_get_no_wrong_decision(
    serve: Serve, browser: Browser, tmp_path: Path
) -> None:
    with closing(Browser()) as other:
        _, expected = reviewed(serve, browser, other, 200, 20)
    found = read_decisions(tmp_path / "decisions.csv")
    wrong = {name for name, decision in expected.items() if found.get(name) != decision}
    assert (wrong, len(found)) == (set(), 200)


def test_enter_applies_what_was_just_typed_and_the_next_keys_act_on_its_utterances(
    serve: Serve, browser: Browser, tmp_path: Path
) -> None:
    review = serve()
    names = [row.id for row in review.rows]
    begun(browser, review)
    browser.type("/", *'"4"', "Enter", "j", "n")
    browser.wait("document.querySelector('td.mark.no')")
    assert (listed(browser), browser.run("return document.querySelector('#search').value")) == ([names[4]], '"4"')
    # A field that is left in another way has the same effect; a condition that selects nothing decides nothing.
    browser.type("/", "Enter", "f", *"row == 2", "Escape", "j", "u")
    browser.wait(
        "document.querySelector('#problem').textContent === '' && document.querySelector('#count').textContent"
    )
    browser.click("#clear")
    browser.wait("document.querySelectorAll('#table tbody tr').length === 6")
    browser.type("f", *"row = 1", "Escape", "j", "y")
    browser.wait("document.querySelector('#problem').textContent.includes('not a condition')")
    assert listed(browser) == []
    browser.click("#clear")
    browser.wait("document.querySelectorAll('#table tbody tr').length === 6")
    assert read_decisions(tmp_path / "decisions.csv") == {names[4]: Decision("no")}


def test_a_decision_of_another_window_is_shown_and_replaced_only_on_purpose(
    serve: Serve, browser: Browser, tmp_path: Path
) -> None:
    review = serve()
    names, file = [row.id for row in review.rows], tmp_path / "decisions.csv"
    begun(browser, review)
    browser.press("j")
    shown(browser, names[0])
    assert review.post("decide", row=0, keep="no", note="cut", seen={"keep": "", "note": ""}, window="other")[0] == 200
    # What is pressed after it was meant for the utterances that would have followed.
    browser.type("y", "y", "n", " ", "j")
    browser.wait("document.querySelector('#stop').open")
    asked = f"{names[0]}: another window has decided this meanwhile. decision: drop there, keep here."
    assert browser.run("return document.querySelector('#stop-text').textContent") == asked
    assert read_decisions(file) == {names[0]: Decision("no", note="cut")}
    assert browser.run("return document.querySelector('[data-keep=no]').ariaPressed") == "true"
    browser.type("Escape", "j")
    shown(browser, names[1])
    assert read_decisions(file) == {names[0]: Decision("no", note="cut")}
    assert review.post("decide", row=1, note="hum", window="other")[0] == 200
    browser.type("m", *"echo", "Enter")
    browser.wait("document.querySelector('#stop').open")
    browser.click("#stop-change")
    browser.wait("document.querySelector('#status').textContent.endsWith('saved')")
    assert read_decisions(file)[names[1]] == Decision(note="echo")
    # A mark that is there already is confirmed, not taken back; that is another key.
    browser.type("k", "n", "x", "k", "n")
    shown(browser, names[1])
    assert read_decisions(file) == {names[0]: Decision("no", note="cut"), names[1]: Decision(note="echo")}


@pytest.mark.parametrize("width", [390, 1400])
def test_the_chosen_utterance_is_on_the_screen(serve: Serve, browser: Browser, width: int) -> None:
    review = serve(make_rows([40, 25, 60, 80, 33] * 20))
    begun(browser, review, width)
    on_screen = (
        "['#id', '#play', '[data-keep=yes]'].map((s) => document.querySelector(s).getBoundingClientRect())"
        ".every((r) => r.top > 0 && r.bottom < innerHeight)"
    )
    for row in (95, 3):
        browser.click(f"#table tr[data-row='{row}'] button")
        shown(browser, review.rows[row].id)
        browser.wait(on_screen)
        row_of_list = f"document.querySelector('#table tr[data-row=\"{row}\"]').getBoundingClientRect()"
        box = "document.querySelector('.list .scroll').getBoundingClientRect()"
        assert browser.run(f"return {row_of_list}.top >= {box}.top && {row_of_list}.bottom <= {box}.bottom + 1")
        browser.press("j")
        shown(browser, review.rows[row + 1].id)
        browser.wait(on_screen)


def test_the_speed_of_playing_stays_for_the_next_utterance(serve: Serve, browser: Browser) -> None:
    review = serve(make_rows([345, 345]))
    begun(browser, review)
    browser.press(">", ">", ">", ">", "j", "j")
    shown(browser, review.rows[1].id)
    assert browser.run("return document.querySelector('#speed').value") == "2"
    browser.wait("document.querySelector('#source').textContent.includes('samples of the store')")
    # Four seconds of sound take two. The end is told twice: as a pause, too.
    browser.run(
        "const b = document.querySelector('#play'); window.changes = [];"
        "new MutationObserver(() => window.changes.push([b.textContent, performance.now()]))"
        ".observe(b, {childList: true, characterData: true, subtree: true})"
    )
    browser.press(" ")
    browser.wait("window.changes.length >= 2")
    (_, start), (_, end), *_ = browser.run("return window.changes")
    assert 1.7 < (end - start) / 1000 < 3.5
