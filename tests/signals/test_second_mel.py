"""A mel of another preset as an added array: the bytes of a store that is made with that preset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run

from tts_prep.additions.add_arrays import add_features
from tts_prep.errors import ConfigurationError
from tts_prep.loader import Collator, UtteranceDataset
from tts_prep.preprocess.audio.cleaning import CleaningConfig
from tts_prep.preprocess.audio.presets import DESCRIPTIONS, PRESETS
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.run import prepare


def config(preset: str) -> Configuration:
    described = DESCRIPTIONS[preset]
    return Configuration(
        corpus="ljspeech",
        mel=described.config,
        reading=described.reading,
        cleaning=CleaningConfig(trim_db=35),
        text=TextConfig("characters"),
        store=StoreConfig(shard_utterances=3),
    )


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


# The same rate with another framing, and other rates, hops and resamplers.
@pytest.mark.whole
@pytest.mark.parametrize("preset", ["hifigan", "bigvgan-24k-100", "f5-tts"])
def test_a_second_mel_has_the_bytes_of_the_mel_of_a_store_with_its_preset(
    corpus: Path, tmp_path: Path, preset: str
) -> None:
    store, other = tmp_path / "store", tmp_path / "other"
    prepare(read_ljspeech(corpus), corpus, store, config("tacotron2"))
    prepare(read_ljspeech(corpus), corpus, other, config(preset))
    feature = make_feature("mel", {"preset": preset}, PRESETS["tacotron2"])
    add_features(store, [feature], CorpusRows(read_ljspeech(corpus), corpus))
    dataset, expected = UtteranceDataset(store, verify=True), UtteranceDataset(other)
    name = f"mel_{preset.replace('-', '_')}"
    assert dataset.arrays[name].rate == PRESETS[preset].sample_rate / PRESETS[preset].hop_length
    for uid, mel, wanted in zip(dataset.id, dataset.views(name), expected.views("mel"), strict=True):
        assert mel.tobytes() == wanted.tobytes(), uid
    batch = Collator(arrays=(name,))(dataset)
    assert batch.array_lengths[name].tolist() == expected.n_frames.tolist()
    np.testing.assert_allclose(dataset.statistics(name).mean, expected.mel_mean, rtol=1e-9)


@pytest.mark.whole
def test_it_is_the_same_when_it_is_made_with_the_store_and_is_made_again_by_an_update(
    own_corpus: Path, tmp_path: Path
) -> None:
    feature = make_feature("mel", {"preset": "hifigan"}, PRESETS["tacotron2"])
    both, later = tmp_path / "both", tmp_path / "later"
    prepare(read_ljspeech(own_corpus), own_corpus, both, config("tacotron2"), features=[feature])
    prepare(read_ljspeech(own_corpus), own_corpus, later, config("tacotron2"))
    add_features(later, [feature], CorpusRows(read_ljspeech(own_corpus), own_corpus))
    assert files(later) == files(both)
    shorter = [row for row in read_ljspeech(own_corpus) if row.id != "S-0002"]
    prepare(shorter, own_corpus, tmp_path / "shorter", config("tacotron2"), features=[feature])
    prepare(shorter, own_corpus, later, config("tacotron2"), existing="update")
    assert files(later) == files(tmp_path / "shorter")


@pytest.mark.whole
def test_the_command_adds_it_and_says_what_it_needs(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    prepare(read_ljspeech(corpus), corpus, store, replace(config("tacotron2"), cleaning=CleaningConfig()))
    status, _, err = run(capsys, "add", store, "--feature", "mel:preset=hifigan")
    assert (status, "mel is computed from recordings; give --corpus CORPUS" in err) == (2, True)
    status, out, err = run(capsys, "add", store, "--feature", "mel:preset=hifigan", "--corpus", corpus, "--jobs", 1)
    assert (status, err) == (0, "")
    assert "mel_hifigan, float32 × 80, by own" in out
    status, _, err = run(capsys, "add", store, "--feature", "mel:preset=hifigam", "--corpus", corpus)
    assert (status, "unknown preset 'hifigam'" in err) == (2, True)


def test_mels_of_several_presets_are_made_together(
    capsys: pytest.CaptureFixture[str], corpus: Path, tmp_path: Path
) -> None:
    both = ["--feature", "mel:preset=hifigan", "--feature", "mel:preset=vocos", "--frontend", "characters"]
    made = ["ljspeech", corpus, tmp_path / "store", "--preset", "tacotron2", "--unknown", "drop", *both]
    assert run(capsys, *made)[0] == 0
    assert {*UtteranceDataset(tmp_path / "store").metadata.arrays} >= {"mel_hifigan", "mel_vocos"}
    status, _, err = run(capsys, *made, "--feature", "mel:preset=vocos", "--overwrite")
    assert (status, "two features have an array 'mel_vocos'; drop one of them" in err) == (2, True)


def test_a_preset_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="mel: expected a preset, as in --feature mel:preset=hifigan"):
        make_feature("mel", {}, PRESETS["tacotron2"])
