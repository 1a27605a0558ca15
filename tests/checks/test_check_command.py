"""Suspects of a small store with known faults, and the command ``check``."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import run
from stores import SAMPLE_RATE, Row, make_rows, write_store

from tts_prep.checks import MEASURES, measure, thresholds
from tts_prep.checks import suspects as find_suspects
from tts_prep.checks.catalogue import _ORDER
from tts_prep.errors import CorruptStoreError
from tts_prep.loader import UtteranceDataset

THRESHOLDS = thresholds()
AUDIO = {"audio": {"power": 1, "compression": {"log": "ln", "scale": 1.0}}}
N = 12


def voiced(seconds: float, seed: int) -> np.ndarray:
    """Return noise with peaks as a voice has them, modulated at 4 Hz, with a soft start and end, int16."""
    rng = np.random.default_rng(seed)
    n = int(seconds * SAMPLE_RATE)
    envelope = np.minimum(1, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.05 * SAMPLE_RATE)) ** 2
    # As deep as speech: the distribution of the samples says how noisy they are.
    envelope = envelope * (0.5 + 0.5 * np.sin(2 * np.pi * 4 * np.arange(n) / SAMPLE_RATE)) ** 3
    return np.clip(rng.laplace(0, 3000, n) * envelope + rng.normal(0, 4, n), -32_000, 32_000).astype(np.int16)


def faulty_rows() -> list[Row]:
    """Return rows of different durations: 1 clipped, 2 with zeros, 3 cut, 4 a copy of 0, 5 the text of 0, 6 silent."""
    rows = make_rows([90 + 10 * i for i in range(N)])
    for i, row in enumerate(rows):
        row.waveform, row.speaker = voiced(1 + i / 10, i), "reader"
        row.seconds = len(row.waveform) / SAMPLE_RATE
        row.phonemes = np.resize(row.phonemes, round(11 * row.seconds)).astype(np.int32)
    rows[1].waveform = np.clip(rows[1].waveform, -4000, 4000)
    rows[2].waveform[9000:12_000] = 0
    # After 1 s and a quarter of a period, where the level is highest.
    rows[3].waveform = rows[3].waveform[: int(1.0625 * SAMPLE_RATE)]
    rows[4].waveform, rows[4].seconds = rows[0].waveform.copy(), rows[0].seconds
    rows[5].text = rows[0].text.upper()
    rows[6].waveform = np.zeros_like(rows[6].waveform)
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("checks") / "store", faulty_rows(), waveform=True, configuration=AUDIO)


def test_each_fault_is_found_for_its_reason(store: Path) -> None:
    suspects = find_suspects(measure(UtteranceDataset(store)))
    found = {reason: np.flatnonzero(mask).tolist() for reason, mask in suspects.flagged.items() if mask.any()}
    assert found == {
        "silent": [6],
        "clipped": [1],
        "silence-start": [6],
        "silence-end": [6],
        "digital-silence": [2],
        "cut-end": [3],
        "audio-duplicate": [4],
        "text-duplicate": [5],
    }
    assert (suspects.partner("audio-duplicate", 4), suspects.partner("text-duplicate", 5)) == (0, 0)
    assert suspects.reasons(6) == ["silent", "silence-start", "silence-end"]


def test_the_table_names_the_reasons_that_occur_and_those_asked_for_and_counts_the_others(store: Path, capsys) -> None:
    status, out, err = run(capsys, "check", store, "--threshold", "hum=-40", "--threshold", "n_frames<1")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    found = json.loads(run(capsys, "check", store, "--threshold", "n_frames<1", "--json")[1])["thresholds"]
    occur = [name for name, row in found.items() if row["suspects"] or name in ("hum", "n_frames<1")]
    n_others = sum(row["suspects"] == 0 for name, row in found.items() if name not in ("hum", "n_frames<1"))
    assert len(occur) > 5
    assert [line.split()[0] for line in lines[1 : 1 + len(occur)]] == occur
    others = f"{n_others} other reasons: no suspects; --json has all with their thresholds"
    assert lines[1 + len(occur)] == others
    assert next(line for line in lines if line.startswith("audio-dup")).split()[1] == "1"
    assert next(line for line in lines if line.startswith("hum")).split()[1:5] == ["0", "hum", ">", "-40"]
    assert not any(line.startswith("noisy") for line in lines)
    assert "LJ004-é (as LJ000-é)" in out
    assert "6 of 12 utterances are suspects (50.0%)." in lines
    assert next(line for line in lines if "wrong-text" in line).startswith("not measured (fewer than 30 utterances): ")
    assert "note: Not measured: mismatch, text_fit, unspoken (fewer than 30 utterances)." in lines
    assert "note: Not measured: voice (fewer than 100 utterances)." in lines
    # The mels of this store are noise.
    assert any("are reverberant: the room was, and it is no reason here; --threshold 'decay>0.34'" in x for x in lines)


def test_reasons_that_are_not_measured_say_why(tmp_path: Path, capsys) -> None:
    rows = make_rows([60, 61])
    for row in rows:
        row.phonemes = row.phonemes[:0]
    store = write_store(tmp_path / "store", rows, configuration=AUDIO)
    lines = run(capsys, "check", store)[1].splitlines()
    named = [line.removeprefix("not measured (").split("): ") for line in lines if line.startswith("not measured (")]
    reasons = {why: set(of.split(", ")) for why, of in named}
    assert reasons["built without --waveform"] >= {"silent", "clipped", "saturated", "noisy", "hum", "upsampled"}
    assert reasons["no phonemes"] >= {"too-fast", "longer-than-text", "wrong-text"}
    assert reasons["fewer than 100 utterances"] == {"other-voice"}
    assert {"text-duplicate", "silence-start"}.isdisjoint(set().union(*reasons.values()))
    found = json.loads(run(capsys, "check", store, "--json")[1])["thresholds"]
    assert found["hum"]["not_measured"] == "built without --waveform"
    assert "not_measured" not in found["text-duplicate"]


def test_one_suspect_is_in_the_singular(tmp_path: Path, capsys) -> None:
    rows = faulty_rows()[7:9]
    rows[1].waveform, rows[1].seconds = rows[0].waveform, rows[0].seconds
    out = run(capsys, "check", write_store(tmp_path / "two", rows, waveform=True))[1]
    assert "1 of 2 utterances is a suspect (50.0%)." in out
    out = run(capsys, "check", write_store(tmp_path / "one", rows[:1], waveform=True))[1]
    assert "0 of 1 utterance is a suspect (0.0%)." in out


def test_quiet_prints_no_table(store: Path, tmp_path: Path, capsys) -> None:
    assert run(capsys, "check", store, "--quiet", "--strict", "--ids", tmp_path / "ids.txt") == (1, "", "")
    assert (tmp_path / "ids.txt").is_file()


def test_strict_fails_where_there_are_suspects_only(store: Path, tmp_path: Path, capsys) -> None:
    clean = write_store(tmp_path / "clean", [row for i, row in enumerate(faulty_rows()) if i not in range(1, 7)])
    assert run(capsys, "check", store, "--strict")[0] == 1
    status, out, _ = run(capsys, "check", clean, "--strict")
    assert status == 0
    assert "0 of 6 utterances are suspects (0.0%)." in out


def test_ids_and_the_printed_expression_exclude_the_suspects(store: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "suspects.txt"
    _, out, _ = run(capsys, "check", store, "--ids", file)
    expression = "\n".join(line.strip() for line in out.splitlines()[-3:])
    names = {"dataset": UtteranceDataset(store)}
    exec(expression, names)
    assert names["dataset"].indices.tolist() == [0, 7, 8, 9, 10, 11]
    assert file.read_text(encoding="utf-8").splitlines() == [f"LJ{i:03d}-é" for i in range(1, 7)]


def test_csv_has_every_utterance_with_every_measure(store: Path, tmp_path: Path, capsys) -> None:
    run(capsys, "check", store, "--csv", tmp_path / "m.csv")
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "speaker", *(f"{m.name} ({m.unit})" for m in MEASURES), "reasons"]
    assert [row["reasons"] for row in rows[:4]] == ["", "clipped", "digital-silence", "cut-end"]
    assert float(rows[2]["digital_silence (s)"]) == pytest.approx(3000 / SAMPLE_RATE, rel=0.01)
    assert rows[0]["mismatch (standard deviations)"] == ""


@pytest.mark.parametrize("command", ["check", pytest.param("report", marks=pytest.mark.whole)])
def test_csv_has_no_formulas_and_no_escape_sequences(tmp_path: Path, capsys, command: str) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\x1b[31mred", "a=1", "\u202eabc", "two\nlines", "日\u3000本"]
    shown = [
        "'=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'\\tx",
        "\\x1b[31mred",
        "a=1",
        "\\u202eabc",
        "two\\nlines",
        "日\u3000本",
    ]
    rows = make_rows([20 + i for i in range(len(texts))])
    for row, text in zip(rows, texts, strict=True):
        row.text = row.speaker = text
    file = tmp_path / "t.csv"
    store = write_store(tmp_path / "store", rows, waveform=True)
    output = ("-o", tmp_path / "r.html") if command == "report" else ()
    assert run(capsys, command, store, "--csv", file, *output)[0] == 0
    with file.open(encoding="utf-8", newline="") as opened:
        found = list(csv.DictReader(opened))
    assert [row["speaker"] for row in found] == shown
    # Numbers are as they are, also negative ones.
    assert all(math.isfinite(float(row["loudness (LUFS)"] or 0)) for row in found)
    assert min(float(row["peak (dBFS)"]) for row in found) < 0


def test_json_has_limits_and_suspects(store: Path, capsys) -> None:
    found = json.loads(
        run(capsys, "check", store, "--json", "--threshold", "clipped=1e9", "--threshold", "saturated=1")[1]
    )
    assert found["thresholds"]["clipped"]["above"] == 1e9
    assert found["thresholds"]["clipped"]["suspects"] == 0
    assert [suspect["id"] for suspect in found["suspects"]] == [f"LJ{i:03d}-é" for i in range(2, 7)]
    assert found["suspects"][2]["reasons"] == {"audio-duplicate": "LJ000-é"}
    assert found["suspects"][4]["measures"]["peak"] is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("clipped", "expected REASON=NUMBER, COLUMN<NUMBER or COLUMN>NUMBER, found 'clipped'"),
        ("clipped=x", "expected REASON=NUMBER, COLUMN<NUMBER or COLUMN>NUMBER, found 'clipped=x'"),
        ("clipped=nan", "expected a number, found nan"),
        ("loud=3", "'loud': there is no such reason; there are silent, clipped"),
    ],
)
def test_a_threshold_that_cannot_be_used_is_named(store: Path, capsys, value: str, message: str) -> None:
    status, out, err = run(capsys, "check", store, "--threshold", value)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_cannot_be_written_is_named(store: Path, tmp_path: Path, capsys) -> None:
    status, _, err = run(capsys, "check", store, "--ids", tmp_path / "none" / "ids.txt")
    assert status == 1
    assert "none/ids.txt: cannot be written" in err


def test_without_waveforms_silence_and_duplicates_come_from_the_mel(tmp_path: Path) -> None:
    rows = make_rows([60, 300, 60])
    silence = np.tile(np.arange(-11.5, -16.5, -1, dtype=np.float32), (100, 1))
    rows[1].mel[:100], rows[1].mel[150:200] = silence, silence[:50]
    rows[2].mel = rows[0].mel.copy()
    dataset = UtteranceDataset(write_store(tmp_path / "store", rows, configuration=AUDIO))
    found = measure(dataset).columns
    assert found["silence_start"][1] == pytest.approx(100 * 256 / SAMPLE_RATE)
    assert found["silence_inside"][1] == pytest.approx(50 * 256 / SAMPLE_RATE)
    assert found["audio_copies"].tolist() == [0, 0, 1]
    assert np.isnan(found["peak"]).all()
    assert np.isnan(found["bandwidth"]).all()


def test_a_noise_gate_is_a_note_and_no_reason(tmp_path: Path) -> None:
    rows = faulty_rows()
    for row in rows:
        row.waveform[6000:9000] = 0
    store = write_store(tmp_path / "store", rows, waveform=True)
    suspects = find_suspects(measure(UtteranceDataset(store)))
    assert not suspects.flagged["digital-silence"].any()
    assert any("noise gate" in note for note in suspects.notes)


def test_an_upsampled_store_and_swapped_transcripts_are_notes(tmp_path: Path) -> None:
    rows = make_rows([50 + 5 * i for i in range(40)])
    for i, row in enumerate(rows):
        spectrum = np.fft.rfft(np.random.default_rng(i).normal(size=SAMPLE_RATE // 2 * (1 + i % 4)))
        spectrum[len(spectrum) // 2 :] = 0
        row.waveform = np.rint(np.fft.irfft(spectrum) * 5000).astype(np.int16)
        row.seconds, row.speaker = len(row.waveform) / SAMPLE_RATE, "reader"
    suspects = find_suspects(measure(UtteranceDataset(write_store(tmp_path / "store", rows, waveform=True))))
    assert any("nothing above 5," in note for note in suspects.notes)
    assert any(note.startswith("Speaker reader: ") for note in suspects.notes)


def test_a_store_without_utterances_has_no_suspects(tmp_path: Path, capsys) -> None:
    status, out, _ = run(capsys, "check", write_store(tmp_path / "store", [], n_shards=1), "--strict")
    assert status == 0
    assert "0 of 0 utterances are suspects (0.0%)." in out


def test_values_that_are_not_finite_are_damage(tmp_path: Path) -> None:
    rows = make_rows([9], wav_dtype="float32")
    rows[0].waveform[3] = np.nan
    with pytest.raises(CorruptStoreError, match="not finite; run 'tts-prep verify'"):
        measure(UtteranceDataset(write_store(tmp_path / "store", rows, waveform=True)))


def test_every_reason_has_an_explanation_a_source_and_a_place_of_its_own_in_the_output() -> None:
    assert all(threshold.why.endswith(".") and threshold.source for threshold in THRESHOLDS)
    reasons = [threshold.reason for measure in MEASURES for threshold in measure.thresholds]
    assert len({*reasons}) == len(reasons) == len(THRESHOLDS)
    assert [threshold.reason for threshold in THRESHOLDS] == list(_ORDER)
