"""Random examples of recipes in the epochs of torch's loaders, and epochs without a batch."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stores import HOP_LENGTH, N_MELS, SAMPLE_RATE, make_rows, write_store

from tts_prep.errors import ConfigurationError, SamplingError
from tts_prep.loader import ChainDataset, DataLoader, SegmentCollator, UtteranceDataset
from tts_prep.recipes import (
    BigVGANDataset,
    FilePathDataset,
    HiFiGANDataset,
    PiperDataset,
    TTSCollate,
    VocosDataset,
    build_dataloader,
)
from tts_prep.recipes.matcha import at_least_one_frame

torch = pytest.importorskip("torch")

N_FRAMES = [40, 90, 250, 330]
SIZE = (8 * HOP_LENGTH, 1024, N_MELS, HOP_LENGTH, 1024, SAMPLE_RATE, 0, None)
TEXTS = ["abcabcabc", "bcabcabca", "ccccabcab", "aaaabbbb"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("store") / "s", make_rows(N_FRAMES), waveform=True)


def datasets(store: Path, folder: Path) -> dict[str, Any]:
    files = [str(store / f"{uid}.wav") for uid in UtteranceDataset(store).id]
    listed = folder / "list"
    listed.write_text("\n".join(files), encoding="utf-8")
    vocos = SimpleNamespace(filelist_path=listed, sampling_rate=SAMPLE_RATE, num_samples=900)
    return {
        "HiFi-GAN": HiFiGANDataset(files, *SIZE, shuffle=False, settings="any"),
        "BigVGAN": BigVGANDataset(files, None, *SIZE, shuffle=False, settings="any"),
        "Vocos": VocosDataset(vocos, True, settings="any"),
        "StyleTTS2": FilePathDataset(None, store, TEXTS, 5, settings="any"),
    }


def numbers_of(example: Any) -> Any:
    """Return the shapes, dtypes and bytes of an example's arrays, and everything else as it is."""
    if isinstance(example, (list, tuple)):
        return [numbers_of(part) for part in example]
    if isinstance(example, dict):
        return {name: numbers_of(part) for name, part in example.items()}
    array = np.asarray(example)
    return repr(example) if array.dtype == object else (array.shape, str(array.dtype), array.tobytes())


@pytest.mark.parametrize("name", ["HiFi-GAN", "BigVGAN", "Vocos", "StyleTTS2"])
def test_epochs_of_torchs_loader_without_workers_differ_although_nobody_sets_them(
    store: Path, tmp_path: Path, name: str
) -> None:
    def epochs(dataset: Any) -> list[bytes]:
        loader = torch.utils.data.DataLoader(dataset, batch_size=4, collate_fn=list)
        return [pickle.dumps(numbers_of(next(iter(loader)))) for _ in range(3)]

    drawn = epochs(datasets(store, tmp_path)[name])
    assert len(set(drawn)) == 3
    # A function of the seed: another object draws the same, and an epoch that is set is that one.
    again = datasets(store, tmp_path)[name]
    assert epochs(again) == drawn
    again.set_epoch(1)
    assert epochs(again) == [drawn[1]] * 3


def test_segments_of_another_sampler_differ_between_epochs(store: Path) -> None:
    collate = SegmentCollator(8)
    loader = torch.utils.data.DataLoader(UtteranceDataset(store), batch_size=4, collate_fn=collate)
    assert len({tuple(batch.starts.tolist()) for _ in range(4) for batch in loader}) > 1
    fixed = torch.utils.data.DataLoader(UtteranceDataset(store), 4, collate_fn=SegmentCollator(8, redraw=False))
    assert len({tuple(batch.starts.tolist()) for _ in range(4) for batch in fixed}) == 1


def test_an_epoch_without_a_batch_is_an_error(store: Path) -> None:
    given = {"OOD_data": TEXTS, "min_length": 5, "dataset_config": {"settings": "any"}}
    with pytest.raises(SamplingError, match="an epoch has no batch: 4 examples, and a batch has more; decrease batch"):
        build_dataloader(None, store, batch_size=5, **given)
    assert len(build_dataloader(None, store, batch_size=4, **given)) == 1
    assert len(build_dataloader(None, store, validation=True, batch_size=5, **given)) == 1
    with pytest.raises(SamplingError, match="4 examples shared by 2 ranks"):
        DataLoader(UtteranceDataset(store), 3, drop_last=True, rank=1, world_size=2)


def test_a_chain_whose_second_store_lacks_pitch_is_refused_before_the_first_batch(store: Path, tmp_path: Path) -> None:
    chain = ChainDataset(UtteranceDataset(store), UtteranceDataset(store))
    with pytest.raises(ConfigurationError, match="it has no pitch; run: tts-prep add .* --corpus CORPUS"):
        DataLoader(chain, 2, collate_fn=TTSCollate(settings="any"))


def test_a_recipe_takes_a_chain_and_says_what_else_it_takes(store: Path) -> None:
    chain = ChainDataset(UtteranceDataset(store), UtteranceDataset(store), speakers="dataset")
    whole = PiperDataset(chain, settings="any")
    assert [int(example.speaker_id) for example in whole] == [
        utterance.speaker_code + second * len(UtteranceDataset(store).speakers)
        for second in range(2)
        for utterance in UtteranceDataset(store)
    ]
    parts = ChainDataset(PiperDataset(store, settings="any"), PiperDataset(store, settings="any"), speakers="dataset")
    assert [int(one.speaker_id) for one in parts] == [int(one.speaker_id) for one in whole]
    for other in ([1, 2], DataLoader(UtteranceDataset(store))):
        with pytest.raises(ConfigurationError, match="expected the path of a store, an UtteranceDataset or a "):
            PiperDataset(other)


def test_durations_have_a_frame_for_every_symbol_and_the_same_sum() -> None:
    for given, expected in (
        ([0, 5, 0, 3], [1, 4, 1, 2]),
        ([0, 0, 0, 9], [1, 1, 1, 6]),
        ([9, 0, 0, 0], [6, 1, 1, 1]),
        ([2, 1, 4], [2, 1, 4]),
        ([1, 0, 3], [1, 1, 2]),
    ):
        assert at_least_one_frame(np.array(given)).tolist() == expected
