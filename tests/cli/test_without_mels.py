"""Stores without mels, of waveforms, tokens and texts: every command works on them, and says what it cannot show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import write_ljspeech
from killing import contents

import tts_prep.loader
from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.preprocess import configure

TEXTS = ("One.", "Two and three.", "Three.", "Four.")
HOW = ("--waveform", "int16", "--frontend", "characters", "--jobs", 1)
IDS = [f"S-{i:04d}" for i in range(4)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_ljspeech(tmp_path_factory.mktemp("lj") / "lj", TEXTS)
    codes = {uid: np.arange(8 * (4 + i), dtype=np.int16).reshape(-1, 8) for i, uid in enumerate(IDS)}
    np.savez(folder / "codes.npz", **codes)
    return folder


@pytest.fixture
def store(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    codes = ("--array", f"codes@own:12.5={corpus / 'codes.npz'}")
    assert run(capsys, "ljspeech", corpus, tmp_path / "store", "--mel", "none", *HOW, *codes)[0] == 0
    return tmp_path / "store"


@pytest.mark.whole
def test_every_command_works_on_a_store_without_mels(
    capsys: pytest.CaptureFixture[str], corpus: Path, store: Path, tmp_path: Path
) -> None:
    from tts_prep.checks import measure

    before = contents(store)
    assert run(capsys, "verify", store)[0] == 0
    assert run(capsys, "plan", store)[0] == 0
    assert "mel         none; 128 frames of 256 samples" in run(capsys, "info", store)[1]
    status, out, _ = run(capsys, "check", store, "--json")
    assert (status, len(json.loads(out)["thresholds"]) > 5) == (0, True)
    # What is measured of waveforms and texts is as with mels; what needs mels is not known.
    values = measure(UtteranceDataset(store))
    assert np.isfinite(values.values("peak")).all()
    assert np.isnan(values.values("decay")).all()
    assert run(capsys, "report", store, "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert ('id="figure-mel-bins"' in page, "A store of recordings without mels" in page) == (False, True)
    for system in ("cosyvoice", "kaldi", "fastspeech2", "speechain"):
        status, _, error = run(capsys, "export", store, "--to", system, tmp_path / system)
        assert (status, system == "cosyvoice" or f"{system} needs mels, and the store has none" in error) == (2, True)
    for system in ("espnet", "jsonl", "lhotse", "nemo", "parquet", "webdataset"):
        assert run(capsys, "export", store, "--to", system, tmp_path / system)[0] == 0, system
    # A broken shard is made again to the same bytes, as is an index from the shards.
    shard = store / "shards/00000.h5"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    assert run(capsys, "verify", store, "--repair", corpus, "--jobs", 1)[0] == 0
    (store / "index.h5").unlink()
    assert run(capsys, "reindex", store)[0] == 0
    assert contents(store) == before


@pytest.mark.whole
def test_batches_have_frames_as_a_unit_of_time(store: Path, corpus: Path) -> None:
    dataset, codes = UtteranceDataset(store), np.load(corpus / "codes.npz")
    assert (dataset.n_mels, dataset[0].mel.shape) == (0, (18, 0))
    for lengths in (dataset.n_samples, dataset.columns["n_codes"], dataset.n_frames):
        sampler = LengthBucketBatchSampler(lengths, batch_size=4)
        (batch,) = DataLoader(dataset, batch_sampler=sampler, collate_fn=Collator(arrays=("codes",)))
        assert batch.mel.shape == (4, dataset.n_frames.max(), 0)
        assert batch.waveform is not None
        assert batch.waveform.shape == (4, dataset.n_samples.max())
        assert batch.arrays is not None
        for row, uid in enumerate(batch.ids):
            np.testing.assert_array_equal(batch.arrays["codes"][row, : len(codes[uid])], codes[uid])
    segments = tts_prep.loader.SegmentCollator(5)(dataset[:3])
    assert (segments.mel.shape, segments.waveform is not None and segments.waveform.shape) == ((3, 5, 0), (3, 1280))
    assert dataset[0]._repr_html_()


@pytest.mark.whole
def test_waveforms_and_features_are_those_of_a_store_with_mels(
    capsys: pytest.CaptureFixture[str], corpus: Path, store: Path, tmp_path: Path
) -> None:
    features = ("--feature", "pitch", "--feature", "energy", "--dtype", "float16")
    for name, mel in (("with", ()), ("without", ("--mel", "none"))):
        assert run(capsys, "ljspeech", corpus, tmp_path / name, *mel, *HOW, *features)[0] == 0
    one, other = UtteranceDataset(tmp_path / "with"), UtteranceDataset(tmp_path / "without")
    for name in ("waveform", "phonemes", "pitch", "energy"):
        for left, right in zip(one.views(name), other.views(name), strict=True):
            np.testing.assert_array_equal(left, right)
    assert one.n_frames.tolist() == other.n_frames.tolist()
    # A changed row is made alone, and the store is that of a fresh build.
    changed = shutil.copytree(corpus, tmp_path / "changed")
    lines = (changed / "metadata.csv").read_text("utf-8").replace("Four.", "Five.")
    (changed / "metadata.csv").write_text(lines, "utf-8")
    made = (*HOW, "--mel", "none", "--array", f"codes@own:12.5={changed / 'codes.npz'}")
    assert run(capsys, "ljspeech", changed, store, *made, "--update")[0] == 0
    assert run(capsys, "ljspeech", changed, tmp_path / "fresh", *made)[0] == 0
    assert contents(store) == contents(tmp_path / "fresh")


def test_presets_with_numbers_for_each_bin_lose_them() -> None:
    config = configure("ljspeech", preset="tortoise", settings={"audio": {"n_mels": "none"}})
    assert (config.mel.n_mels, config.mel.compression.has_bins) == (0, False)
    assert config.mel.hop_length == configure("ljspeech", preset="tortoise").mel.hop_length
