from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
import wave
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from browser import Browser
from commands import run
from corpora import write_ljspeech
from PIL import Image
from stores import edit_manifest, make_rows, write_store

from tts_prep.inspection.settings import setting_tables
from tts_prep.loader import UtteranceDataset
from tts_prep.pictures.spectrogram import mel_picture, sound
from tts_prep.preprocess import add_columns
from tts_prep.report.charts import histogram
from tts_prep.report.columns import NumberColumn, end_groups, suspect_groups
from tts_prep.report.comparison import compare, comparison_html
from tts_prep.report.page import Cards, report_html
from tts_prep.report.speakers import pitch_ranges, speaker_table
from tts_prep.report.summary import cover, summarise

HOSTILE = "<script>document.title='owned'</script><img src=http://evil.invalid/x onerror=alert(1)>\"' $x^2$ \x00\u202e"
FIGURES = {"seconds", "phone-rate", "phones", "mel-bins", "symbols"}


class Page(HTMLParser):
    """The elements of a page, and the exact numbers in its ``data`` elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def number(self, name: str) -> float:
        return next(float(a["value"]) for tag, a in self.elements if tag == "data" and a.get("id") == name)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with waveforms and one failed row."""
    from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
    from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
    from tts_prep.preprocess.run import prepare

    root = write_ljspeech(tmp_path_factory.mktemp("report") / "lj")
    (root / "wavs" / "S-0002.wav").unlink()
    path = root.parent / "store"
    config = Configuration(store=StoreConfig(shard_utterances=3, waveform_dtype="int16"))
    prepare(read_ljspeech(root), root, path, config, max_failures=1)
    return path


@pytest.fixture(scope="module")
def page(spoken: Path) -> Path:
    path = spoken.parent / "report.html"
    path.write_text(report_html(summarise(spoken)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pitched(spoken: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which the second half of each utterance is voiced, at 110 Hz where its id ends in 1, …"""
    from tts_prep.additions.add_arrays import add_array

    path = tmp_path_factory.mktemp("pitched") / "store"
    shutil.copytree(spoken, path)
    add_array(path, "pitch", steady_pitch, jobs=1, settings={"unit": "ln_hz"})
    return path


def steady_pitch(utterance: Any) -> np.ndarray:
    voiced = np.arange(len(utterance.mel)) >= len(utterance.mel) // 2
    return np.where(voiced, np.log(100 + 10 * int(utterance.id[-1])), 0).astype(np.float32)


def hostile_store(path: Path) -> Path:
    rows = make_rows([30, 4, 60, 90, 41])
    changed = [
        replace(
            row, id=f"{i}{HOSTILE}", text=HOSTILE, phoneme_text=HOSTILE, speaker=HOSTILE, gender=f"{i % 2}{HOSTILE}"
        )
        for i, row in enumerate(rows)
    ]
    write_store(path, changed, waveform=True)
    failure = {"id": HOSTILE, "where": HOSTILE, "stage": HOSTILE, "reason": HOSTILE}
    (path / "failures.jsonl").write_text(json.dumps(failure) + "\n", encoding="utf-8")
    size = (path / "failures.jsonl").stat().st_size
    edit_manifest(path, lambda manifest: manifest["failures"].update(rows=1, size=size))
    return path


def test_its_numbers_are_those_of_info_and_of_a_count_of_the_shards(
    capsys: pytest.CaptureFixture[str], spoken: Path, page: Path
) -> None:
    totals = json.loads(run(capsys, "info", spoken, "--json")[1])
    found = Page(page.read_text(encoding="utf-8"))
    for name in ("utterances", "seconds", "frames", "phonemes", "failures"):
        assert found.number(f"total-{name}") == pytest.approx(totals["totals"][name], rel=1e-12), name
    assert found.number("total-bytes") == totals["bytes"]
    assert found.number("total-speakers") == len(totals["speakers"])
    frames = phonemes = utterances = samples = 0
    symbols: Counter[int] = Counter()
    for path in sorted((spoken / "shards").iterdir()):
        with h5py.File(path) as shard:
            frames += shard["mel"].shape[0]
            phonemes += shard["phonemes"].shape[0]
            samples += shard["waveform"].shape[0]
            utterances += shard["columns/seconds"].shape[0]
            symbols.update(shard["phonemes"][...].tolist())
    assert (found.number("total-frames"), found.number("total-phonemes")) == (frames, phonemes)
    assert (found.number("total-utterances"), found.number("total-failures")) == (utterances, 1)
    assert found.number("total-seconds") == pytest.approx(samples / 22_050)
    counted = [int(a["value"]) for tag, a in found.elements if tag == "data" and a.get("class") == "symbol-count"]
    assert counted == sorted(symbols.values(), reverse=True)
    # The symbol table of StyleTTS2 has 178 symbols, one of them padding and one a second time: U+0027.
    table = totals["vocabulary"]["symbols"]
    in_use = {symbol: i for i, symbol in enumerate(table) if i != totals["vocabulary"]["pad"]}
    assert found.number("never-seen") == sum(i not in symbols for i in in_use.values())


def test_every_section_and_every_figure_is_there(page: Path) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    ids = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    assert {f"figure-{name}" for name in FIGURES} <= ids
    links = {attributes["href"][1:] for tag, attributes in found.elements if tag == "a"}
    assert links <= ids
    assert {f"outliers-{kind}" for kind in ("longest", "shortest", "fastest", "slowest")} <= ids
    assert "S-0002.wav: no such file" in found.text
    tags = Counter(tag for tag, _ in found.elements)
    assert (tags["audio"], tags["script"]) == (6, 0)


def test_ids_are_unique_and_nothing_refers_to_another_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    ids = Counter(attributes["id"] for _, attributes in found.elements if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []
    for _, attributes in found.elements:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:")), attributes
    assert not re.findall(r"url\((?!#)", text)


def test_the_same_store_gives_the_same_bytes(spoken: Path, page: Path) -> None:
    assert report_html(summarise(spoken)) == page.read_text(encoding="utf-8")
    assert report_html(summarise(spoken, seed=1)) != page.read_text(encoding="utf-8")


def test_what_a_corpus_says_is_text_and_never_markup(tmp_path: Path) -> None:
    text = report_html(summarise(hostile_store(tmp_path / "store")))
    found = Page(text)
    tags = Counter(tag for tag, _ in found.elements)
    assert tags["script"] == 0
    assert all("onerror" not in attributes for _, attributes in found.elements)
    assert all(attributes["src"].startswith("data:") for tag, attributes in found.elements if tag == "img")
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "<script>document.title='owned'</script>" in found.text


def test_an_empty_store_has_a_page_too(tmp_path: Path) -> None:
    found = Page(report_html(summarise(write_store(tmp_path / "store", [], n_shards=1))))
    assert found.number("total-utterances") == 0
    assert "There are no utterances." in found.text


def test_outliers_are_the_ends_of_each_scale(tmp_path: Path) -> None:
    lengths = [50, 9, 200, 30, 120, 77, 61, 33]
    summary = summarise(write_store(tmp_path / "store", make_rows(lengths)))
    found = {group.title: [position for position, _ in group.positions] for group in end_groups(summary.columns)}
    assert found["Longest"] == [2, 4, 5]
    assert found["Shortest"] == [1, 3, 7]
    # Each symbol of these stores is a letter: a phone.
    rates = [(1 + n // 3) / (((n - 1) * 256 + 17) / 22_050) for n in lengths]
    assert found["Fastest"] == sorted(range(8), key=lambda i: -rates[i])[:3]
    assert found["Slowest"] == sorted(range(8), key=lambda i: rates[i])[:3]


def planted(path: Path, *, clipped: bool = True) -> Path:
    """Return a store in which utterance 3 is clipped and utterance 5 is a copy of utterance 1."""
    rows = make_rows([120] * 8)
    time = np.arange(len(rows[0].waveform)) / 22_050
    sines = [0.4 * np.sin(2 * np.pi * (300 + 40 * i) * time) * np.hanning(len(time)) for i in range(8)]
    noise = np.random.default_rng(0).normal(0, 0.002, len(time))
    sines = [sine + noise for sine in sines]
    if clipped:
        sines[3] = np.clip(4 * sines[3], -0.7, 0.7)
    sines[5] = sines[1]
    # 12 phones in 1.4 s, so that none is too fast.
    rows = [
        replace(row, waveform=np.rint(w * 32_767).astype(np.int16), phonemes=row.phonemes[:12])
        for row, w in zip(rows, sines, strict=True)
    ]
    return write_store(path, rows, waveform=True)


def test_suspects_come_first_with_their_reasons_and_their_sound(tmp_path: Path) -> None:
    summary = summarise(planted(tmp_path / "store"))
    text = report_html(summary)
    found = Page(text)
    anchors = [a.get("id", "") for tag, a in found.elements if tag == "article"]
    assert set(anchors[:2]) == {"u3", "u5"}
    assert len(anchors) == len(set(anchors))
    assert "as LJ001-é" in found.text
    for reason in ("clipped", "audio-duplicate"):
        assert f'href="#reason-{reason}"' in text
    assert text.count("<audio") == 8
    # Room for the sounds of two: they are those of the suspects.
    size = 2 * len(summary.dataset[0].waveform)  # type: ignore[arg-type]
    less = report_html(summary, max_sound_bytes=2 * size + 100)
    heard = re.findall(r'<article class="clip" id="(u\d+)">(?:(?!</article>).)*<audio', less, re.DOTALL)
    assert set(heard) == {"u3", "u5"}
    assert "6 utterances of this page have no sound" in less


def test_a_duplicate_is_shown_with_its_original_and_the_page_says_how_to_exclude_it(tmp_path: Path) -> None:
    path = planted(tmp_path / "a store")
    summary = summarise(path)
    groups = {group.title: group for group in suspect_groups(summary.suspects)}
    original, copy = summary.dataset.id[1], summary.dataset.id[5]
    assert groups["audio-duplicate"].positions == ((5, f"as {original}"), (1, f"original of {copy}"))
    text = report_html(summary)
    assert f"· original of {copy}" in Page(text).text
    assert 'href="#exclude"' in text
    assert "tts-prep check &#39;a store&#39; --ids suspects.txt" in text


def test_suspects_without_a_card_are_listed_the_worst_first(tmp_path: Path) -> None:
    # All have 41 phones, so the shorter are the faster.
    rows = [replace(row, phonemes=np.ones(41, np.int32)) for row in make_rows([50, 20, 40, 30, 10])]
    summary = summarise(write_store(tmp_path / "store", rows))
    (group,) = [group for group in suspect_groups(summary.suspects) if group.title == "too-fast"]
    assert [position for position, _ in group.positions] == [4, 1, 3]
    assert (group.more, group.n_more) == ((summary.dataset.id[2], summary.dataset.id[0]), 2)


def test_a_reason_of_most_utterances_is_said_to_be_common(tmp_path: Path) -> None:
    rows = [replace(row, phonemes=np.ones(41, np.int32)) for row in make_rows([20] * 12)]
    text = Page(report_html(summarise(write_store(tmp_path / "store", rows)))).text
    assert "too-fast applies to more than a fifth of the utterances" in text
    assert "--threshold too-fast=inf ignores the reason" in text
    few = Page(report_html(summarise(write_store(tmp_path / "few", rows[:9])))).text
    assert "more than a fifth" not in few


def test_settings_are_words_and_not_python() -> None:
    manifest = SimpleNamespace(
        version="1.3",
        fingerprint="f",
        configuration={"corpus": {"files": ["a.jsonl", "b.jsonl"], "extra": []}},
        specs={
            "x": SimpleNamespace(added=True, dtype="f", axis="own", row_shape=(), settings={"pitch": {"unit": "hz"}})
        },
        software={},
    )
    tables = dict(setting_tables(manifest))  # type: ignore[arg-type]
    assert tables["corpus"] == {"files": "a.jsonl b.jsonl", "extra": "none"}
    assert (tables["array x"]["row shape"], tables["array x"]["pitch"]) == ("none", "unit hz")


def test_of_a_large_store_utterances_at_even_distances_are_measured(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", make_rows([40] * 10))
    summary = summarise(store, max_bytes=40 * 10 * 5 * 4 // 3 + 1)
    assert summary.checked.indices.tolist() == [0, 3, 6, 9]
    assert "4 of 10 utterances, at even distances, were measured" in report_html(summary)


def test_a_speaker_has_the_means_of_his_utterances_and_z_scores_among_speakers(tmp_path: Path) -> None:
    lengths = [40, 60, 80, 100, 120, 200]
    rows = [replace(row, speaker=f"p{i % 6}") for i, row in enumerate(make_rows(lengths))]
    summary = summarise(write_store(tmp_path / "store", rows, waveform=True))
    speakers = summary.speakers
    assert speakers.names == ("p5", "p4", "p3", "p2", "p1", "p0")
    rates = np.array([(1 + n // 3) / (((n - 1) * 256 + 17) / 22_050) for n in reversed(lengths)])
    place = [name for name, _ in speakers.columns].index("speaking rate")
    assert speakers.means[:, place] == pytest.approx(rates)
    assert speakers.z_scores[:, place] == pytest.approx((rates - rates.mean()) / rates.std())
    few = summarise(write_store(tmp_path / "few", [replace(row, speaker=f"p{i % 4}") for i, row in enumerate(rows)]))
    assert np.isnan(few.speakers.z_scores).all()


def test_means_that_look_the_same_have_no_z_scores_and_suspects_have_them(tmp_path: Path) -> None:
    rows = [replace(row, speaker=f"p{i}") for i, row in enumerate(make_rows([40] * 6))]
    dataset = UtteranceDataset(write_store(tmp_path / "store", rows))
    columns = [
        NumberColumn("phones", "Phones", "phones", np.full(6, 9.0)),
        # Recordings that were normalized to one peak, and then rounded.
        NumberColumn("peak", "Peak", "dBFS", -0.0087 + np.arange(6) * 1e-7),
    ]
    speakers = speaker_table(dataset, columns, np.arange(6) == 2)
    assert np.isnan(speakers.z_scores).all()
    # One of six has 100 %: the mean is 1/6, the variance 1/6 · 5/6.
    assert speakers.suspects_z[2] == pytest.approx((5 / 6) / np.sqrt(5 / 36))


def test_phones_pairs_and_words_are_counted(tmp_path: Path) -> None:
    # Symbols 1 to 4 are letters; the second text has no pair that the first one has not.
    rows = make_rows([9, 9])
    rows[0] = replace(rows[0], phonemes=np.array([1, 2, 1, 2, 3], np.int32), text="Don't STOP, don’t stop-gap 12.")
    rows[1] = replace(rows[1], phonemes=np.array([2, 3], np.int32), text="stop")
    coverage = cover(UtteranceDataset(write_store(tmp_path / "store", rows)))
    assert coverage.symbol_counts.tolist() == [0, 2, 3, 2, 0]
    assert coverage.never_seen == ("é",)
    assert coverage.phones == (1, 2, 3)
    assert coverage.diphone_counts.tolist() == [[0, 2, 0], [1, 0, 2], [0, 0, 0]]
    assert coverage.word_counts == {"don't": 1, "don’t": 1, "stop": 2, "stop-gap": 1}


def test_of_texts_without_spaces_characters_are_counted(tmp_path: Path) -> None:
    rows = [
        replace(row, text=text) for row, text in zip(make_rows([9, 9]), ("你好，你们好。", "猫である"), strict=True)
    ]
    coverage = cover(UtteranceDataset(write_store(tmp_path / "store", rows)))
    assert coverage.word_unit == "characters"
    assert coverage.word_counts == {"你": 2, "好": 2, "们": 1, "猫": 1, "で": 1, "あ": 1, "る": 1}


def test_a_histogram_draws_limits_that_lie_near_its_values() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, np.nan])
    drawing = histogram([values], "s", "Length", [3.5, 100.0])
    assert sum(path.style == "limit" for path in drawing.paths) == 1
    tallest = max(drawing.rectangles, key=lambda r: r.height)
    assert tallest.hint.endswith(": 2")
    # The limit is to the right of all bars.
    x = float(next(p.data for p in drawing.paths if p.style == "limit")[1:].partition(" ")[0])
    assert x > max(r.x + r.width for r in drawing.rectangles)


def test_a_histogram_shows_each_suspect_however_few() -> None:
    values = np.concatenate([np.linspace(0, 1, 9999), [5.0, np.nan]])
    drawing = histogram([values], "s", "length (s)", [4.0], values > 4)
    (red,) = [r for r in drawing.rectangles if r.style == "bar suspect"]
    assert red.hint.endswith(": 1 suspect")
    # To scale, it would have a hundredth of a pixel.
    assert red.height == 2
    assert red.y + red.height == max(r.y + r.height for r in drawing.rectangles)
    assert ("bar suspect", "suspects") in drawing.legend
    none = histogram([values], "s", "length (s)", [9.0], values > 9)
    assert {r.style for r in none.rectangles} == {"bar"}
    assert "suspects" not in {name for _, name in none.legend}


def test_marks_of_an_axis_have_different_texts() -> None:
    small = histogram([np.linspace(0.0001, 0.0004, 40)], "s", "digital silence (s)")
    near = histogram([np.linspace(100.2, 101.6, 40)], "Hz", "pitch (Hz)")
    for drawing in (small, near):
        texts = [label.text for label in drawing.labels if label.y == max(m.y for m in drawing.labels) - 18]
        assert len(texts) > 2
        assert len({*texts}) == len(texts)


@pytest.mark.parametrize(
    "values",
    [
        (0.3, 0.1 + 0.2),
        (1.0, 1 + 2**-52),
        (1e-14, 2e-14),
        (-3e-9, 1e-9),
        (0.0, 5e-324),
        (1e-320, 2e-310),
        (1e-299, 3e-300),
        (-1e308, 1e308),
        (1e300, -1e300),
        (1e17, 1e17 + 16),
        (1.7e9, 1.7e9 + 60),
    ],
)
def test_a_histogram_of_any_two_numbers_has_all_of_them_and_marks_with_different_texts(
    values: tuple[float, float],
) -> None:
    drawing = histogram([np.array([*values, values[0], np.nan])], "", "score", [1.0])
    counts = [int(rectangle.hint.rpartition(": ")[2]) for rectangle in drawing.rectangles]
    assert sum(counts) == (3 if max(map(abs, values)) <= 1e300 else 0)
    texts = [label.text for label in drawing.labels if label.y == max(m.y for m in drawing.labels) - 18]
    assert len({*texts}) == len(texts) > 1


def test_a_column_of_numbers_that_differ_by_rounding_has_a_place_on_the_page(tmp_path: Path) -> None:
    rows = make_rows([40, 25, 60])
    store = write_store(tmp_path / "store", rows)
    numbers = {"near": [0.3, 0.1 + 0.2, 0.3], "tiny": [1e-14, 2e-14, 0.0], "large": [1e308, -1e308, 0.0]}
    add_columns(store, {"id": [row.id for row in rows], **numbers})
    figures = {a.get("id", "") for tag, a in Page(report_html(summarise(store))).elements if tag == "figure"}
    assert {"figure-near", "figure-tiny", "figure-large"} <= figures


def test_a_column_of_yes_and_no_has_no_histogram(tmp_path: Path) -> None:
    columns = {column.key: column for column in summarise(planted(tmp_path / "store")).columns}
    assert set(columns["audio_copies"].values.tolist()) == {0, 1}
    assert not columns["audio_copies"].varies
    assert columns["similarity"].varies
    assert columns["phones"].axis == "phones"
    assert columns["silence_start"].axis == "silence at the start (s)"


def test_pitch_by_speaker_is_that_of_the_voiced_frames(pitched: Path) -> None:
    summary = summarise(pitched)
    frames = np.asarray(summary.dataset.n_frames)
    hertz = [100.0 + 10 * int(id_[-1]) for id_ in summary.dataset.id]
    voiced = np.concatenate([np.full(n - n // 2, f0) for n, f0 in zip(frames.tolist(), hertz, strict=True)])
    ((name, quantiles),) = pitch_ranges(summary.checked, summary.speakers, 20)
    assert name == "ljspeech"
    assert quantiles == pytest.approx(np.quantile(voiced, [0.05, 0.25, 0.5, 0.75, 0.95]), rel=1e-5)
    column = next(column for column in summary.columns if column.key == "pitch")
    assert column.values == pytest.approx(hertz, rel=1e-5)
    text = report_html(summary)
    assert 'id="figure-pitch-by-speaker"' in text
    assert text.count('class="pitch"') == 6


def test_an_extreme_is_told_as_on_its_card(pitched: Path) -> None:
    summary = summarise(pitched)
    (highest,) = [group for group in end_groups(summary.columns) if group.title == "Highest pitch"]
    ((_, fact), *_) = highest.positions
    top = max(int(id_[-1]) for id_ in summary.dataset.id)
    assert fact == f"pitch {100 + 10 * top} Hz"
    (card, *_) = Cards(summary).group(highest).cards
    assert card.facts.count(fact) == 1


def test_every_measure_has_a_meaning_but_those_whose_name_says_it(tmp_path: Path) -> None:
    columns = summarise(write_store(tmp_path / "store", make_rows([30]))).columns
    unexplained = {column.key for column in columns if not column.meaning}
    assert unexplained == {"seconds", "audio_copies", "text_copies"}


def test_csv_has_every_column_of_every_utterance(
    capsys: pytest.CaptureFixture[str], spoken: Path, tmp_path: Path
) -> None:
    file = tmp_path / "all.csv"
    status, out, err = run(capsys, "report", spoken, "-o", tmp_path / "page.html", "--csv", file)
    assert (status, err) == (0, "")
    assert f"{file}: 6 utterances" in out
    dataset = UtteranceDataset(spoken)
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["id"] for row in rows] == list(dataset.id)
    assert [row["text"] for row in rows] == list(dataset.text)
    assert [float(row["seconds (s)"]) for row in rows] == pytest.approx(dataset.seconds.tolist(), rel=1e-5)
    assert {"n_frames", "speaker", "phone_rate (phones/s)", "peak (dBFS)", "reasons"} <= set(rows[0])


def test_a_comparison_names_what_differs(capsys: pytest.CaptureFixture[str], spoken: Path, tmp_path: Path) -> None:
    rows = make_rows([30, 40, 50])
    changed = [replace(rows[0], text="Other.", mel=rows[0].mel + 0.25), rows[1], replace(rows[2], id="new")]
    one = write_store(tmp_path / "one", rows, configuration={"audio": {"n_fft": 1024, "fmin": 0.0}})
    two = write_store(tmp_path / "two", changed, configuration={"audio": {"n_fft": 1024, "fmin": 50.0}})
    page = tmp_path / "page.html"
    status, out, err = run(capsys, "report", one, two, "-o", page)
    assert (status, err) == (0, "")
    assert out.startswith(f"{page}: 3 and 3 utterances compared, ")
    found = Page(page.read_text(encoding="utf-8"))
    counts = {name: found.number(name) for name in ("n-common", "only-first", "only-second", "differs-text")}
    assert counts == {"n-common": 2, "only-first": 1, "only-second": 1, "differs-text": 1}
    assert found.number("differs-phonemes") == found.number("differs-speaker") == 0
    assert "mel mean" in found.text
    settings = compare(summarise(one), summarise(two)).stores.settings
    assert settings == (("audio", "fmin", "0", "50"),)
    status, _, err = run(capsys, "report", one, two, "-o", page, "--csv", tmp_path / "x.csv")
    assert status == 2
    assert "--csv: supported for one store only" in err


def test_a_comparison_lists_the_utterances_that_are_suspect_in_one_store_only(tmp_path: Path) -> None:
    before, after = summarise(planted(tmp_path / "a")), summarise(planted(tmp_path / "b", clipped=False))
    comparison = compare(before, after)
    assert comparison.only_suspect == ((before.dataset.id[3],), ())
    found = Page(comparison_html(comparison))
    assert (found.number("suspect-first"), found.number("suspect-second")) == (1, 0)


def test_a_comparison_keeps_words_of_phonemes_whole(tmp_path: Path) -> None:
    rows = make_rows([30])
    one = write_store(tmp_path / "one", [replace(rows[0], phoneme_text="ðə tˈɛkst")])
    two = write_store(tmp_path / "two", [replace(rows[0], phoneme_text="DH AH0 ▁ T EH1 K S T")])
    text = comparison_html(compare(summarise(one), summarise(two)))
    assert re.findall('<span class="word">([^<]*)</span>', text) == ["ðə", "tˈɛkst", "DH AH0", "T EH1 K S T"]


def test_a_comparison_of_other_utterances_has_nothing_to_say_of_their_mels(tmp_path: Path) -> None:
    rows = make_rows([30, 40])
    one, two = (write_store(tmp_path / row.id, [row]) for row in rows)
    text = Page(comparison_html(compare(summarise(one), summarise(two)))).text
    assert "0 utterances have the same id" in text
    assert "mels" not in text
    assert "Common utterances" not in text


def test_a_comparison_takes_what_a_corpus_says_for_text(tmp_path: Path) -> None:
    hostile = summarise(hostile_store(tmp_path / "hostile"))
    text = comparison_html(compare(hostile, summarise(write_store(tmp_path / "b", make_rows([9])))))
    tags = Counter(tag for tag, _ in Page(text).elements)
    assert (tags["script"], tags["img"]) == (0, 0)
    assert "\u202e" not in text


def test_a_mel_picture_has_low_frequencies_at_the_bottom_and_the_shades_of_its_values() -> None:
    mel = np.zeros((1000, 6), np.float32)
    mel[:500, 0] = 10
    uri = mel_picture(mel, 0, 10)
    picture = Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGB")
    assert picture.size == (1000, 6)
    assert sum(picture.getpixel((40, 5))) > 600  # type: ignore[arg-type]
    assert sum(picture.getpixel((800, 5))) < 30  # type: ignore[arg-type]
    assert sum(picture.getpixel((40, 0))) < 30  # type: ignore[arg-type]


def test_a_sound_is_the_waveform_itself() -> None:
    samples = np.array([0, 1, -32_768, 32_767], np.int16)
    with wave.open(io.BytesIO(base64.b64decode(sound(samples, 22_050).partition(",")[2]))) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.getsampwidth()) == (22_050, 1, 2)
        assert np.frombuffer(wav.readframes(4), "<i2").tolist() == samples.tolist()


def test_the_command_writes_the_page_and_says_so(
    capsys: pytest.CaptureFixture[str], spoken: Path, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    status, out, err = run(capsys, "report", spoken, "-o", target)
    assert (status, err) == (0, "")
    assert out.startswith(f"{target}: 6 utterances on one page, ")
    status, _, err = run(capsys, "report", spoken, "-o", tmp_path / "nowhere" / "page.html")
    assert status == 1
    assert "cannot be written" in err
    assert err.count("\n") == 1


_ERRORS = re.compile(r"error|refused|violat|blocked|failed", re.IGNORECASE)


def test_a_browser_shows_every_figure_without_an_error_or_a_request(browser: Browser, page: Path) -> None:
    browser.requests(), browser.console()
    browser.show(width=360, scheme="dark")
    browser.open(page)
    for width, scheme in product((360, 1280), ("light", "dark")):
        browser.show(width=width, scheme=scheme)
        shows_every_figure(browser, width, scheme)
        assert [message for message in browser.console() if _ERRORS.search(message)] == [], (width, scheme)
    assert {url for url in browser.requests() if not url.startswith("data:")} == {page.absolute().as_uri()}
    ids = browser.run("return [...document.querySelectorAll('figure')].map(e => e.id.slice(7))")
    assert set(ids) >= FIGURES
    players = browser.run(
        "return [...document.querySelectorAll('audio')].map(e => [e.readyState, e.duration, e.error && e.error.code])"
    )
    assert len(players) == 6
    assert all(ready >= 1 and duration > 0.1 and error is None for ready, duration, error in players)


def shows_every_figure(browser: Browser, width: int, scheme: str) -> None:
    """Assert that all figures and words of the page that is open can be seen in a window of this width."""
    browser.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
    found = browser.run(
        "return [...document.querySelectorAll('svg[role=img]')].map(e => "
        "[e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert len(found) > 12
    assert all(w > 100 and h > 40 for w, h in found)
    # No line breaks inside of a word of phonemes: before a stress mark a browser would.
    lines = browser.run("return [...document.querySelectorAll('.word')].map(e => e.getClientRects().length)")
    assert set(lines) == {1}
    # Nothing makes the page itself wider than the window.
    assert browser.run("return document.documentElement.scrollWidth") <= width
    paper, ink, chart = browser.run(
        "const colour = (e, p) => getComputedStyle(e)[p];"
        "return [colour(document.body, 'backgroundColor'), colour(document.body, 'color'),"
        " colour(document.querySelector('figure svg text'), 'fill')]"
    )
    brightness = {name: sum(map(int, re.findall(r"\d+", c)[:3])) for name, c in (("paper", paper), ("ink", ink))}
    assert (brightness["paper"] > brightness["ink"]) == (scheme == "light")
    assert chart == ink


def test_a_browser_takes_what_a_corpus_says_for_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(report_html(summarise(hostile_store(tmp_path / "store"))), encoding="utf-8")
    browser.show(width=1280)
    browser.requests(), browser.console()
    browser.open(path)
    assert browser.run("return document.title") == "store: a tts-prep report"
    assert browser.run("return document.scripts.length") == 0
    assert [message for message in browser.console() if _ERRORS.search(message)] == []
    assert {url for url in browser.requests() if not url.startswith("data:")} == {path.absolute().as_uri()}
    assert browser.run("return document.documentElement.scrollWidth") <= 1280


def test_the_keyboard_reaches_every_section_and_table(browser: Browser, page: Path) -> None:
    browser.show(width=1280)
    browser.open(page)
    reached = []
    for _ in range(40):
        browser.press_tab()
        reached.append(
            browser.run(
                "const e = document.activeElement; return [e.tagName, e.getAttribute('href'), "
                "getComputedStyle(e).outlineStyle]"
            )
        )
    assert reached[0][:2] == ["A", "#overview"]
    hrefs = {href for tag, href, _ in reached if tag == "A"}
    assert {"#overview", "#gallery", "#configuration"} <= hrefs
    assert {"SUMMARY", "DIV"} <= {tag for tag, *_ in reached}
    assert all(outline != "none" for tag, _, outline in reached if tag in ("A", "SUMMARY", "DIV"))


def test_print_is_light_in_the_dark(browser: Browser, page: Path) -> None:
    browser.show(width=1280, scheme="dark", media="print")
    browser.open(page)
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.show(width=1280)


def test_as_many_suspects_of_a_reason_as_an_option_says_can_be_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = make_rows([40] * 8)
    write_store(tmp_path / "store", [replace(row, waveform=rows[0].waveform) for row in rows], waveform=True)
    # The first has the samples of no earlier one, and is shown as the original of the others.
    for n, options in ((4, ()), (8, ("--suspects", 8)), (0, ("--suspects", 8, "--max-sound", 0))):
        output = tmp_path / f"{n}.html"
        assert run(capsys, "report", tmp_path / "store", "-o", output, "--gallery", 0, *options)[0] == 0
        text = output.read_text(encoding="utf-8")
        group = text[text.index('id="suspects-title"') : text.index('id="speakers-title"')]
        assert sum(tag == "audio" for tag, _ in Page(f"<h2 {group}").elements) >= n
        assert n or "<audio" not in text
        if n == 4:
            assert sum(tag == "article" for tag, _ in Page(f"<h2 {group}").elements) < 8


def test_ids_are_links_to_a_review(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_store(tmp_path / "store", [replace(row, id=f'{row.id}"&# x') for row in make_rows([40, 50])])
    address = "http://127.0.0.1:8000/to-Ken_1/"
    assert run(capsys, "report", tmp_path / "store", "-o", tmp_path / "r.html", "--review", address)[0] == 0
    found = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    links = {attributes["href"] for tag, attributes in found.elements if tag == "a" and "127" in attributes["href"]}
    assert links == {f"{address}#id=LJ00{i}-%C3%A9%22%26%23%20x" for i in (0, 1)}
    for wrong in ("javascript:alert(1)", "http://evil.invalid/x/", "http://127.0.0.1:8000.evil.invalid/x/"):
        assert run(capsys, "report", tmp_path / "store", "--review", wrong)[0] == 2
