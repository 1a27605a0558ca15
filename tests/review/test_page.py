"""The page in a real browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, Browser
from commands import run
from corpora import write_ljspeech
from reviewing import Serve, example_rows
from stores import make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_array
from tts_prep.review.decisions import Decision, DecisionFile, read_decisions

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \u202e=1+1"
needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium or chromedriver")


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


@pytest.mark.whole
@needs_browser
def test_a_word_that_is_spoken_wrongly_gets_a_line_that_a_dictionary_takes(
    serve: Serve, browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_ljspeech(tmp_path / "corpus")
    made = ("ljspeech", tmp_path / "corpus", tmp_path / "store", "-j", 1, "--waveform", "int16")
    assert run(capsys, *made)[0] == 0
    review = serve(store=tmp_path / "store")
    started(browser, f"{review.server.address}#sort=row")
    browser.press("j", "d")
    browser.wait("document.activeElement.id === 'word'")
    browser.press(*"Nguyen", "Enter")
    browser.wait("document.querySelector('#word-line').value")
    line = browser.run("return document.querySelector('#word-line').value")
    # The phones are espeak-ng's own, as its program writes them.
    assert line == "nguyen\tnˈuːjɛn"
    (tmp_path / "words.txt").write_text(line, encoding="utf-8")
    assert run(capsys, *made, "--update", "--lexicon", tmp_path / "words.txt")[0] == 0
    browser.press("d", *"?! ", "Enter")
    browser.wait("document.querySelector('#problem').textContent.includes('expected one word of letters')")
    assert not (tmp_path / "decisions.csv").exists()


@needs_browser
def test_a_mark_keeps_what_another_window_has_noted_meanwhile(serve: Serve, browser: Browser, tmp_path: Path) -> None:
    review = serve()
    uid = review.rows[0].id
    started(browser, f"{review.server.address}#sort=row")
    browser.press("j")
    opened(browser, uid)
    assert review.post("decide", row=0, note="hum", text="new")[0] == 200
    browser.run("document.querySelector('#go-on').click()")
    browser.press("y")
    browser.wait("document.querySelector('#note').value === 'hum'")
    assert read_decisions(tmp_path / "decisions.csv") == {uid: Decision("yes", "new", "", "hum")}
    browser.press("j")
    opened(browser, review.rows[1].id)
    assert read_decisions(tmp_path / "decisions.csv") == {uid: Decision("yes", "new", "", "hum")}


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
def test_the_page_fits_and_asks_nobody_else(serve: Serve, browser: Browser) -> None:
    review = serve()
    browser.console()
    browser.requests()
    browser.show(width=390, scheme="dark")
    started(browser, f"{review.server.address}#id={review.rows[5].id}")
    for width, scheme in product((1400, 390), ("light", "dark")):
        browser.show(width=width, scheme=scheme)
        browser.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        opened(browser, review.rows[5].id)
        for view in ("distributions", "speakers", "utterances"):
            browser.run(f"document.querySelector('[data-view={view}]').click()")
            browser.wait(f"!document.querySelector('#{view}').hidden")
            assert browser.run("return document.documentElement.scrollWidth") <= width, (scheme, view)
        assert browser.console() == [], (width, scheme)
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


@contextmanager
def command(store: Path, file: Path) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """Run the command, and yield its process, port and token."""
    arguments = [sys.executable, "-m", "tts_prep", "review", str(store), "--decisions", str(file)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            opened = (re.search(r"open http://127\.0\.0\.1:(\d+)/([\w-]+)/", line) for line in process.stdout)
            port, token = next(filter(None, opened)).groups()
            yield process, int(port), token
        finally:
            process.kill()


def send(port: int, token: str, row: int, keep: str) -> http.client.HTTPConnection:
    """Send a decision, and do not wait for the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
    connection.request("POST", f"/{token}/decide", json.dumps({"row": row, "keep": keep}), headers)
    return connection


def files_in(folder: Path) -> set[tuple[str, int]]:
    with os.scandir(folder) as entries:
        return {(entry.name, entry.inode()) for entry in entries}


@pytest.mark.parametrize("moment", ["sent", "being written", "answered"])
def test_no_acknowledged_decision_is_lost_if_the_server_is_killed(tmp_path: Path, moment: str) -> None:
    file = tmp_path / "decisions" / "d.csv"
    file.parent.mkdir()
    rows = make_rows([5] * 8)
    expected = {row.id: ("yes", "no", "unsure")[number % 3] for number, row in enumerate(rows)}
    with command(write_store(tmp_path / "store", rows), file) as (process, port, token):
        for number, keep in enumerate(expected.values()):
            with closing(send(port, token, number, keep)) as connection:
                assert connection.getresponse().status == 200
        # Another decision on the first row is on its way.
        before = files_in(file.parent)
        with closing(send(port, token, 0, "unsure")) as connection:
            if moment == "answered":
                assert connection.getresponse().status == 200
            while moment == "being written" and files_in(file.parent) == before:
                assert process.poll() is None
            process.kill()
    found = {key: decision.keep for key, decision in read_decisions(file).items()}
    if found[rows[0].id] == "unsure" or moment == "answered":
        expected[rows[0].id] = "unsure"
    assert found == expected
    # The next server goes on with the file.
    DecisionFile(file).decide(rows[1].id, Decision("yes"))
    assert read_decisions(file)[rows[1].id] == Decision("yes")


def test_the_command_ends_in_order_when_it_is_interrupted(tmp_path: Path) -> None:
    with command(write_store(tmp_path / "store", make_rows([5] * 3)), tmp_path / "d.csv") as (process, *_):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, f"{tmp_path / 'd.csv'}: 0 of 3 utterances are decided\n")
    assert "rror" not in err


def durations_of(utterance) -> np.ndarray:
    """Return durations that differ between phonemes, and are as long as the mel in all."""
    n, frames = len(utterance.phonemes), len(utterance.mel)
    weights = 1 + np.arange(n) % 3
    edges = np.rint(np.concatenate(([0], np.cumsum(weights))) / weights.sum() * frames)
    return np.diff(edges).astype(np.int32)


@needs_browser
def test_phone_boundaries_are_where_the_durations_say(
    serve: Serve, browser: Browser, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    options = ("--frontend", "characters", "--jobs", "1", "--waveform", "int16", "--limit", "2")
    assert run(capsys, "ljspeech", own_corpus, store, *options)[0] == 0
    add_array(store, "durations", durations_of, dtype="int32", axis="phoneme")
    review, utterance = serve([None], store=store), UtteranceDataset(store)[0]
    started(browser, f"{review.server.address}#sort=row&id={utterance.id}")
    opened(browser, utterance.id)
    browser.wait("document.querySelectorAll('#plot line.boundary').length > 0")
    # The axis itself says which place is which time.
    ticks = browser.run(
        "return [...document.querySelectorAll('#plot line.tick-line')].map((e) => +e.getAttribute('x1'))"
    )
    labels = browser.run(
        "return [...document.querySelectorAll('#plot text.tick')].map((e) => parseFloat(e.textContent))"
    )
    per_second = (ticks[-1] - ticks[0]) / (labels[-1] - labels[0])
    drawn = browser.run(
        "return [...document.querySelectorAll('#plot line.boundary')].map((e) => +e.getAttribute('x1'))"
    )
    times = (np.array(drawn) - ticks[0]) / per_second + labels[0]
    durations, hop = durations_of(utterance), utterance.store.hop_length / utterance.store.sample_rate
    starts = np.concatenate(([0], np.cumsum(durations)[:-1])) * hop
    # A frame is centred on a multiple of the hop, so that it begins half a hop before.
    np.testing.assert_allclose(times, starts[durations > 0] - hop / 2, atol=1e-3)
    mel = browser.run(
        "const m = document.querySelectorAll('#plot canvas')[1].getBoundingClientRect(),"
        "a = document.querySelector('#plot .area').getBoundingClientRect(); return [m.left - a.left, m.right - a.left]"
    )
    np.testing.assert_allclose(mel, [drawn[0], drawn[0] + durations.sum() * hop * per_second], atol=1.5)
    symbols = [utterance.store.symbols[i] for i in utterance.phonemes]
    names = browser.run("return [...document.querySelectorAll('#plot text:not(.tick)')].map((e) => e.textContent)")
    assert names == [symbol for symbol, n in zip(symbols, durations, strict=True) if n]
    # Zooming moves the boundaries with the axis.
    browser.run("document.querySelector('#zoom-in').click()")
    browser.wait(f"+document.querySelectorAll('#plot line.boundary')[3].getAttribute('x1') > {1.2 * drawn[3]}")


@needs_browser
def test_texts_are_beside_one_another_and_neighbours_are_ordered_by_similarity(serve: Serve, browser: Browser) -> None:
    rows = example_rows()
    rows[1] = replace(rows[1], text="Dr. Smith paid $5.", phoneme_text="d ɑ k t ɚ")
    review = serve(rows)
    started(browser, f"{review.server.address}#sort=row&id={rows[1].id}")
    opened(browser, rows[1].id)
    assert text(browser, "#text") == "Dr. Smith paid $5."
    assert text(browser, "#phonemes") == "d ɑ k t ɚ"
    # What the frontend makes of it, or why that is not shown.
    assert text(browser, "#normalized")
    tops = browser.run(
        "return ['text', 'normalized', 'phonemes'].map((n) => document.getElementById(n).parentElement)"
        ".map((e) => e.getBoundingClientRect()).map((r) => [r.top, r.left, r.right].map(Math.round))"
    )
    assert len({top for top, *_ in tops}) == 1
    assert tops[0][2] <= tops[1][1] <= tops[1][2] <= tops[2][1]
    browser.wait("document.querySelectorAll('#neighbours li').length >= 3")
    items = browser.run("return [...document.querySelectorAll('#neighbours li')].map((e) => e.textContent)")
    assert not any(rows[1].id in item for item in items)
    correlations = [float(found[1].replace("−", "-")) for x in items if (found := re.search(r"mels (−?[\d.]+)", x))]
    assert correlations == sorted(correlations, reverse=True)
    assert len(correlations) >= 3
    # Duplicates come first, and each utterance is there once.
    started(browser, f"{review.server.address}#sort=row&id={rows[5].id}")
    opened(browser, rows[5].id)
    browser.wait("document.querySelectorAll('#neighbours li').length >= 3")
    first = text(browser, "#neighbours li")
    assert rows[0].id in first
    assert "the same samples" in first
    assert text(browser, "#reasons").count(f"compare with {rows[0].id}") == 1


@needs_browser
def test_a_selection_is_played_and_repeated(serve: Serve, browser: Browser) -> None:
    review = serve(make_rows([400, 40]))
    started(browser, f"{review.server.address}#sort=row&id={review.rows[0].id}")
    opened(browser, review.rows[0].id)
    browser.wait("document.querySelector('#source').textContent.includes('samples of the store')")
    for key in ("ArrowRight", "[", "ArrowRight", "ArrowRight", "ArrowRight", "]", "l"):
        browser.press(key)
    browser.wait("document.querySelector('#loop').ariaPressed === 'true'")
    assert browser.run("return !document.querySelector('#plot .selection').hidden")
    left, width, area = browser.run(
        "const s = document.querySelector('#plot .selection').style, a = document.querySelector('#plot .area').style;"
        "return [s.left, s.width, a.width].map(parseFloat)"
    )
    assert width / (left or 1) == pytest.approx(3, abs=0.3)
    assert left + width < area
    browser.run(
        "window.times = [];"
        "setInterval(() => window.times.push(parseFloat(document.querySelector('#time').textContent)), 20)"
    )
    browser.press(" ")
    # The cursor goes back to the beginning of the selection, and never far beyond its end.
    browser.wait("window.times.some((t, i) => i && t < window.times[i - 1] - 0.1)")
    browser.press(" ")
    times = browser.run("return window.times")
    assert max(times) < 0.4 + 0.3
    assert min(times[1:]) >= 0.05


@needs_browser
@pytest.mark.skipif(not os.environ.get("AXE_CORE"), reason="AXE_CORE is not the path of npm's axe-core/axe.min.js")
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_axe_finds_nothing(serve: Serve, browser: Browser, width: int, scheme: str) -> None:
    review = serve()
    started(browser, f"{review.server.address}#id={review.rows[5].id}")
    browser.show(width=width, scheme=scheme)
    opened(browser, review.rows[5].id)
    browser.wait("document.querySelectorAll('#neighbours button').length >= 2")
    browser.run(Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8"))
    steps = {
        "utterance": "true",
        "beside": "document.querySelector('#neighbours button').click()",
        "columns": "document.querySelector('#chooser').open = true",
        "measures": "document.querySelectorAll('details').forEach((e) => { e.open = true; })",
        "distributions": "document.querySelector('[data-view=distributions]').click()",
        "speakers": "document.querySelector('[data-view=speakers]').click()",
        "help": "document.querySelector('#help-button').click()",
    }
    for name, step in steps.items():
        browser.run(step)
        time.sleep(0.5)
        browser.run("window.axed = null; axe.run().then((found) => { window.axed = found; });")
        browser.wait("window.axed")
        found = browser.run("return window.axed.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)])")
        assert found == [], name
        assert browser.run("return window.axed.passes.length") > 10
