"""The page in a real browser."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import CHROMIUM, DRIVER, Browser
from reviewing import Serve, example_rows
from stores import make_rows, write_store

from tts_prep.review.decisions import Decision, read_decisions

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \u202e=1+1"
needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium or chromedriver")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = Browser()
    yield found
    found.close()


def ids(browser: Browser) -> list[str]:
    return browser.run("return [...document.querySelectorAll('#table tbody th')].map((e) => e.textContent)")


def text(browser: Browser, selector: str) -> str:
    return browser.run(f"return document.querySelector('{selector}').textContent")


def started(browser: Browser, address: str) -> None:
    browser.go("about:blank")
    browser.show(width=1400)
    browser.go(address)
    browser.wait("document.documentElement.dataset.ready && document.querySelectorAll('#table tbody tr').length > 0")


def opened(browser: Browser, utterance: str) -> None:
    browser.wait(f"document.querySelector('#id').textContent === {json.dumps(utterance)}")


@needs_browser
def test_utterances_are_sorted_filtered_and_searched(serve: Serve, browser: Browser) -> None:
    review = serve()
    started(browser, review.server.address)
    names = [row.id for row in review.rows]
    browser.click("#table thead th:nth-child(4) button")
    shortest = [row.id for row in sorted(review.rows, key=lambda row: row.seconds)]
    browser.wait("document.querySelector('#table thead th:nth-child(4)').ariaSort === 'ascending'")
    assert ids(browser) == shortest
    browser.click("#table thead th:nth-child(4) button")
    browser.wait("document.querySelector('#table thead th:nth-child(4)').ariaSort === 'descending'")
    assert ids(browser)[0] == names[3]
    browser.press("f", *'seconds > 0.5 and speaker == "ljspeech"')
    browser.wait("document.querySelectorAll('#table tbody tr').length === 1")
    assert ids(browser) == [names[3]]
    browser.press("(")
    browser.wait("document.querySelector('#problem').textContent.includes('not a condition')")
    browser.press("Escape")
    browser.click("#clear")
    browser.wait("document.querySelectorAll('#table tbody tr').length === 6")
    browser.press("/", *'"4"')
    browser.wait("document.querySelectorAll('#table tbody tr').length === 1")
    assert ids(browser) == [names[4]]
    assert text(browser, "#problem") == ""


@needs_browser
def test_marks_and_corrections_by_keyboard_alone_are_on_disk_and_survive_a_reload(
    serve: Serve, browser: Browser, tmp_path: Path
) -> None:
    review = serve()
    file = tmp_path / "decisions.csv"
    started(browser, f"{review.server.address}#sort=row")
    first, second, third = (row.id for row in review.rows[:3])
    browser.press("j")
    opened(browser, first)
    browser.press("y")
    opened(browser, second)
    assert read_decisions(file) == {first: Decision("yes")}
    browser.press("c")
    browser.wait("document.activeElement.id === 'new-text'")
    assert browser.run("return document.activeElement.value") == review.rows[1].text
    browser.press(*" +1", "Enter")
    browser.press("s", *"anna", "Enter")
    browser.press("m", *"=note", "Enter", "n")
    opened(browser, third)
    expected = {first: Decision("yes"), second: Decision("no", f"{review.rows[1].text} +1", "anna", "=note")}
    assert read_decisions(file) == expected
    browser.wait("document.querySelectorAll('#table td.mark.no').length === 1")
    assert "2 of 6 utterances: 1 keep, 1 drop, 0 unsure, 1 corrected" in text(browser, "#progress-text")
    browser.press("k")
    opened(browser, second)
    browser.go("about:blank")
    started(browser, f"{review.server.address}#sort=row&id={second}")
    opened(browser, second)
    assert browser.run("return document.querySelector('#note').value") == "=note"
    assert browser.run("return document.querySelector('[data-keep=no]').ariaPressed") == "true"
    browser.press("z")
    browser.wait("document.querySelector('[data-keep=no]').ariaPressed === 'false'")
    assert read_decisions(file)[second] == replace(expected[second], keep="")
    for _ in range(4):
        browser.press("z")
    browser.wait("document.querySelector('#progress-text').textContent.includes('· 0 of 6')")
    assert read_decisions(file) == {}


@needs_browser
def test_the_samples_that_arrive_are_those_of_the_store_and_are_played(serve: Serve, browser: Browser) -> None:
    review = serve(make_rows([90, 40]))
    started(browser, f"{review.server.address}#sort=row&id={review.rows[0].id}")
    opened(browser, review.rows[0].id)
    script = """
        window.decoded = null;
        fetch('0/sound.wav').then((a) => a.arrayBuffer())
          .then((b) => new OfflineAudioContext(1, 1, 22050).decodeAudioData(b))
          .then((d) => { window.decoded = [...d.getChannelData(0)].map((v) => Math.round(v * 32768)); });
    """
    browser.run(script)
    samples = browser.wait("window.decoded")
    expected = review.rows[0].waveform.tolist()
    assert len(samples) == len(expected)
    # Chromium divides positive samples by 32,767.
    assert max(abs(a - b) for a, b in zip(samples, expected, strict=True)) <= 1
    browser.wait("document.querySelector('#source').textContent.includes('samples of the store')")
    browser.press(" ")
    browser.wait("!document.querySelector('#time').textContent.startsWith('0.00')")
    browser.wait("document.querySelector('#play').textContent === 'Play'")
    browser.press("ArrowRight")


@needs_browser
def test_duplicates_are_shown_beside_each_other_and_bars_filter(serve: Serve, browser: Browser) -> None:
    review = serve()
    started(browser, f"{review.server.address}#id={review.rows[5].id}")
    opened(browser, review.rows[5].id)
    browser.wait("document.querySelectorAll('#neighbours button').length >= 2")
    browser.click("#neighbours button")
    browser.wait(f"document.querySelector('#beside-id').textContent.startsWith({json.dumps(review.rows[0].id)})")
    assert browser.run("return document.querySelectorAll('.plot canvas').length") == 4
    browser.click("[data-view=distributions]")
    browser.wait("document.querySelectorAll('.histogram').length > 3")
    name = browser.run("return document.querySelector('.histogram button').ariaLabel")
    browser.click(".histogram button")
    browser.wait("document.querySelector('#filter').value.includes(' <= n_frames < ')")
    count = int(re.search(r": (\d+) utterance", name)[1])  # type: ignore[index]
    browser.wait(f"document.querySelectorAll('#table tbody tr').length === {count}")
    browser.click("[data-view=speakers]")
    browser.wait("document.querySelectorAll('#speaker-table tbody tr').length === 3")


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_the_page_fits_and_asks_nobody_else(serve: Serve, browser: Browser, width: int, scheme: str) -> None:
    review = serve()
    browser.console()
    browser.requests()
    started(browser, f"{review.server.address}#id={review.rows[5].id}")
    browser.show(width=width, scheme=scheme)
    opened(browser, review.rows[5].id)
    for view in ("distributions", "speakers", "utterances"):
        browser.run(f"document.querySelector('[data-view={view}]').click()")
        browser.wait(f"!document.querySelector('#{view}').hidden")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), view
    assert browser.console() == []
    own = ("about:", review.server.address)
    assert [url for url in browser.requests() if not url.startswith(own)] == []


@needs_browser
def test_hostile_texts_are_shown_and_not_run(serve: Serve, browser: Browser, tmp_path: Path) -> None:
    rows = [
        replace(row, id=f"{i}{HOSTILE}", text=HOSTILE, phoneme_text=HOSTILE, speaker=HOSTILE, gender=HOSTILE)
        for i, row in enumerate(example_rows())
    ]
    review = serve(rows)
    browser.console()
    started(browser, review.server.address)
    browser.press("j")
    browser.wait("document.querySelector('#id').textContent")
    assert text(browser, "#text") == HOSTILE
    browser.press("u")
    for view in ("speakers", "distributions", "utterances"):
        browser.click(f"[data-view={view}]")
        browser.wait(f"!document.querySelector('#{view}').hidden")
    browser.wait("document.querySelector('#progress-text').textContent.includes('1 unsure')")
    assert browser.run("return document.title").startswith("Review:")
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.console() == []
    assert [decision.keep for decision in read_decisions(tmp_path / "decisions.csv").values()] == ["unsure"]


def test_no_acknowledged_decision_is_lost_if_the_server_is_killed(tmp_path: Path) -> None:
    store, file = tmp_path / "store", tmp_path / "d.csv"
    rows = make_rows([5] * 60)
    write_store(store, rows)
    rng, acknowledged = random.Random(0), dict[str, str]()
    for _ in range(3):
        command = [sys.executable, "-m", "tts_prep", "review", str(store), "--decisions", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout
            port, token = next(
                found.groups()
                for line in process.stdout
                if (found := re.search(r"open http://127\.0\.0\.1:(\d+)/([\w-]+)/", line))
            )
            timer = threading.Timer(rng.uniform(0.1, 0.6), os.kill, (process.pid, signal.SIGKILL))
            timer.start()
            for i in itertools.count():
                row, keep = i % len(rows), rng.choice(("yes", "no", "unsure"))
                try:
                    answer = decide(int(port), token, row, keep)
                except OSError:
                    break
                assert answer == 200
                acknowledged[rows[row].id] = keep
            timer.join()
        found = {key: decision.keep for key, decision in read_decisions(file).items()}
        # The decision that was on its way may have been taken.
        assert sum(found.get(key) != keep for key, keep in acknowledged.items()) <= 1
        assert {*acknowledged} <= {*found}
        acknowledged.update(found)
    assert len(acknowledged) > 3


def decide(port: int, token: str, row: int, keep: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
        connection.request("POST", f"/{token}/decide", json.dumps({"row": row, "keep": keep}), headers)
        return connection.getresponse().status
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()


def test_the_command_ends_in_order_when_it_is_interrupted(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write_store(store, make_rows([5] * 3))
    command = [sys.executable, "-m", "tts_prep", "review", str(store), "--decisions", str(tmp_path / "d.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    while "open http" not in process.stdout.readline():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, f"{tmp_path / 'd.csv'}: 0 of 3 utterances are decided\n")
    assert "rror" not in err
