"""Runs on real LJ Speech clips and texts, if they exist next to the checkout."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import soundfile
from reference_mel import reference_mel

from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import Configuration
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance

DATA = Path(__file__).parents[4] / "shared" / "data"
MINI = DATA / "ljspeech-mini"
METADATA = DATA / "ljspeech-metadata.csv"


@pytest.mark.skipif(not MINI.is_dir(), reason="the real clips are not at hand")
def test_twenty_real_clips_become_librosas_mels_and_decodable_phonemes(tmp_path: Path) -> None:
    manifest = prepare(read_ljspeech(MINI), MINI, tmp_path / "store", Configuration()).manifest
    assert manifest.totals["utterances"] == 20
    assert manifest.totals["failures"] == 0
    utterances = [item for item in read_ljspeech(MINI) if isinstance(item, SourceUtterance)]
    frontend = get_frontend("espeak", language="en-us")
    with h5py.File(tmp_path / "store/shards/00000.h5") as shard:
        columns = {
            name: shard[f"columns/{name}"][:] for name in ("mel_start", "n_frames", "phonemes_start", "n_phonemes")
        }
        mels, ids = shard["mel"][:], shard["phonemes"][:]
    for row, utterance in enumerate(utterances):
        samples, rate = soundfile.read(MINI / utterance.audio)
        assert rate == 22050
        assert columns["n_frames"][row] == 1 + len(samples) // 256
        start = columns["mel_start"][row]
        mel = mels[start : start + columns["n_frames"][row]]
        np.testing.assert_allclose(mel, reference_mel("parakeet", samples), rtol=0, atol=1e-4)
        start = columns["phonemes_start"][row]
        text = "".join(manifest.vocabulary["symbols"][i] for i in ids[start : start + columns["n_phonemes"][row]])
        assert text == frontend.phoneticize(frontend.normalize(utterance.text))


@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
def test_all_13100_real_texts_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").symlink_to(METADATA)
    (tmp_path / "wavs").mkdir()
    utterances = [item for item in read_ljspeech(tmp_path) if isinstance(item, SourceUtterance)]
    assert len({utterance.id for utterance in utterances}) == 13100
    # The third column holds abbreviations.
    assert not any(utterance.normalized for utterance in utterances)
    assert sum(utterance.text.count('"') for utterance in utterances) == sum(
        row[2].count('"') for row in metadata_rows()
    )


@pytest.mark.skipif(not METADATA.is_file(), reason="the real texts are not at hand")
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.soak)], ids=["every 13th", "all"])
@pytest.mark.parametrize("name", ["espeak", "arpabet", "characters"])
def test_13100_real_raw_texts_go_through_every_frontend_without_an_unknown_symbol(name: str, step: int) -> None:
    frontend = get_frontend(name)
    rows = metadata_rows()
    assert len(rows) == 13100
    texts = [frontend.normalize(row[1]) for row in rows[::step]]
    made = [frontend.phoneticize(text) for text in texts]
    assert [frontend.decode(frontend.numericalize(phonemes)) for phonemes in made] == made
    if name == "espeak":
        # What one frontend gives, the other takes as it is.
        given = get_frontend("phonemes")
        again = [given.phoneticize(given.normalize(phonemes)) for phonemes in made]
        assert [given.decode(given.numericalize(phonemes)) for phonemes in again] == again
        # Phonemes do not depend on the texts before.
        assert [frontend.phoneticize(text) for text in reversed(texts[:2000])][::-1] == made[:2000]


def metadata_rows() -> list[list[str]]:
    with METADATA.open(encoding="utf-8", newline="") as file:
        return [line.rstrip("\n").split("|") for line in file]
