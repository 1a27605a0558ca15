"""Datasets and collate functions of HiFi-GAN, BigVGAN, Vocos, VITS, Matcha-TTS and F5-TTS on stores.

`conformance/recipes.py` compares with the systems' own code; here are shapes, dtypes, alignment and epochs.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from stores import HOP_LENGTH, N_MELS, SAMPLE_RATE, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.preprocess import add_columns
from tts_prep.preprocess.audio.presets import get_preset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.run import prepare
from tts_prep.recipes import bigvgan, f5tts, hifigan, matcha, vits, vocos

torch = pytest.importorskip("torch")

N_FRAMES = [40, 9, 25, 33]
SIZE = (8 * HOP_LENGTH, 1024, N_MELS, HOP_LENGTH, 1024, SAMPLE_RATE, 0, None)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    rows = make_rows(N_FRAMES)
    for row in rows:
        # Which frame each frame and each sample is of.
        row.mel = np.repeat(np.arange(len(row.mel), dtype=np.float32)[:, None], N_MELS, 1)
        row.waveform = (np.arange(len(row.waveform)) // HOP_LENGTH + 1).astype(np.int16)
    return write_store(tmp_path_factory.mktemp("store") / "s", rows, waveform=True)


@pytest.fixture(scope="module")
def files(store):
    return [str(store / f"{uid}.wav") for uid in UtteranceDataset(store).id]


def write_list(path, store, *, speakers=False):
    dataset = UtteranceDataset(store)
    lines = [f"{store / uid}.wav|{f'{k}|' if speakers else ''}abc" for k, uid in enumerate(dataset.id)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_hifigan_cuts_mel_and_waveform_at_the_same_frame(store, files):
    dataset = hifigan.HiFiGANDataset(files, *SIZE, shuffle=False, settings="any")
    mels, audios, names, losses = hifigan.collate_hifigan(dataset.__getitems__([0, 1, 2, 3]))
    assert (mels.shape, audios.shape, losses.shape) == ((4, N_MELS, 8), (4, 8 * HOP_LENGTH), (4, N_MELS, 8))
    assert {mels.dtype, audios.dtype, losses.dtype} == {torch.float32}
    assert list(names) == files
    said = np.rint(audios.numpy() * 32768).reshape(4, 8, HOP_LENGTH) - 1
    np.testing.assert_array_equal(said[:, :, 0], mels[:, 0].numpy())
    np.testing.assert_array_equal(said[:, :, -1], mels[:, 0].numpy())
    whole = hifigan.HiFiGANDataset(files, *SIZE, split=False, settings="any")
    assert sorted(mel.shape[1] for mel, *_ in whole) == sorted(N_FRAMES)


def test_a_batch_has_the_examples_that_positions_select(files):
    dataset = hifigan.HiFiGANDataset(files, *SIZE, shuffle=False, settings="any")

    dataset.set_epoch(0)

    def first_frames(examples):
        return [(name, mel[0, 0].item()) for mel, _, name, _ in examples]

    assert first_frames(dataset.__getitems__([-1, 0])) == first_frames([dataset[3], dataset[0]])
    mask = np.array([True, False, False, True])
    assert first_frames(dataset.__getitems__(mask)) == first_frames([dataset[0], dataset[3]])


def test_hifigan_draws_anew_every_epoch_in_persistent_workers(files):
    dataset = hifigan.HiFiGANDataset(files, *SIZE, shuffle=False, settings="any")
    lengths = [1, 1, 1, 1]

    def drawn(make):
        loader = make(LengthBucketBatchSampler(lengths, 2, shuffle=False))
        return [[batch[0][:, 0, 0].tolist() for batch in loader] for _ in range(3)]

    ours = drawn(lambda sampler: DataLoader(dataset, batch_sampler=sampler, collate_fn=hifigan.collate_hifigan))
    assert ours[0] != ours[1] != ours[2]
    theirs = drawn(
        lambda sampler: torch.utils.data.DataLoader(
            dataset, batch_sampler=sampler, num_workers=1, persistent_workers=True
        )
    )
    assert theirs == ours


def test_hifigan_fine_tunes_on_mels_of_another_model(store, files, tmp_path):
    for uid, n in zip(UtteranceDataset(store).id, N_FRAMES, strict=True):
        np.save(tmp_path / f"{uid}.npy", np.tile(np.arange(n, dtype=np.float32) + 100, (1, N_MELS, 1)))
    dataset = hifigan.HiFiGANDataset(
        files, *SIZE, shuffle=False, fine_tuning=True, base_mels_path=str(tmp_path), settings="any"
    )
    for mel, audio, _, mel_loss in dataset:
        np.testing.assert_array_equal(mel - 100, mel_loss)
        assert int(audio[0] * 32768) - 1 == int(mel_loss[0, 0])


def test_hifigan_says_what_is_missing(store, files, tmp_path):
    with pytest.raises(
        ConfigurationError, match="no utterance for 1 line of the file list: 1 is unknown to it, such as 'nobody'"
    ):
        hifigan.HiFiGANDataset([str(store / "nobody.wav")], *SIZE)
    with pytest.raises(ConfigurationError, match="none: no such folder; expected a store of the same recordings"):
        hifigan.HiFiGANDataset(files, *SIZE, loss_store=tmp_path / "none", settings="any")
    for segment, hop in ((0, HOP_LENGTH), (-HOP_LENGTH, HOP_LENGTH), (8, 0)):
        with pytest.raises(ConfigurationError, match=f"expected integers >= 1, found {segment} and {hop}"):
            hifigan.HiFiGANDataset(files, segment, 1024, N_MELS, hop, 1024, SAMPLE_RATE, 0, None, settings="any")
    settings = {"audio": {**get_preset("hifigan").config.as_dict(), "channel": "first", "n_mels": N_MELS}}
    narrow = write_store(tmp_path / "narrow", make_rows([9]), n_shards=1, waveform=True, configuration=settings)
    with pytest.raises(ConfigurationError, match="mels end at 8000 Hz, and it has none to 11025 Hz"):
        hifigan.HiFiGANDataset([str(narrow / "LJ000-é.wav")], *SIZE[:-1], 8000)
    with pytest.raises(ConfigurationError, match=r"not made for HiFi-GAN: fmax is 8000 instead of 11025; repeat the"):
        hifigan.HiFiGANDataset([str(narrow / "LJ000-é.wav")], *SIZE)


@pytest.mark.parametrize(
    ("base", "found"),
    [
        (np.zeros(40), r"\[40\] of float64"),
        (np.zeros((2, N_MELS, 40)), rf"\[2, {N_MELS}, 40\]"),
        (np.zeros((40, N_MELS)), rf"\[40, {N_MELS}\]"),
        (np.full((N_MELS, 40), "x"), "of <U1"),
    ],
)
def test_hifigan_refuses_files_that_are_no_mels(files, tmp_path, base, found):
    np.save(tmp_path / "LJ000-é.npy", base)
    settings = {"shuffle": False, "fine_tuning": True, "base_mels_path": str(tmp_path), "settings": "any"}
    with pytest.raises(ConfigurationError, match=rf"LJ000-é.npy: expected a mel spectrogram of the shape .*{found}"):
        hifigan.HiFiGANDataset(files[:1], *SIZE, **settings)[0]


def test_hifigan_refuses_archives_and_empty_files_of_mels(files, tmp_path):
    path = tmp_path / "LJ000-é.npy"
    settings = {"shuffle": False, "fine_tuning": True, "base_mels_path": str(tmp_path), "settings": "any"}
    dataset = hifigan.HiFiGANDataset(files[:1], *SIZE, **settings)
    with path.open("wb") as file:
        np.savez(file, mel=np.zeros((N_MELS, 40)))
    with pytest.raises(ConfigurationError, match="as a mel spectrogram .expected one array, found an archive"):
        dataset[0]
    path.write_bytes(b"")
    with pytest.raises(ConfigurationError, match="LJ000-é.npy: cannot be read as a mel spectrogram"):
        dataset[0]


@pytest.mark.parametrize("n_base_frames", [39, 40])
def test_bigvgan_fine_tunes_on_recordings_of_full_frames(store, files, tmp_path, n_base_frames):
    # BigVGAN requires that the waveform has exactly hop_size samples for each frame of both mels.
    np.save(tmp_path / "LJ000-é.npy", np.zeros((N_MELS, n_base_frames), np.float32))
    settings = {"shuffle": False, "fine_tuning": True, "base_mels_path": str(tmp_path)}
    mel, audio, _, mel_loss = bigvgan.BigVGANDataset(files[:1], None, *SIZE, False, **settings, settings="any")[0]
    assert (mel.shape, audio.shape, mel_loss.shape) == ((N_MELS, 39), (39 * HOP_LENGTH,), (N_MELS, 39))
    np.testing.assert_array_equal(audio * 32768, UtteranceDataset(store)[0].waveform[: 39 * HOP_LENGTH])


def test_bigvgan_scales_each_segment_and_its_mel(tmp_path):
    rows = make_rows([30])
    rows[0].mel[:] = -3.0
    path = write_store(tmp_path / "s", rows, n_shards=1, waveform=True)
    dataset = bigvgan.BigVGANDataset([str(path / "LJ000-é.wav")], None, *SIZE, shuffle=False, settings="any")
    dataset.set_epoch(0)
    mel, audio, _, mel_loss = dataset[0]
    assert float(audio.abs().max()) == pytest.approx(0.95)
    start = dataset._start(dataset.utterances[0], rows[0].mel, None, 0) * HOP_LENGTH
    gain = 0.95 / np.abs(rows[0].waveform[start : start + 8 * HOP_LENGTH] / 32768).max()
    np.testing.assert_allclose(mel, -3 + np.log(gain), atol=1e-5)
    np.testing.assert_array_equal(mel, mel_loss)
    whole = bigvgan.BigVGANDataset([str(path / "LJ000-é.wav")], None, *SIZE, split=False, settings="any")[0]
    assert whole[1].shape[0] == whole[0].shape[1] * HOP_LENGTH


@pytest.mark.parametrize("length", [2_000, 20_000])
def test_vocos_draws_level_and_cut(store, tmp_path, length):
    path = write_list(tmp_path / "list", store)
    config = SimpleNamespace(filelist_path=path, sampling_rate=SAMPLE_RATE, num_samples=length)
    dataset = vocos.VocosDataset(config, True, settings="any")
    dataset.set_epoch(0)
    for i, utterance in enumerate(UtteranceDataset(store)):
        gain, start = dataset.draw(i, len(utterance.waveform))
        assert -6 <= gain <= -1
        repeated = np.resize(utterance.audio, max(length, len(utterance.audio)))[start : start + length]
        expected = repeated / np.abs(utterance.audio).max() * 10 ** (gain / 20)
        np.testing.assert_allclose(dataset[i], expected, rtol=1e-5)
    first = [wave.tolist() for wave in dataset]
    dataset.set_epoch(1)
    assert [wave.tolist() for wave in dataset] != first
    fixed = vocos.VocosDataset(config, False, settings="any")
    assert float(fixed[0].abs().max()) <= 10 ** (-3 / 20) + 1e-6
    assert torch.utils.data.default_collate([fixed[0], fixed[1]]).shape == (2, length)


def test_vocos_scales_the_peak_of_the_recording_that_a_column_has(tmp_path):
    path = write_store(tmp_path / "s", make_rows([9, 9]), waveform=True)
    dataset = UtteranceDataset(path)
    audio = dataset[0].audio
    add_columns(path, {"id": list(dataset.id), "loudest": ["0.8", ""]})
    config = SimpleNamespace(
        filelist_path=write_list(tmp_path / "list", path), sampling_rate=SAMPLE_RATE, num_samples=len(audio)
    )
    scaled = vocos.VocosDataset(config, False, settings="any", peak="loudest")
    np.testing.assert_allclose(scaled[0], audio * 10 ** (-3 / 20) / 0.8, rtol=1e-5)
    with pytest.raises(ConfigurationError, match="expected a peak above 0 in 'loudest', found"):
        scaled[1]
    with pytest.raises(ConfigurationError, match="peak: .* has no column 'peak_of_file'"):
        vocos.VocosDataset(config, False, settings="any", peak="peak_of_file")


def test_vits_gives_text_with_blanks_spectrogram_and_waveform_longest_first(store, tmp_path):
    hparams = SimpleNamespace(
        sampling_rate=SAMPLE_RATE, filter_length=1024, hop_length=HOP_LENGTH, win_length=1024, add_blank=True
    )
    dataset = vits.TextAudioSpeakerLoader(write_list(tmp_path / "list", store, speakers=True), hparams, settings="any")
    batch = vits.TextAudioSpeakerCollate(return_ids=True)([dataset[i] for i in range(4)])
    text, text_lengths, spec, spec_lengths, wav, wav_lengths, sid, ids = batch
    assert [tensor.dtype for tensor in batch] == [torch.int64] * 2 + [torch.float32, torch.int64] * 2 + [
        torch.int64
    ] * 2
    assert spec_lengths.tolist() == sorted((n // HOP_LENGTH for n in wav_lengths.tolist()), reverse=True)
    assert (spec.shape[:2], wav.shape[:2]) == ((4, 513), (4, 1))
    for row, i in enumerate(ids.tolist()):
        utterance = dataset.utterances[i]
        assert text[row, 1 : text_lengths[row] : 2].tolist() == utterance.phonemes.tolist()
        assert not text[row, 0::2].any()
        np.testing.assert_array_equal(wav[row, 0, : wav_lengths[row]], utterance.audio)
        assert int(sid[row]) == int(dataset.lines[i][1])
        window = torch.hann_window(1024)
        padded = torch.nn.functional.pad(torch.from_numpy(utterance.audio)[None, None], (384, 384), mode="reflect")
        stft = torch.stft(padded[0, 0], 1024, HOP_LENGTH, window=window, center=False, return_complex=True)
        expected = torch.sqrt(stft.abs() ** 2 + 1e-6)
        torch.testing.assert_close(spec[row, :, : spec_lengths[row]], expected, atol=1e-4, rtol=1e-4)
    x = torch.arange(24).reshape(2, 1, 12)
    assert vits.slice_segments(x, torch.tensor([3, 0]), 2).tolist() == [[[3, 4]], [[12, 13]]]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("sizes", [(1024, 256, 1024), (512, 160, 400)])
def test_spectrograms_of_vits_are_those_of_torch_with_a_compiler_and_without(monkeypatch, sizes, compiled):
    if not compiled:
        monkeypatch.setattr(vits, "_kernel", lambda *sizes: None)
    n_fft, hop_length, win_length = sizes
    side = (n_fft - hop_length) // 2
    window = torch.hann_window(win_length, dtype=torch.float64)
    # Less than a frame with its padding, and more frames than are transformed at once.
    for n_samples in (side + 1, 30_000):
        audio = np.random.default_rng(0).uniform(-0.9, 0.9, n_samples).astype(np.float32)
        audio[n_samples // 2 :] *= 1e-4
        padded = torch.nn.functional.pad(torch.from_numpy(audio).double()[None], (side, side), mode="reflect")[0]
        stft = torch.stft(padded, n_fft, hop_length, win_length, window, center=False, return_complex=True)
        found = vits.linear_spectrogram(audio, *sizes)
        assert (found.dtype, found.shape) == (np.float32, tuple(stft.shape))
        np.testing.assert_allclose(found, (stft.abs() ** 2 + 1e-6).sqrt(), rtol=2e-6)


def test_vits_says_which_line_is_wrong_and_why_no_line_is_left(store, tmp_path):
    path = tmp_path / "list"
    path.write_text(f"{store / 'LJ000-é.wav'}|abc\n\nno text\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="list:3: expected 2 fields, found 1"):
        vits.TextAudioLoader(path, vits_settings(), settings="any")
    path.write_text(f"{store / 'LJ000-é.wav'}|{'a' * 191}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="list: no text has from 1 to 190 characters; change min_text_len"):
        vits.TextAudioLoader(path, vits_settings(), settings="any")


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_vits_buckets_give_every_rank_as_many_full_batches(world_size):
    rng = np.random.default_rng(0)
    dataset = SimpleNamespace(lengths=rng.integers(20, 600, 100).tolist())
    ranks = [
        list(vits.DistributedBucketSampler(dataset, 4, [32, 100, 300, 500], world_size, rank).draw(1))
        for rank in range(world_size)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    assert {len(batch) for batches in ranks for batch in batches} == {4}
    seen = {i for batches in ranks for batch in batches for i in batch}
    assert seen == {i for i, length in enumerate(dataset.lengths) if 32 < length <= 500}
    for batches in zip(*ranks, strict=True):
        buckets = {np.searchsorted([32, 100, 300, 500], dataset.lengths[i]) for batch in batches for i in batch}
        assert len(buckets) == 1


def test_vits_batches_without_shuffling_are_those_of_vits():
    dataset = SimpleNamespace(lengths=[40, 10, 25, 33, 51, 20, 31, 90, 45, 11, 22])
    # Printed by VITS' own sampler; no length is above 36 up to 38.
    expected = [[[2, 9], [3, 3], [0, 8]], [[5, 10], [6, 6], [4, 0]]]
    for rank in range(2):
        sampler = vits.DistributedBucketSampler(dataset, 2, [10, 30, 36, 38, 60], 2, rank, shuffle=False)
        assert list(sampler) == expected[rank]
        assert sampler.left_out == [1, 7]


def test_matcha_normalizes_by_the_statistics_that_are_given(store, tmp_path):
    path = write_list(tmp_path / "list", store, speakers=True)
    statistics = {"mel_mean": 2.0, "mel_std": 4.0}
    dataset = matcha.TextMelDataset(path, 4, [], n_mels=N_MELS, data_parameters=statistics, seed=0, settings="any")
    batch = matcha.TextMelBatchCollate(4)([dataset[i] for i in range(4)])
    names = ["x", "x_lengths", "y", "y_lengths", "spks", "filepaths", "x_texts", "durations"]
    assert list(batch) == names
    assert batch["y"].shape == (4, N_MELS, 40)
    assert (batch["x"].dtype, dataset[0]["x"].dtype, batch["y"].dtype) == (torch.int64, torch.int32, torch.float32)
    for row, n in enumerate(batch["y_lengths"].tolist()):
        torch.testing.assert_close(batch["y"][row, 0, :n], (torch.arange(n) - 2.0) / 4)
        assert not batch["y"][row, :, n:].any()
    assert batch["durations"] is None
    assert sorted(batch["spks"].tolist()) == [0, 1, 2, 3]
    named = tmp_path / "named"
    named.write_text(path.read_text(encoding="utf-8").replace("|2|", "|anna|"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="named:3: expected a speaker number, found 'anna'"):
        matcha.TextMelDataset(named, 4, [], n_mels=N_MELS, settings="any")
    named.write_text("\n\n" + named.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="named:5: expected a speaker number, found 'anna'"):
        matcha.TextMelDataset(named, 4, [], n_mels=N_MELS, settings="any")
    scaled = {"audio": {"compression": {"scale": 0.5, "offset": 3.0}}}
    other = write_store(tmp_path / "o", make_rows([8]), n_shards=1, configuration=scaled)
    example = matcha.TextMelDataset(
        write_list(tmp_path / "l2", other), 1, [], n_mels=N_MELS, data_parameters=statistics, settings="any"
    )
    mel = UtteranceDataset(other)[0].mel
    np.testing.assert_allclose(example[0]["y"].T, ((mel - 3) / 0.5 - 2) / 4, atol=1e-5)


def vits_settings():
    return SimpleNamespace(
        sampling_rate=SAMPLE_RATE, filter_length=1024, hop_length=HOP_LENGTH, win_length=1024, add_blank=True
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda path: hifigan.HiFiGANDataset(
            [line.partition("|")[0] for line in path.read_text().split()], *SIZE, settings="any"
        ),
        lambda path: matcha.TextMelDataset(
            path, 1, None, n_mels=N_MELS, sample_rate=SAMPLE_RATE, seed=1, settings="any"
        ),
        lambda path: vits.TextAudioLoader(path, vits_settings(), settings="any"),
        lambda path: vocos.VocosDataset(
            SimpleNamespace(filelist_path=path, sampling_rate=SAMPLE_RATE, num_samples=100), True, settings="any"
        ),
    ],
    ids=["hifigan", "matcha", "vits", "vocos"],
)
def test_a_state_belongs_to_its_file_list(store, tmp_path, make):
    path = write_list(tmp_path / "list", store)

    def loader():
        return DataLoader(make(path), 2, collate_fn=list)

    before = loader()
    iterator = iter(before)
    next(iterator)
    state = before.state_dict()
    iterator.close()
    moved = tmp_path / "moved"
    moved.symlink_to(store)
    listed = path.read_text(encoding="utf-8")
    path.write_text(listed.replace(str(store), str(moved)), encoding="utf-8")
    resumed = loader()
    resumed.load_state_dict(state)
    assert len(list(resumed)) == 1
    first, second, *rest = listed.splitlines()
    path.write_text("\n".join([second, first, *rest]), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="the state is of another dataset"):
        loader().load_state_dict(state)


def test_f5tts_gives_mels_and_texts(tmp_path):
    rows = make_rows([40, 9, 300, 120])
    path = write_store(tmp_path / "s", rows)
    dataset = f5tts.load_f5tts_dataset(
        path, mel_spec_kwargs={"target_sample_rate": SAMPLE_RATE, "n_mel_channels": N_MELS}, settings="any"
    )
    # 9 frames are 0.09 seconds, under the 0.3 that are trained on: the next utterance comes instead.
    assert dataset.replaced == [1]
    with pytest.raises(ConfigurationError, match="durations: expected one for each of the 4 utterances, found 3"):
        f5tts.F5TTSDataset(path, [1.0, 1.0, 1.0], settings="any")
    batch = f5tts.collate_f5tts([dataset[i] for i in range(4)])
    assert list(batch) == ["mel", "mel_lengths", "text", "text_lengths"]
    assert batch["mel_lengths"].tolist() == [40, 300, 300, 120]
    assert batch["text"] == [rows[i].text for i in (0, 2, 2, 3)]
    assert batch["text_lengths"].tolist() == [len(text) for text in batch["text"]]
    np.testing.assert_array_equal(batch["mel"][0, :, :40].T, np.maximum(rows[0].mel, np.float32(np.log(1e-5))))
    sampler = f5tts.DynamicBatchSampler(torch.utils.data.SequentialSampler(dataset), 400, random_seed=0)
    assert sampler.batches == [[1, 0, 3], [2]]
    assert sorted(map(tuple, sampler)) == [(1, 0, 3), (2,)]


def test_vits_takes_the_spectrogram_of_the_store_where_it_is_the_one_that_is_computed(corpus, tmp_path):
    mel = replace(get_preset("hifigan").config, peak=None)
    hparams = SimpleNamespace(
        sampling_rate=22_050, filter_length=1024, hop_length=256, win_length=1024, add_blank=True, max_text_len=10_000
    )
    for offset, taken in ((1e-6, True), (1e-9, False)):
        path = tmp_path / f"store{offset}"
        feature = make_feature("spectrogram", {"power_offset": offset}, mel)
        configuration = Configuration(mel=mel, store=StoreConfig(waveform_dtype="float32"))
        prepare(read_ljspeech(corpus), corpus, path, configuration, features=[feature])
        loader = vits.TextAudioLoader(write_list(tmp_path / "list", path), hparams, settings="any")
        _, spec, wav = loader[0]
        computed = vits.linear_spectrogram(wav[0].numpy(), 1024, 256, 1024)
        np.testing.assert_allclose(spec, computed, rtol=1e-3, atol=1e-4)
        assert np.array_equal(spec, loader.utterances[0].arrays["spectrogram"].T) == taken
        rows = [3, 0, 2]
        examples, collate = [loader[i] for i in rows], vits.TextAudioCollate(return_ids=True)
        # Twice: a batch owns its memory, and so does an example. To write to the store's ends a process.
        for _ in range(2):
            for one, other in zip(collate(loader.__getitems__(rows)), collate(examples), strict=True):
                assert one.dtype == other.dtype
                assert torch.equal(one, other)
                one.zero_()
        for one, other in zip(loader.__getitems__(rows), examples, strict=True):
            assert all(map(torch.equal, one, other))
            one[1].zero_()
        assert np.array_equal(loader[0][1], spec)
