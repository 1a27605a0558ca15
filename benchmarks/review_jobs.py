"""Keys and seconds of five jobs of a review, on 200 utterances, beside other tools.

    python benchmarks/review_jobs.py [--utterances 200]

A scripted reviewer does each job on a fifth of the utterances of a corpus of tones, by keys and the mouse of a real
browser (Chromium with chromedriver): another word at the end of a text, a rejection, a trimming, a cut whose text is
moved by a word, and a merge. Then the store is made again, and the decisions must be in it. Printed are keys, actions
of the mouse, the seconds that a person needs for them by the keystroke-level model (Card, Moran and Newell, 1980),
without listening and thinking, and those from the first key to the saved decision. The model has 0.28 s for a key,
1.1 s to point, 0.1 s to press or release a button, and 0.4 s from keyboard to mouse or back.

The operators of SubFix and Label Studio are counted on their pages and in their code, which `OTHERS` describes; NeMo's
Speech Data Explorer (8cfedd72) writes no decisions, only its vocabulary.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

WORK = Path(__file__).resolve().parent / "output" / "review-jobs"
JOBS = ("text", "reject", "trim", "cut", "merge")

OTHERS = {
    # subfix_webui.py at e4d152db: a page of ten rows. What is done once a page counts as a tenth of it for each row.
    "SubFix": {
        # Double click on the word, the word, "Submit Text" for the page.
        "text": "DM kkkkk M .1C",
        # The check box, and "Delete Audio" for the page; the recording is deleted.
        "reject": "MC .1C",
        # There is none: two splits (check box, number of the slider, "Split Audio") in steps of 0.1 s, then both ends
        # are deleted. The recording is overwritten.
        "trim": "C D M kkk M C C D M kkk M C C C C",
        # One split; both rows have the whole text, of which one end each is selected and deleted.
        "cut": "C D M kkk M C R M k M R M k M .1C",
        # Two check boxes and "Merge Audio"; the second recording is deleted. Texts are joined without a space.
        "merge": "C C C",
    },
    # Label Studio: hotkeys of its interface for audio with labels, choices and a text; it keeps what was marked, and
    # changes no recording, so that trimming, cutting and merging are marks for a script of one's own.
    "Label Studio": {
        # Into the field, to the word, the word, and submitted by Ctrl+Enter.
        "text": "D M kkkkk kk",
        # A choice by its hotkey, submitted by Ctrl+Enter.
        "reject": "k kk",
        # The label by its hotkey, a region by dragging, Ctrl+Enter.
        "trim": "k M R M kk",
        # The label, two regions, each with its own text field, whose text is typed or pasted and shortened; Ctrl+Enter.
        "cut": "k M R M C M kk R M k M k M R M C M kk R M k M kk",
        # No mark concerns two tasks: a choice "merge with the next", and Ctrl+Enter.
        "merge": "k kk",
    },
}


def seconds_of(operators: str) -> tuple[float, float, float]:
    """Return keys, mouse actions and seconds of operators.

    They are k for a key, C for a click, D for a double click, R for dragging, and M for a hand between both.
    """
    keys = actions = seconds = 0.0
    cost = {"k": 0.28, "C": 1.3, "D": 1.5, "R": 2.4, "M": 0.4}
    for part in operators.split():
        share = float(part[:-1]) if part[0] == "." else 1.0
        for one in part.lstrip(".0123456789"):
            keys += share * (one == "k")
            actions += share * (one in "CDR")
            seconds += share * cost[one]
    return keys, actions, seconds


def make_store(folder: Path, n: int) -> tuple[Path, list[str]]:
    """Write a corpus and its store; return the command that makes it, and the ids."""
    import soundfile
    from corpora import SAMPLE_RATE, speech_like

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wavs").mkdir(parents=True)
    ids = [f"U-{i:04d}" for i in range(n)]
    for i, uid in enumerate(ids):
        soundfile.write(folder / "wavs" / f"{uid}.wav", speech_like(1.5 + i % 5 / 2, i), SAMPLE_RATE)
    lines = (f"{uid}|x|one two three four five six seven eight nine wrong\n" for uid in ids)
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return folder / "store", ids


def command(store: Path, *more: object) -> None:
    """Make the store."""
    options = ("--preset", "tacotron2", "--frontend", "characters", "--waveform", "int16", "--jobs", "2", "--quiet")
    of = [sys.executable, "-m", "tts_prep", "ljspeech", store.parent, store, *options, *more]
    subprocess.run([str(argument) for argument in of], check=True)


class Reviewer:
    """Presses keys and counts them; a switch from keyboard to mouse or back is an operator, too."""

    def __init__(self, browser: object) -> None:
        self.browser, self.operators, self._device = browser, "", "k"

    def _did(self, operators: str) -> None:
        device = "k" if operators[0] == "k" else "mouse"
        self.operators += (" M " if device != self._device else " ") + operators
        self._device = device

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._did("k" * len(keys))
        self.browser.type(*keys)

    def drag(self, start: float, end: float) -> None:
        """Select a part of the sound; without a length, it is a click."""
        self._did("C" if start == end else "R")
        self.browser.drag("#plot .area", start, end)


def do(job: str, reviewer: Reviewer) -> None:
    """Do one job at the utterance that is shown; all but a rejection go on to the next by a key."""
    if job == "text":
        reviewer.press("c", *["Backspace"] * 5, *"right", "Enter")
    elif job == "reject":
        reviewer.press("n")
    elif job == "trim":
        reviewer.drag(0.2, 0.8)
        reviewer.press("t")
    elif job == "cut":
        reviewer.drag(0.5, 0.5)
        reviewer.press("e", ".")
    else:
        reviewer.press("g")


def review(store: Path, decisions: Path, ids: list[str]) -> dict[str, tuple[float, float, float, float]]:
    """Do all jobs; return keys, actions, seconds of the model and seconds of the page of each, for one utterance."""
    from browser import Browser

    from tts_prep.loader import UtteranceDataset
    from tts_prep.review.decisions import DecisionFile
    from tts_prep.review.pages import Pages
    from tts_prep.review.server import ReviewServer
    from tts_prep.review.sounds import Sounds

    found, n, dataset = {}, len(ids) // len(JOBS), UtteranceDataset(store)
    with ExitStack() as stack:
        file, sounds = stack.enter_context(DecisionFile(decisions)), stack.enter_context(closing(Sounds(dataset)))
        pages = Pages(dataset, file, sounds)
        pages.measure()
        server = stack.enter_context(ReviewServer(pages))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = stack.enter_context(closing(Browser()))
        browser.show(width=1400, height=1000)
        browser.go(f"{server.address}#sort=row")
        browser.wait("document.documentElement.dataset.ready")
        browser.press("j")
        for number, job in enumerate(JOBS):
            # A merge takes two.
            rows = range(number * n, (number + 1) * n, 1 + (job == "merge"))
            reviewer, seconds = Reviewer(browser), []
            for row in rows:
                browser.wait(f"document.querySelector('#id').textContent === '{ids[row]}'")
                browser.wait("document.querySelector('#source').textContent.includes('store')")
                started = time.perf_counter()
                do(job, reviewer)
                while ids[row] not in file.decisions or not done(job, file.decisions[ids[row]]):
                    time.sleep(0.001)
                seconds.append(time.perf_counter() - started)
                if job != "reject":
                    reviewer.press(*["j"] * (1 + (job == "merge")))
            keys, actions, typed = (total / len(rows) for total in seconds_of(reviewer.operators))
            found[job] = (keys, actions, typed, sum(seconds) / len(seconds))
        server.shutdown()
    return found


def done(job: str, decision: object) -> bool:
    """Return whether a decision is that of a job."""
    tests: dict[str, Callable[..., bool]] = {
        "text": lambda d: d.text.endswith("nine right"),
        "reject": lambda d: d.keep == "no",
        "trim": lambda d: d.regions.count("-") == 1,
        "cut": lambda d: d.regions.count("-") == 2 and d.text.endswith("| seven eight nine wrong"),
        "merge": lambda d: bool(d.merge),
    }
    return tests[job](decision)


def check(store: Path, decisions: Path, n: int) -> None:
    """Make the store again, and check that it has the decisions."""
    from tts_prep.loader import UtteranceDataset

    command(store, "--update", "--corrections", decisions, "--exclude", decisions)
    dataset, of_job = UtteranceDataset(store), n // len(JOBS)
    texts = list(dataset.text)
    assert sum(text.endswith("nine right") for text in texts) == of_job
    assert sum(text == "seven eight nine wrong" for text in texts) == of_job
    assert sum(len(text.split()) == 20 for text in texts) == of_job // 2
    assert len(texts) == n - of_job + of_job - of_job // 2, len(texts)
    shortest = sum(seconds < 1.45 for seconds in dataset.seconds.tolist())
    assert shortest >= of_job, "trimmed and cut utterances are shorter than all recordings"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utterances", type=int, default=200)
    n = parser.parse_args().utterances
    store, ids = make_store(WORK, n)
    command(store)
    decisions = WORK / "decisions.csv"
    found = review(store, decisions, ids)
    check(store, decisions, n)
    print("| job | " + " | ".join(f"{tool}: keys, mouse, s" for tool in ("tts-prep", *OTHERS)) + " | answered in |")
    for job in JOBS:
        *own, answered = found[job]
        cells = [own, *(seconds_of(of_tool[job]) for of_tool in OTHERS.values())]
        shown = " | ".join(f"{keys:.3g}, {actions:.3g}, {seconds:.1f}" for keys, actions, seconds in cells)
        print(f"| {job} | {shown} | {1000 * answered:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
