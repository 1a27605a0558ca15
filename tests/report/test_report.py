from __future__ import annotations

import base64
import io
import json
import re
import wave
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, Browser
from commands import run
from corpora import write_ljspeech
from PIL import Image
from stores import edit_manifest, make_rows, write_store

from tts_prep.loader import UtteranceDataset
from tts_prep.pictures.media import mel_picture, sound
from tts_prep.report.levels import measure_levels
from tts_prep.report.page import report_html
from tts_prep.report.summary import summarise

HOSTILE = "<script>document.title='owned'</script><img src=http://evil.invalid/x onerror=alert(1)>\"' $x^2$ \x00\u202e"
FIGURES = {
    *("length", "mel-frames", "phonemes", "speaking-rate"),
    *("category-speaker", "mel-bins", "symbols", "padding"),
}


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
    """Return a store with waveforms in which one row of the corpus was left out."""
    from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
    from tts_prep.preprocess.corpora import read_ljspeech
    from tts_prep.preprocess.runs.prepare import prepare

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
    assert {f"outliers-{kind}" for kind in ("longest", "shortest", "fastest", "slowest", "quietest", "clipped")} <= ids
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
    found = {kind.name: [position for position, _ in kind.values] for kind in summary.outliers}
    assert found["longest"] == [2, 4, 5, 6]
    assert found["shortest"] == [1, 3, 7, 0]
    rates = [(1 + n // 3) / (((n - 1) * 256 + 17) / 22_050) for n in lengths]
    assert found["fastest"] == sorted(range(8), key=lambda i: -rates[i])[:4]
    assert found["slowest"] == sorted(range(8), key=lambda i: rates[i])[:4]
    assert "clipped" not in found


def test_loudness_is_rms_and_clipping_is_flat_peaks(tmp_path: Path) -> None:
    rows = make_rows([20, 20, 20, 20])
    time = np.arange(len(rows[0].waveform)) / 22_050
    sine = np.sin(2 * np.pi * 441 * time)
    waveforms = [0.5 * sine, 0.05 * sine, np.clip(sine, -0.7, 2.0), 0 * sine]
    rows = [replace(row, waveform=np.rint(w * 32_767).astype(np.int16)) for row, w in zip(rows, waveforms, strict=True)]
    levels = measure_levels(UtteranceDataset(write_store(tmp_path / "store", rows, waveform=True)))
    assert levels.level[0] == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.02)
    assert levels.level[1] == pytest.approx(levels.level[0] - 20, abs=0.02)
    assert levels.level[3] == -np.inf
    assert levels.clipped is not None
    quantised = rows[2].waveform
    assert levels.clipped.tolist() == [0, 0, int((quantised == quantised.min()).sum()), 0]


def test_of_a_large_store_utterances_at_even_distances_are_looked_at(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", make_rows([40] * 10))
    dataset = UtteranceDataset(store)
    levels = measure_levels(dataset, most_bytes=40 * 10 * 5 * 4 // 3 + 1)
    assert levels.positions.tolist() == [0, 3, 6, 9]
    assert levels.level == pytest.approx([dataset[int(i)].mel.mean() for i in levels.positions], rel=1e-4)


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromedriver")
    browser = Browser()
    yield browser
    browser.close()


_ERRORS = re.compile(r"error|refused|violat|blocked|failed", re.IGNORECASE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_every_figure_without_an_error_or_a_request(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.show(width=width, scheme=scheme)
    browser.requests(), browser.console()
    browser.open(page)
    assert [message for message in browser.console() if _ERRORS.search(message)] == []
    assert {url for url in browser.requests() if not url.startswith("data:")} == {page.absolute().as_uri()}
    found = browser.run(
        "return [...document.querySelectorAll('figure svg[role=img], .clip img')].map(e => "
        "[e.getBoundingClientRect().width, e.getBoundingClientRect().height, e.naturalWidth ?? 1])"
    )
    assert len(found) > 20
    assert all(w > 100 and h > 40 and natural > 0 for w, h, natural in found)
    ids = browser.run("return [...document.querySelectorAll('figure')].map(e => e.id.slice(7))")
    assert set(ids) >= FIGURES
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
    players = browser.run(
        "return [...document.querySelectorAll('audio')].map(e => [e.readyState, e.duration, e.error && e.error.code])"
    )
    assert len(players) == 6
    assert all(ready >= 1 and duration > 0.1 and error is None for ready, duration, error in players)


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


def test_of_many_speakers_the_first_have_bars_and_the_others_are_counted(tmp_path: Path) -> None:
    rows = [replace(row, speaker=f"p{i:02d}") for i, row in enumerate(make_rows([40 + i for i in range(23)]))]
    text = report_html(summarise(write_store(tmp_path / "store", rows)))
    assert "3 others have 0.5 s or less each, " in text
    # Sorted by hours: the three shortest are in the table alone.
    chart = text[text.index('id="figure-category-speaker"') :].partition("</svg>")[0]
    assert [name for name in ("p00", "p02", "p03", "p22") if f">{name}<" in chart] == ["p03", "p22"]
