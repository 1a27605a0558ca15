"""Lists of numbers in manifests become arrays, with recordings or without; the schemas are those of public sets."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from commands import run
from killing import contents

from tts_prep.loader import UtteranceDataset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 12
HOW = ("--mel", "none", "--frontend", "characters", "--shard-utterances", 4)


def codes(n_codebooks: int, high: int = 1024) -> list[list[list[int]]]:
    """Return [T][K] of each row; T differs."""
    values = random.Random(0)
    return [[[values.randrange(high) for _ in range(n_codebooks)] for _ in range(9 + 2 * i)] for i in range(N)]


def turned(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(column) for column in zip(*rows, strict=True)]


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, "utf-8")
    return path


def write_parquet(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=5)
    return path


TEXTS = [f"Sentence number {'x' * i}." for i in range(N)]


def expresso(folder: Path) -> Path:
    """somu9/expresso-tokens: ``audio_codes`` [T][16], ``n_frames``, ``n_codebooks``."""
    rows = zip(TEXTS, codes(16), strict=True)
    values = [{"text": text, "audio_codes": of, "n_frames": len(of), "n_codebooks": 16} for text, of in rows]
    return write_jsonl(folder / "manifest.jsonl", values)


def librispeech_mimi(folder: Path) -> Path:
    """shangeth/librispeech-mimi-codes: ``codes`` int16 [8][T]."""
    values = [turned(of) for of in codes(8, 2048)]
    columns = {"id": [f"u{i}" for i in range(N)], "text": TEXTS, "speaker_id": pa.array([i % 3 for i in range(N)])}
    columns["codes"] = pa.array(values, pa.list_(pa.list_(pa.int16())))
    columns |= {"n_frames": [9 + 2 * i for i in range(N)], "k_codebooks": [8] * N}
    return write_parquet(folder / "train.parquet", columns)


def emilia_llmcodec(folder: Path) -> Path:
    """voidful/Emilia-llmcodec-EN: flat int64, and a struct."""
    columns = {"json": [{"id": f"e{i}", "dnsmos": 3.5} for i in range(N)], "__key__": [f"k{i}" for i in range(N)]}
    flat = pa.array([[code for (code,) in of] for of in codes(1, 90_000)], pa.list_(pa.int64()))
    return write_parquet(folder / "shard_0.parquet", {**columns, "audio_codes": flat, "text": TEXTS})


def ljspeech_codec(folder: Path) -> Path:
    """voidful/ljspeech_codec: recordings, and a column of lists of lists for a codec."""
    times = np.arange(4000) / 22_050
    soundfile.write(folder / "a.wav", 0.1 * np.sin(2 * np.pi * 220 * times), 22_050)
    audio = [{"bytes": (folder / "a.wav").read_bytes(), "path": f"{i}.wav"} for i in range(N)]
    units = [turned(of) for of in codes(2)]
    columns = {"id": [f"L{i}" for i in range(N)], "audio": audio, "file": ["x"] * N, "text": TEXTS}
    return write_parquet(folder / "train.parquet", {**columns, "CODEC_unit": units})


def data_snac(folder: Path) -> Path:
    """YazoPi/data-snac-llm: flat codes, and the rows of the trainer."""
    flat = [[code for (code,) in of] for of in codes(1)]
    ids = pa.array([[1, *of, 2] for of in flat], pa.list_(pa.int32()))
    columns = {"text": TEXTS, "codes_list": flat, "mode": ["x"] * N, "text_tokens": [[7, 8]] * N, "input_ids": ids}
    masks = pa.array([[1] * (len(of) + 2) for of in flat], pa.list_(pa.int8()))
    return write_parquet(folder / "train.parquet", {**columns, "labels": ids, "attention_mask": masks})


def neucodec(folder: Path) -> Path:
    """neuphonic's set, as ``examples/finetune.py`` reads it: ``text``, ``codes`` flat, ``__key__``."""
    rows = zip(TEXTS, codes(1, 65_536), strict=True)
    values = [
        {"__key__": f"n{i}", "text": text, "codes": [code for (code,) in of]} for i, (text, of) in enumerate(rows)
    ]
    return write_jsonl(folder / "train.jsonl", values)


def dac_tokens(folder: Path) -> Path:
    """treadon/speech-dac-16khz-2cb: a prompt, and ids of a language model with their labels."""
    rows = zip(TEXTS, codes(1, 90_000), strict=True)
    ids = [(text, [code for (code,) in of]) for text, of in rows]
    values = [
        {"text": text, "prompt": f"<{text}>", "input_ids": of, "attention_mask": [1] * len(of), "labels": of}
        | {"n_audio_frames": len(of), "n_tokens": len(of), "duration": len(of) / 100}
        for text, of in ids
    ]
    return write_jsonl(folder / "train.jsonl", values)


SETS: dict[Callable[[Path], Path], tuple[str, tuple[int, ...], str, list[list[list[int]]]]] = {
    expresso: ("audio_codes", (16,), "int16", codes(16)),
    librispeech_mimi: ("codes", (8,), "int16", codes(8, 2048)),
    emilia_llmcodec: ("audio_codes", (), "int64", codes(1, 90_000)),
    ljspeech_codec: ("codec_unit", (2,), "int64", codes(2)),
    data_snac: ("codes_list", (), "int64", codes(1)),
    neucodec: ("codes", (), "int32", codes(1, 65_536)),
    dac_tokens: ("input_ids", (), "int32", codes(1, 90_000)),
}


@pytest.mark.parametrize("write", SETS, ids=lambda write: write.__name__)
def test_public_token_sets_are_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    name, shape, dtype, values = SETS[write]
    manifest, store = write(tmp_path), tmp_path / "store"
    column = "CODEC_unit" if name == "codec_unit" else name
    status, out, error = run(capsys, "manifest", manifest, store, *HOW, "--list", f"{column}@own:100")
    assert (status, f"{name} [T" in out + error) == (0, True), error
    dataset = UtteranceDataset(store)
    spec = dataset.arrays[name]
    assert (spec.axis, spec.rate, spec.row_shape, spec.dtype) == ("own", 100.0, shape, dtype)
    expected = {text: np.array(of).reshape(-1, *shape) for text, of in zip(TEXTS, values, strict=True)}
    assert sorted(dataset.text) == sorted(TEXTS)
    for utterance in dataset:
        np.testing.assert_array_equal(utterance.arrays[name], expected[utterance.text])
        if write is not ljspeech_codec:
            assert utterance.seconds == pytest.approx(len(expected[utterance.text]) / 100, abs=1e-4)


def test_the_axis_of_time_is_what_differs_by_row_and_is_asked_for_otherwise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    square = [{"text": "One.", "audio_codes": [[1, 2], [3, 4]]}] * 3
    manifest = write_jsonl(tmp_path / "a.jsonl", [{**row, "id": str(i)} for i, row in enumerate(square)])
    status, _, error = run(capsys, "manifest", manifest, tmp_path / "no", *HOW, "--list", "audio_codes@own:10")
    assert (status, "both axes have the same length" in error, "--list audio_codes,axis=1" in error) == (2, True, True)
    for axis, first in ((0, [[1, 2], [3, 4]]), (1, [[1, 3], [2, 4]])):
        given = ("--list", f"audio_codes@own:10,axis={axis}")
        assert run(capsys, "manifest", manifest, tmp_path / f"{axis}", *HOW, *given)[0] == 0
        assert UtteranceDataset(tmp_path / f"{axis}")[0].arrays["audio_codes"].tolist() == first
    # None is read where none is wanted, and that is said; then nothing is left of a row.
    status, _, error = run(capsys, "manifest", manifest, tmp_path / "none", *HOW, "--list", "none")
    assert (status, "none of the columns" in error) == (2, True)
    status, _, error = run(capsys, "manifest", manifest, tmp_path / "no", *HOW, "--list", "codes@own:10")
    assert (status, "has audio_codes" in error) == (2, True)


def test_lists_that_do_not_fit_fail_their_row_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = [{"id": f"g{i}", "text": "One.", "audio_codes": of, "": [1]} for i, of in enumerate(codes(4))]
    wrong: dict[str, Any] = {
        "ragged": [[1, 2, 3, 4], [1, 2]],
        "floats": [[1.5, 2, 3, 4]],
        "texts": [["1", "2", "3", "4"]],
        "others": "1 2 3 4",
        "flat": [1, 2, 3, 4],
        "narrow": [[1, 2, 3]] * 9,
        "large": [[1, 2, 3, 1 << 70]],
        "deep": [[[1, 2, 3, 4]]],
        "nulls": [[None, 2, 3, 4]],
        "empty": [],
        "missing": None,
    }
    bad = [{"id": name, "text": "Two.", "audio_codes": value} for name, value in wrong.items()]
    manifest = write_jsonl(tmp_path / "a.jsonl", [*good, *bad])
    given = ("--list", "audio_codes@own:10", "--max-failures", len(bad))
    assert run(capsys, "manifest", manifest, tmp_path / "store", *HOW, *given)[0] == 0
    failures = [json.loads(line) for line in (tmp_path / "store/failures.jsonl").read_text("utf-8").splitlines()]
    assert [failure["id"] for failure in failures] == list(wrong)
    reasons = {failure["id"]: failure["reason"] for failure in failures}
    assert all("audio_codes: expected" in reasons[name] for name in wrong if name not in ("empty", "missing"))
    assert "no recording" in reasons["missing"]
    assert "expected audio_codes [T, 4] int16, 10 Hz, as in most rows, found [9, 3]" in reasons["narrow"]
    # In parquet, types allow ragged lists and missing numbers alone.
    cells = [row["audio_codes"] for row in good] + [wrong["ragged"], wrong["nulls"], None]
    table = write_parquet(tmp_path / "a.parquet", {"id": [f"p{i}" for i in range(N + 3)], "text": ["One."] * (N + 3)})
    write_parquet(table, {**pq.read_table(table).to_pydict(), "audio_codes": cells})
    assert run(capsys, "manifest", table, tmp_path / "other", *HOW, "--list", "audio_codes@own:10", *given[2:])[0] == 0
    lines = (tmp_path / "other/failures.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"p{N}", f"p{N + 1}", f"p{N + 2}"]
    assert len(UtteranceDataset(tmp_path / "other")) == N


def test_a_store_with_mels_and_a_feature_of_recordings_say_that_rows_have_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manifest, given = expresso(tmp_path), ("--list", "audio_codes@own:12.5", "--frontend", "characters")
    for options, expected in (((), "--mel none"), (("--mel", "none", "--feature", "energy"), "no recording")):
        status, _, error = run(capsys, "manifest", manifest, tmp_path / "store", *given, *options)
        assert (status, expected in error) == (1, True)
        shutil.rmtree(tmp_path / "store")
    status, _, error = run(capsys, "manifest", manifest, tmp_path / "store", *HOW)
    assert (status, "--list audio_codes@own:HZ says" in error) == (1, True)


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_changed_list_is_noticed_and_updates_and_resumed_runs_are_fresh_builds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    values, path = codes(4), tmp_path / f"a.{kind}"
    rows = [
        {"id": f"r{i:02d}", "text": text, "audio_codes": of}
        for i, (text, of) in enumerate(zip(TEXTS, values, strict=True))
    ]

    def write(rows: Sequence[dict[str, Any]]) -> None:
        if kind == "parquet":
            write_parquet(path, {name: [row[name] for row in rows] for name in rows[0]})
        else:
            write_jsonl(path, rows)

    def make(store: Path, *options: object) -> tuple[int, str]:
        status, _, error = run(capsys, "manifest", path, store, *HOW, "--list", "audio_codes@own:12.5", *options)
        return status, error

    write(rows)
    store = tmp_path / "store"
    assert make(store)[0] == 0
    before = contents(store)
    assert (make(store)[0], contents(store)) == (0, before)
    # Killed runs leave shards and array files without index and manifest; each state is gone on from.
    for lost in (("arrays/audio_codes/00001.h5",), ("shards/00001.h5", "arrays/audio_codes/00000.h5")):
        for name in ("manifest.json", "index.h5", *lost):
            (store / name).unlink()
        assert (make(store)[0], contents(store) == before) == (0, True)
    # The array of a broken file is made again from the corpus.
    (store / "arrays/audio_codes/00001.h5").write_bytes(b"broken")
    assert run(capsys, "verify", store, "--repair", tmp_path)[0] == 0
    assert contents(store) == before
    # One number of one list, then a row in front of the others.
    changed = json.loads(json.dumps(rows))
    changed[5]["audio_codes"][3][2] += 1
    for edited in (changed, [{"id": "first", "text": "New.", "audio_codes": values[0]}, *changed[:-1]]):
        write(edited)
        status, error = make(store)
        assert (status, "--update" in error) == (1, True)
        assert make(store, "--update")[0] == 0
        fresh = tmp_path / "fresh"
        assert make(fresh)[0] == 0
        assert contents(store) == contents(fresh)
        shutil.rmtree(fresh)
    found = UtteranceDataset(store)
    assert found.arrays["audio_codes"].dtype == ("int64" if kind == "parquet" else "int16")
    by_id = {utterance.id: utterance.arrays["audio_codes"].tolist() for utterance in found}
    assert by_id == {"first": values[0], **{str(row["id"]): row["audio_codes"] for row in changed[:-1]}}


def test_other_lists_and_rows_without_one_are_kept_beside_recordings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    soundfile.write(tmp_path / "a.wav", 0.1 * np.sin(np.arange(8000) / 9), 22_050)
    rows: list[dict[str, Any]] = [{"id": f"r{i}", "text": "One.", "audio": "a.wav"} for i in range(6)]
    for i, row in enumerate(rows):
        row |= {"audio_codes": [[i, i]] * (3 + i), "vector": [i / 4, 0.5, 1.0], "tags": ["a", "b"], "mel": [[0.0]]}
        row |= {"ref_audio_codes": [[9, i]] * (2 + i) if i < 4 else None, "n_audio_codes": 5}
    manifest = write_jsonl(tmp_path / "a.jsonl", rows)
    given = (
        "--frontend",
        "characters",
        *("--list", "vector@utterance", "--list", "audio_codes", "--list", "ref_audio_codes"),
    )
    status, out, error = run(capsys, "manifest", manifest, tmp_path / "store", *given)
    assert status == 0, error
    assert "not read, because they are arrays: mel" in out + error
    dataset = UtteranceDataset(tmp_path / "store")
    assert dataset[3].mel.shape[1] > 0
    assert [len(codes) for codes in dataset.views("ref_audio_codes")] == [2, 3, 4, 5, 0, 0]
    assert len(dataset.filter(lambda columns: columns.n_ref_audio_codes > 0)) == 4
    np.testing.assert_array_equal(dataset[3].arrays["vector"], np.float32([0.75, 0.5, 1.0]))
    assert (dataset[0].meta["tags"], dataset[0].meta["corpus_n_audio_codes"]) == ('["a", "b"]', 5.0)
