"""Trimming, cutting and merging on the page, and the words of another text."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import soundfile
from browser import CHROMIUM, DRIVER, Browser
from commands import run
from corpora import SAMPLE_RATE, speech_like, write_text
from hypothesis import given
from hypothesis import strategies as st
from reviewing import Serve

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import add_columns
from tts_prep.review import decisions as of_decisions
from tts_prep.review.decisions import Decision, DecisionFile, read_decisions, write_decisions
from tts_prep.review.merging import merge
from tts_prep.review.pages import Pages
from tts_prep.review.sounds import Sounds
from tts_prep.review.utterances import words

OPTIONS = ("--frontend", "characters", "--unknown", "drop", "--jobs", 1, "--waveform", "int16")
PLAIN = ("--preset", "tacotron2")
needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no Chromium or chromedriver")


def place_of(store: Path, row: int, corpus: Path | None = None) -> dict[str, float]:
    dataset = UtteranceDataset(store)
    with DecisionFile(store.parent / "other.csv") as file, closing(Sounds(dataset, corpus)) as sounds:
        answer = Pages(dataset, file, sounds).get(f"{row}/waveform", {"n": "1"})
    assert answer.status == 200
    return json.loads(answer.body)["place"]


@pytest.mark.whole
@pytest.mark.parametrize(
    "settings",
    [
        (*PLAIN, "--trim-db", "20", "--trim-margin", "0"),
        ("--preset", "parakeet-waveflow", "--peak", "none"),
        ("--preset", "styletts2", "--sample-rate", "22050"),
    ],
)
def test_a_region_that_is_chosen_in_the_sound_of_the_store_has_these_samples_in_the_next_store(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: tuple[str, ...]
) -> None:
    """Trimming, and zeros before the stored waveform, are between the sound and the recording."""
    store, row = tmp_path / "store", 3
    padded = np.pad(speech_like(0.6, 3), 3000)
    soundfile.write(own_corpus / "wavs/S-0003.wav", padded, SAMPLE_RATE)
    command = ("ljspeech", own_corpus, store, *OPTIONS, *settings)
    status, _, err = run(capsys, *command)
    assert status == 0, err
    assert (place_of(store, row)["begin"] > 0) == ("20" in settings)
    for first, last in ((6000, 11000), (1000, 3000)):
        dataset, place = UtteranceDataset(store), place_of(store, row)
        rate, before = dataset.sample_rate, np.array(dataset[row].waveform)
        start, end = (place["begin"] + n / rate for n in (first, last))
        heard = before[round((start - place["offset"]) * rate) : round((end - place["offset"]) * rate)]
        edit = Decision(regions=f"{start:.6f}-{end:.6f}")
        write_decisions(tmp_path / "decisions.csv", {dataset.id[row]: edit})
        # Trimming of the next store is not what is tested.
        again = [*command, "--update", "--corrections", tmp_path / "decisions.csv"]
        again = ["90" if argument == "20" else argument for argument in again]
        status, _, err = run(capsys, *again)
        assert status == 0, err
        place = place_of(store, row)
        zeros = round((place["begin"] - place["offset"]) * rate)
        found = UtteranceDataset(store)[row].waveform[zeros : zeros + len(heard)]
        assert place["begin"] == pytest.approx(start, abs=1e-6)
        np.testing.assert_array_equal(found, heard)
        assert len(heard) > 1000


@pytest.mark.whole
def test_recordings_of_the_corpus_are_played_as_they_are_in_the_store(
    own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file = tmp_path / "store", tmp_path / "decisions.csv"
    edits = {"S-0002": Decision(merge="0.1 S-0003"), "S-0005": Decision(text="a | b", regions="0.1-0.3 0.3-0.7")}
    write_decisions(file, edits)
    status, _, err = run(capsys, "ljspeech", own_corpus, store, *OPTIONS[:-2], *PLAIN, "--corrections", file)
    assert status == 0, err
    dataset = UtteranceDataset(store)
    with closing(Sounds(dataset, own_corpus)) as sounds:
        found = [sounds.get(row) for row in range(len(dataset))]
    assert {sound.source for sound in found} == {"corpus"}
    assert [len(sound.samples) / SAMPLE_RATE for sound in found] == pytest.approx(dataset.seconds.tolist())
    fault = place_of(store, list(dataset.id).index("S-0002"), own_corpus)["fault"]
    assert fault == "S-0002 was merged; take that back by g, and make the store again before"
    one, _ = soundfile.read(own_corpus / "wavs/S-0005.wav", dtype="float32")
    np.testing.assert_array_equal(found[list(dataset.id).index("S-0005-2")].samples, one[6615:15435])


def blobs(browser: Browser) -> list[np.ndarray]:
    """Return the samples of the sounds that the page has made."""
    browser.run(
        "const samples = async (blob) => [...new Int16Array((await blob.arrayBuffer()).slice(44))];"
        "window.made = null; Promise.all(window.blobs.map(samples)).then((found) => { window.made = found; });"
    )
    return [np.array(one, np.int16) for one in browser.wait("window.made")]


@needs_browser
def test_what_keys_trim_cut_and_merge_is_shown_and_made_sample_by_sample(
    serve: Serve, browser: Browser, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file, listed = tmp_path / "store", tmp_path / "decisions.csv", own_corpus / "metadata.csv"
    texts = {"S-0003": "今天 a 天气很好。", "S-0004": "“我们走 b 吧！”"}
    lines = [line.split("|") for line in listed.read_text("utf-8").splitlines()]
    write_text(listed, "".join(f"{name}|raw|{texts.get(name, text)}\n" for name, _, text in lines))
    command = ("ljspeech", own_corpus, store, *OPTIONS, *PLAIN)
    assert run(capsys, *command)[0] == 0
    review = serve(store=store)
    browser.go("about:blank")
    browser.show(width=390)
    browser.go(f"{review.server.address}#sort=row&id=S-0002")
    browser.wait("document.documentElement.dataset.ready && document.querySelector('#id').textContent === 'S-0002'")
    browser.run(
        "window.blobs = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { window.blobs.push(blob); return make(blob); }"
    )

    def shown(n: int) -> list[str]:
        browser.wait(
            f"document.querySelectorAll('#parts li').length === {n} && !document.querySelector('#edited').hidden"
        )
        return browser.run("return [...document.querySelectorAll('#parts li')].map((e) => e.textContent)")

    right = "ArrowRight"
    # Keys that wait for nothing: from 0.1 to 0.3 s; the next one; merge it; and cut the one after that at 0.3 s.
    for key in (right, "[", right, right, "]", "t"):
        browser.press(key)
    assert [re.sub(r"^(Before|After)", "", line).split(" s")[0] for line in shown(2)] == [
        "S-0002 · 0.42",
        "S-0002 · 0.20",
    ]
    browser.press("j", "g")
    # Those of the utterance before are there until its sound is.
    browser.wait("(document.querySelectorAll('#parts li')[1]?.textContent ?? '').includes('S-0003')")
    merged = shown(2)[1]
    assert "S-0003 · 1.47 s" in merged
    assert merged.endswith("今天 a 天气很好。“我们走 b 吧！”")
    browser.press("j", "j", right, right, right, "e", ",", "y")
    browser.wait("document.querySelector('#id').textContent === 'S-0006'")
    browser.press("k")
    cut = shown(3)
    assert read_decisions(file) == {
        "S-0002": Decision(regions="0.100000-0.300000"),
        "S-0003": Decision(merge="0.30 S-0004"),
        "S-0005": Decision(
            "yes",
            "A longer sentence, so that | the lengths differ: one, two, three, four, five, six.",
            regions="0.000000-0.300000 0.300000-0.750023",
        ),
    }
    assert "S-0005-2 · 0.45 s · 0.30 to 0.75 s" in cut[2]
    assert cut[2].endswith("the lengths differ: one, two, three, four, five, six.")
    assert not browser.run("return document.querySelector('#stop').open")
    heard = blobs(browser)
    status, out, err = run(capsys, *command, "--update", "--corrections", file)
    assert status == 0, err
    assert "trimmed: 1 row; cut: 1 row; merged: 1 row" in out
    for utterance in UtteranceDataset(store):
        if utterance.id in ("S-0002", "S-0003", "S-0005-1", "S-0005-2"):
            assert any(np.array_equal(utterance.waveform, one) for one in heard), utterance.id
        if utterance.id == "S-0003":
            assert merged.endswith(utterance.text)

    # What is there already is not shown as a change, and is taken back by the same keys.
    browser.press("z", "z", "z")
    browser.wait("document.querySelector('#edited').hidden")
    browser.press("k", "k", "g", "k", "t")
    browser.wait("document.querySelector('#id').textContent === 'S-0002' && document.querySelector('#edited').hidden")
    assert read_decisions(file) == {}


@needs_browser
@pytest.mark.skipif(not os.environ.get("AXE_CORE"), reason="AXE_CORE is not the path of npm's axe-core/axe.min.js")
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_axe_finds_nothing_where_an_utterance_was_cut_and_words_differ(
    serve: Serve, browser: Browser, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], width, scheme
) -> None:
    store = tmp_path / "store"
    assert run(capsys, "ljspeech", own_corpus, store, *OPTIONS, *PLAIN)[0] == 0
    add_columns(store, {"id": ["S-0005"], "asr": ["a longer sentences so"]})
    review = serve(store=store)
    assert review.post("decide", row=5, text="one | two", regions="0-0.3 0.3-0.7")[0] == 200
    browser.go("about:blank")
    browser.show(width=width, scheme=scheme)
    browser.go(f"{review.server.address}#sort=row&id=S-0005")
    browser.wait("document.querySelectorAll('#parts canvas').length === 3 && document.querySelector('#difference del')")
    browser.run(Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8"))
    browser.run("window.axed = null; axe.run().then((found) => { window.axed = found; });")
    browser.wait("window.axed")
    assert browser.run("return window.axed.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)])") == []


@needs_browser
def test_an_edit_that_is_not_possible_stops_the_keys_after_it(serve: Serve, browser: Browser, tmp_path: Path) -> None:
    review = serve()
    names = [row.id for row in review.rows]
    browser.go("about:blank")
    browser.show(width=1400)
    browser.go(f"{review.server.address}#sort=row&id={names[-1]}")
    browser.wait(f"document.querySelector('#id').textContent === '{names[-1]}'")
    browser.type("g", "y")
    browser.wait("document.querySelector('#stop').open")
    assert browser.run("return document.querySelector('#stop').textContent").startswith(
        "It cannot be trimmed, cut or m"
    )
    assert not (tmp_path / "decisions.csv").exists()
    browser.press("Escape")


@needs_browser
def test_a_merge_that_the_next_store_would_refuse_is_refused(
    serve: Serve, browser: Browser, own_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file = tmp_path / "store", tmp_path / "list.jsonl"
    parts = {"S-0001": "train", "S-0002": "train", "S-0003": "dev"}
    rows = [{"id": uid, "audio": f"wavs/{uid}.wav", "text": "One.", "split": part} for uid, part in parts.items()]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    status, _, err = run(capsys, "manifest", file, store, "--root", own_corpus, *OPTIONS, *PLAIN)
    assert status == 0, err
    review = serve(store=store)
    browser.go("about:blank")
    browser.show(width=1400)
    browser.go(f"{review.server.address}#sort=row&id=S-0002")
    browser.wait("document.documentElement.dataset.ready && document.querySelector('#id').textContent === 'S-0002'")
    browser.type("g")
    browser.wait("document.querySelector('#stop').open")
    assert "S-0003 follows, which is of 0, dev, not of 0, train." in browser.run(
        "return document.querySelector('#stop').textContent"
    )
    assert not (tmp_path / "decisions.csv").exists()
    browser.press("Escape")


@needs_browser
def test_words_that_a_recognizer_heard_otherwise_are_marked(serve: Serve, browser: Browser, tmp_path: Path) -> None:
    review = serve()
    uid, text = review.rows[0].id, review.rows[0].text
    add_columns(tmp_path / "store", {"id": [uid], "asr": [f"well {text.upper()}"]})
    other = serve(store=tmp_path / "store") if review.server.pages.table.decisions.close() is None else review
    browser.go("about:blank")
    browser.go(f"{other.server.address}#sort=row&id={uid}")
    browser.wait("document.querySelector('#difference').textContent")
    marks = "[...document.querySelectorAll('#difference del, #difference ins')]"
    assert browser.run(f"return {marks}.map((e) => e.tagName + e.textContent)") == ["INSwell"]
    assert browser.run("return document.querySelector('#difference-count').textContent") == "1 word differs"
    assert other.ask("GET", f"{other.base}0/words?column=seconds")[0] == 400


@given(
    st.lists(st.sampled_from(["a", "b", "c.", "C", "D'", "—"]), max_size=8),
    st.lists(st.sampled_from(["a", "B", "c", "d", "—"]), max_size=8),
)
def test_groups_of_words_make_up_both_texts_and_are_the_same_but_for_case_and_punctuation(
    one: list[str], two: list[str]
) -> None:
    groups = words(" ".join(one), "  ".join(two))
    assert " ".join(text for _, text, _ in groups if text) == " ".join(one)
    assert " ".join(text for _, _, text in groups if text) == " ".join(two)
    for same, mine, theirs in groups:
        plain = [re.sub(r"['.]", "", text).lower() for text in (mine, theirs)]
        assert (plain[0] == plain[1]) == same


def test_a_file_has_the_columns_of_edits_once_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,keep,mos\na,yes,4\n", encoding="utf-8")
    with DecisionFile(path) as file:
        file.decide("b", Decision("no"))
        assert path.read_text(encoding="utf-8") == "id,keep,text,speaker,note,mos\na,yes,,,,4\nb,no,,,,\n"
        file.decide("b", Decision("no", regions="0-1.5"))
        with_edit = "id,keep,text,speaker,note,regions,merge,mos\na,yes,,,,,,4\nb,no,,,,0-1.5,,\n"
        assert path.read_text(encoding="utf-8") == with_edit
        assert file.undo() == "b"
        with pytest.raises(ConfigurationError, match="regions: expected 1 to 100 regions"):
            file.change("b", {"regions": "2-1"})
        with pytest.raises(ConfigurationError, match="text: expected the texts of 2 regions, separated by '|'"):
            file.change("b", {"regions": "0-1 1-2", "text": "whole"})
    assert read_decisions(path) == {"a": Decision("yes"), "b": Decision("no")}


def test_regions_and_texts_of_different_reviewers_are_not_mixed() -> None:
    cut = Decision("yes", "a | b", regions="0-1 1-2")
    anna = {"x": cut, "y": Decision(merge="0.3 z"), "z": cut}
    ben = {"x": Decision(text="a b"), "y": Decision("no", merge="0.3 z"), "z": Decision("yes")}
    merged = merge({"anna": anna, "ben": ben})
    assert merged.decisions == {"x": Decision("yes"), "y": Decision("no", merge="0.3 z"), "z": cut}
    expected = ("x", "regions", {"anna": "0-1 1-2 a | b", "ben": "a b"})
    assert [(one.id, one.field, dict(one.values)) for one in merged.conflicts] == [expected]


def test_the_decisions_of_an_hour_are_counted_without_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(of_decisions.time, "monotonic", lambda: now[0])
    with DecisionFile(tmp_path / "d.csv") as file:
        assert file.pace() == ""
        # Twice the same utterance is one; an hour away counts as five minutes.
        for seconds, uid in ((10, "a"), (5, "a"), (45, "b"), (3600, "c")):
            now[0] += seconds
            file.change(uid, {"keep": "no" if file.get(uid).keep else "yes"})
        assert file.pace() == "; in this review 3 in 6 min 0 s, 30 an hour"
