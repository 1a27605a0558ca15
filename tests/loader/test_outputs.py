"""Normalized mels, layouts, recycled memory, the older API, and batches in other libraries."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from stores import SILENCE, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import (
    Collator,
    DataLoader,
    LengthBucketBatchSampler,
    MelNormalizer,
    UtteranceDataset,
    collate,
)
from tts_prep.loader.batching.buffers import RecycledBuffers
from tts_prep.loader.batching.tensors import to_tensors

N_FRAMES = [7, 3, 9, 4, 5, 11]


def test_mels_are_normalized_by_the_statistics_of_their_speaker(dataset, rows):
    batch = collate(dataset, normalize="speaker")
    for row, mel, n in zip(rows, batch.mel, N_FRAMES, strict=True):
        frames = np.concatenate([other.mel for other in rows if other.speaker == row.speaker]).astype(np.float64)
        expected = (row.mel - frames.mean(axis=0)) / frames.std(axis=0)
        np.testing.assert_allclose(mel[:n], expected, atol=2e-6)
        assert not mel[n:].any()
    by_hand = [collate([utterance], normalize="speaker").mel[0] for utterance in dataset]
    for mel, single, n in zip(batch.mel, by_hand, N_FRAMES, strict=True):
        np.testing.assert_array_equal(mel[:n], single)


def test_mels_are_normalized_by_the_statistics_of_the_corpus(dataset, rows):
    frames = np.concatenate([row.mel for row in rows]).astype(np.float64)
    batch = collate(dataset, normalize="corpus")
    for row, mel, n in zip(rows, batch.mel, N_FRAMES, strict=True):
        np.testing.assert_allclose(mel[:n], (row.mel - frames.mean(0)) / frames.std(0), atol=2e-6)
        assert not mel[n:].any()
    normalizer = MelNormalizer(np.array([1.0] * 5, np.float32), np.array([2.0] * 5, np.float32))
    np.testing.assert_allclose(normalizer.transform(rows[0].mel), (rows[0].mel - 1) / 2, atol=1e-6)
    np.testing.assert_allclose(normalizer.inverse(normalizer.transform(rows[0].mel)), rows[0].mel, atol=1e-6)


def test_normalization_keeps_no_store_in_memory(tmp_path):
    dataset = UtteranceDataset(write_store(tmp_path / "store", make_rows(N_FRAMES)))
    metadata = weakref.ref(dataset.metadata)
    collate(dataset, normalize="corpus")
    del dataset
    gc.collect()
    assert metadata() is None


def test_silence_is_normalized_as_the_frames_beside_it_are(dataset):
    batch = collate(dataset, normalize="speaker", mel_padding="silence")
    code = int(batch.speakers[1])
    mean, std = dataset.metadata.speaker_mel_mean[code], dataset.metadata.speaker_mel_std[code]
    np.testing.assert_allclose(batch.mel[1, -1], (np.array(SILENCE) - mean) / std, rtol=1e-5)


def test_a_bin_that_never_varies_is_only_centred():
    store = type("Store", (), {"mel_mean": np.array([3.0, 1.0]), "mel_std": np.array([0.0, 2.0])})
    assert MelNormalizer.of(store, "corpus").transform(np.array([[3.0, 5.0]])).tolist() == [[0.0, 2.0]]


def test_either_layout_and_multiples(dataset, rows):
    batch = collate(dataset, time_major=False, pad_to_multiple=8)
    assert batch.mel.shape == (6, 5, 16)
    for row, mel in zip(rows, batch.mel, strict=True):
        np.testing.assert_array_equal(mel[:, : len(row.mel)], row.mel.T)
        assert not mel[:, len(row.mel) :].any()


@pytest.mark.parametrize("settings", [{"normalize": "bin"}, {"mel_padding": "noise"}, {"pad_to_multiple": 0}])
def test_unknown_settings_are_refused(settings):
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        Collator(**settings)


def test_memory_is_used_again_only_when_nobody_looks_at_it():
    buffers = RecycledBuffers()
    first = buffers.take((100, 1000), np.float32)
    assert first.ctypes.data % 64 == 0
    address = first.ctypes.data
    view = first[3:5].T
    del first
    second = buffers.take((100, 1000), np.float32)
    assert second.ctypes.data != address
    view[...] = 7
    second[...] = 1
    assert (view == 7).all()
    del view
    gc.collect()
    third = buffers.take((50, 1990), np.float32)
    assert third.ctypes.data == address
    assert buffers.take((3,), np.int64).base is None
    again = pickle.loads(pickle.dumps(buffers))
    assert again.take((100, 1000), np.float32).flags.writeable


def test_memory_that_was_given_last_is_given_first_whatever_the_batch_needs_of_it():
    buffers = RecycledBuffers()
    arrays = [buffers.take((n, 1000), np.float32) for n in (100, 120, 90)]
    addresses = [array.ctypes.data for array in arrays]
    for i in (1, 2, 0):
        arrays[i] = None
    # Like batches whose longest utterances differ: one piece of memory goes to all of them.
    for n in (120, 70, 100):
        assert buffers.take((n, 1000), np.float32).ctypes.data == addresses[2]
    assert buffers.take((10, 10_000), np.uint8).ctypes.data not in addresses  # that would waste most of it


def test_only_so_much_unused_memory_is_kept():
    buffers = RecycledBuffers(max_free=2)
    arrays = [buffers.take((n, 100_000), np.uint8) for n in (1, 2, 3, 4, 5)]
    del arrays
    assert len(buffers._known) == 5
    buffers.take((50, 100_000), np.uint8)
    assert len(buffers._known) <= 2


def test_memory_of_many_batches_that_are_kept_is_theirs_and_is_not_looked_at_for_each_batch():
    buffers = RecycledBuffers()
    kept = [buffers.take((50_000,), np.uint16) for _ in range(300)]
    for number, array in enumerate(kept):
        array[:] = number
    assert len(buffers._known) == 256
    assert [(array.min(), array.max()) for array in kept] == [(number, number) for number in range(300)]
    assert len({array.ctypes.data for array in kept}) == 300


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_batches_that_are_kept_keep_their_contents(tmp_path, threads):
    lengths = [400, 380, 390, 410] * 12
    rows = make_rows(lengths)
    dataset = UtteranceDataset(write_store(tmp_path / "s", rows, n_shards=3))
    sampler = LengthBucketBatchSampler(dataset.n_frames, 8)
    loader = DataLoader(dataset, batch_sampler=sampler, threads=threads, prefetch=4)
    kept = []
    for number, batch in enumerate(loader):
        if number % 2:
            kept.append(batch)
    for batch in kept:
        for mel, index in zip(batch.mel, batch.indices, strict=True):
            np.testing.assert_array_equal(mel[: lengths[index]], rows[index].mel)


def test_settings_of_output_are_checked(dataset):
    with pytest.raises(ConfigurationError, match="'numpy' or 'torch', found 'tf'"):
        DataLoader(dataset, output="tf")
    with pytest.raises(ConfigurationError, match="requires output='torch'"):
        DataLoader(dataset, pin_memory=True)
    with pytest.raises(ConfigurationError, match="threads: expected an integer >= 1"):
        DataLoader(dataset, threads=0)


# What follows needs the library of its name, which the tests do not depend on.


def check_epoch(batches, rows):
    seen = []
    for batch in batches:
        for mel, n, index in zip(batch["mel"], batch["mel_lengths"], batch["indices"], strict=True):
            np.testing.assert_array_equal(np.asarray(mel)[: int(n)], rows[int(index)].mel)
            seen.append(int(index))
    assert sorted(seen) == list(range(len(rows)))


def as_dict(utterances):
    batch = collate(utterances, waveform=False)
    return {"mel": batch.mel, "mel_lengths": batch.mel_lengths, "indices": batch.indices}


def as_tensors(utterances):
    return collate(utterances).torch().as_dict()


def test_torch_tensors_share_the_batches_memory(dataset, rows):
    torch = pytest.importorskip("torch")
    for batch in DataLoader(dataset, 4, output="torch"):
        assert isinstance(batch.mel, torch.Tensor)
        assert batch.phonemes.dtype == torch.int64
        assert isinstance(batch.ids, list)
    arrays = collate(dataset)
    assert arrays.torch().mel.data_ptr() == arrays.mel.ctypes.data
    check_epoch((batch.as_dict() for batch in DataLoader(dataset, 4, output="torch")), rows)
    tuples = DataLoader(
        dataset, 3, collate_fn=lambda u: (collate(u).mel, {"n": collate(u).mel_lengths}), output="torch"
    )
    for mel, rest in tuples:
        assert isinstance(mel, torch.Tensor)
        assert isinstance(rest["n"], torch.Tensor)


@pytest.mark.skipif("not __import__('importlib').util.find_spec('torch')", reason="needs torch")
def test_pinned_memory_needs_a_device(dataset):
    import torch

    if torch.cuda.is_available():
        assert next(iter(DataLoader(dataset, output="torch", pin_memory=True))).mel.is_pinned()
    else:
        with pytest.raises(ConfigurationError, match="no CUDA device"):
            DataLoader(dataset, output="torch", pin_memory=True)


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (1, "spawn")])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_real_torch_loader(dataset, rows, workers, method):
    torch = pytest.importorskip("torch")
    sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=20)
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_sampler=sampler,
        num_workers=workers,
        multiprocessing_context=method,
        # It imports torch, for seconds; the forked ones are new for each epoch.
        persistent_workers=method == "spawn",
        collate_fn=as_tensors,
    )
    for _ in range(2):
        check_epoch(loader, rows)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore")
def test_the_real_paddle_loader(dataset, rows, workers):
    paddle = pytest.importorskip("paddle")
    paddle.set_device("cpu")
    loader = paddle.io.DataLoader(
        dataset,
        batch_sampler=LengthBucketBatchSampler(dataset.n_frames, max_frames=20),
        num_workers=workers,
        collate_fn=as_dict,
        return_list=True,
        use_shared_memory=False,
    )
    for _ in range(2):
        check_epoch(loader, rows)


def test_jax_takes_the_batch(dataset, rows):
    jnp = pytest.importorskip("jax.numpy")
    check_epoch(
        (
            {"mel": jnp.asarray(b.mel), "mel_lengths": b.mel_lengths, "indices": b.indices}
            for b in DataLoader(dataset, 4)
        ),
        rows,
    )


class TorchBuffers:
    """PinnedBuffers with memory that needs no device."""

    def take(self, shape, dtype):
        import torch

        memory = torch.empty(16 + int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype=torch.uint8)
        return memory.numpy()[16:].view(dtype).reshape(shape)


def test_tensors_of_torchs_memory_stay_on_its_own_storage(dataset):
    torch = pytest.importorskip("torch")
    arrays = Collator(buffers=TorchBuffers())(dataset)
    owners = {name: array.base.base for name, array in (("mel", arrays.mel), ("phonemes", arrays.phonemes))}
    batch = arrays.torch()
    for name, owner in owners.items():
        tensor, array = batch[name], arrays[name]
        # The same storage, not another one at the same address: its allocator sees every use of it.
        assert tensor.untyped_storage()._cdata == owner.untyped_storage()._cdata
        assert tensor.data_ptr() == array.ctypes.data
        np.testing.assert_array_equal(tensor.numpy(), array)
        part = to_tensors(array[1:, ::2])
        assert part.untyped_storage()._cdata == owner.untyped_storage()._cdata
        np.testing.assert_array_equal(part.numpy(), array[1:, ::2])
        np.testing.assert_array_equal(to_tensors(array[::-1].copy()).numpy(), array[::-1])
    assert torch.equal(to_tensors(arrays.mel.transpose(0, 2, 1)), batch.mel.mT)


def test_a_tensor_of_a_stores_file_is_a_copy(dataset, rows):
    torch = pytest.importorskip("torch")
    for mel in DataLoader(dataset, 1, collate_fn=lambda utterances: utterances[0].mel, output="torch"):
        # Into the map, this would end the process.
        mel += 1
    assert isinstance(mel, torch.Tensor)
    for utterance, row in zip(dataset, rows, strict=True):
        np.testing.assert_array_equal(utterance.mel, row.mel)
