"""Features have the same bytes whether computed with a store or added later, for any number of jobs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpora import write_ljspeech

from tts_prep.additions.add_arrays import add_array, add_features
from tts_prep.errors import ConfigurationError, StoreError
from tts_prep.imports.arrays import make_imported
from tts_prep.loader import ArrayNormalizer, UtteranceDataset
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.make.asked import Part
from tts_prep.preprocess.make.resuming import finish_store
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.run import prepare
from tts_prep.verification.files import verify_store

pytestmark = pytest.mark.whole

CONFIG = Configuration(mel=PRESETS["hifigan"], text=TextConfig("characters"), store=StoreConfig(shard_utterances=3))


def features(alignments: Path | None = None):
    pytest.importorskip("pyworld")
    made = [
        make_feature("pitch", {"unvoiced": "interpolated"}, CONFIG.mel),
        make_feature("energy", {}, CONFIG.mel),
        make_feature("spectrogram", {"dtype": "float16"}, CONFIG.mel),
    ]
    return [*made, make_feature("durations", {}, CONFIG.mel, alignments)] if alignments else made


def run(corpus: Path, store: Path, wanted=(), **options) -> Path:
    prepare(read_ljspeech(corpus), corpus, store, CONFIG, features=wanted, **options)
    return store


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def alignments(corpus: Path, made_once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write durations of the characters of every utterance, as frames and as seconds."""
    plain = made_once("store-of-characters", lambda path: run(corpus, path))
    folder = tmp_path_factory.mktemp("alignments")
    for number, utterance in enumerate(UtteranceDataset(plain)):
        frames = np.diff(np.linspace(0, len(utterance.mel), len(utterance.phonemes) + 1).astype(int))
        np.save(folder / f"{utterance.id}.npy", frames if number % 2 else frames * 256 / 22050)
    return folder


@pytest.fixture(scope="module")
def whole(corpus: Path, alignments: Path, made_once) -> Path:
    """Build a store with all features."""
    return made_once("store-with-features", lambda path: run(corpus, path, features(alignments), jobs=2))


def test_every_array_has_its_rows_and_the_store_verifies(whole: Path) -> None:
    dataset = UtteranceDataset(whole)
    assert len(dataset) == 7
    assert {"pitch", "voiced", "energy", "spectrogram", "durations"} < set(dataset.arrays)
    for utterance in dataset:
        n = len(utterance.mel)
        assert [len(utterance.arrays[name]) for name in ("pitch", "voiced", "energy", "spectrogram")] == [n] * 4
        assert utterance.arrays["durations"].sum() == n
        assert len(utterance.arrays["durations"]) == len(utterance.phonemes)
    assert not [fault for _, fault in verify_store(whole, UtteranceDataset(whole)._store.manifest) if fault]


def test_features_added_later_or_with_more_jobs_give_the_same_bytes(
    corpus: Path, alignments: Path, whole: Path, tmp_path: Path
) -> None:
    later = run(corpus, tmp_path / "later")
    made = features(alignments)
    add_features(later, made[:2], CorpusRows(read_ljspeech(corpus), corpus))
    add_features(later, made, CorpusRows(read_ljspeech(corpus), corpus))
    assert files(later) == files(whole)


def test_parts_with_features_give_the_same_bytes(corpus: Path, alignments: Path, whole: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number in (2, 1):
        run(corpus, store, features(alignments), part=Part(number, 2))
    finish_store(store)
    assert files(store) == files(whole)


def test_the_arrays_of_shards_are_those_of_a_store_without_features(corpus: Path, whole: Path, tmp_path: Path) -> None:
    plain = files(run(corpus, tmp_path / "plain"))
    assert {name: data for name, data in files(whole).items() if name.startswith("shards/")} == {
        name: data for name, data in plain.items() if name.startswith("shards/")
    }


def test_an_interrupted_run_makes_the_array_files_that_are_missing(
    corpus: Path, alignments: Path, whole: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    for name in ("manifest.json", "index.h5", "arrays/pitch/00001.h5", "arrays/energy/00002.h5"):
        (store / name).unlink()
    (store / "arrays/durations/00000.h5").write_bytes(b"half of it")
    run(corpus, store, features(alignments))
    assert files(store) == files(whole)


def test_a_failed_addition_leaves_the_store_as_it_was(corpus: Path, alignments: Path, tmp_path: Path) -> None:
    store = run(corpus, tmp_path / "store")
    before = files(store)
    broken = tmp_path / "broken"
    shutil.copytree(alignments, broken)
    # Two rows of the last shard.
    (broken / "S-0005.npy").unlink()
    np.save(broken / "S-0006.npy", np.array([1, 2]))
    with pytest.raises(
        StoreError, match=r"'durations' cannot be added, 2 of the 2 .* S-0005: .*no such file.* S-0006:"
    ):
        add_features(store, features(broken)[-1:], CorpusRows(read_ljspeech(corpus), corpus))
    after = files(store)
    assert {name: after[name] for name in before} == before
    UtteranceDataset(store, verify=True)
    add_features(store, features(alignments)[-1:], CorpusRows(read_ljspeech(corpus), corpus))
    assert UtteranceDataset(store, verify=True)[0].arrays["durations"].sum() == UtteranceDataset(store).n_frames[0]


def test_a_row_whose_feature_fails_in_a_run_is_left_out_and_named(
    corpus: Path, alignments: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(alignments, broken)
    np.save(broken / "S-0003.npy", np.ones(3, np.int64))
    store = run(corpus, tmp_path / "store", features(broken), max_failures=2)
    line = (store / "failures.jsonl").read_text()
    assert '"stage": "alignment"' in line
    assert "S-0003.npy: 3 phones, but the utterance has" in line
    assert len(UtteranceDataset(store, verify=True)) == 6


@pytest.mark.whole
def test_adding_an_array_again_mends_its_broken_files(corpus: Path, tmp_path: Path) -> None:
    made = [make_feature("energy", {}, CONFIG.mel)]
    store = run(corpus, tmp_path / "store", made)
    before = files(store)
    broken = store / "arrays/energy/00001.h5"
    broken.write_bytes(broken.read_bytes()[:-100])
    (store / "arrays/energy/00002.h5").unlink()
    add_features(store, made, CorpusRows(read_ljspeech(corpus), corpus))
    assert files(store) == before


@pytest.mark.whole
def test_an_array_that_is_there_with_other_settings_is_refused(corpus: Path, tmp_path: Path) -> None:
    store = run(corpus, tmp_path / "store", [make_feature("energy", {}, CONFIG.mel)])
    before = files(store)
    other = [make_feature("energy", {"of": "log_mel"}, CONFIG.mel)]
    with pytest.raises(
        StoreError, match=r"has the array 'energy' already, made with other settings: .*magnitude.*log_mel"
    ):
        add_features(store, other, CorpusRows(read_ljspeech(corpus), corpus))
    with pytest.raises(StoreError, match=r"has the array 'energy' already"):
        run(corpus, store, other)
    with pytest.raises(
        StoreError, match=r"a complete store without the array 'spectrogram'; add it with 'tts-prep add"
    ):
        run(corpus, store, [make_feature("spectrogram", {}, CONFIG.mel)])
    assert files(store) == before


@pytest.mark.whole
def test_features_of_another_corpus_are_refused(corpus: Path, tmp_path: Path) -> None:
    store = run(corpus, tmp_path / "store")
    other = write_ljspeech(tmp_path / "other", ("Another text.", "And one more."))
    with pytest.raises(StoreError, match="not made from the rows and recordings of this corpus"):
        add_features(store, features(), CorpusRows(read_ljspeech(other), other))


def test_statistics_of_a_selection_are_numpys_over_its_rows(whole: Path) -> None:
    dataset = UtteranceDataset(whole)
    part = dataset[[5, 0, 3]]
    pitch = np.concatenate([u.arrays["pitch"][u.arrays["voiced"] == 1] for u in part]).astype(np.float64)
    found = part.selection_statistics("pitch")
    assert found.count == len(pitch) < dataset.statistics("pitch").count
    np.testing.assert_allclose(
        [found.mean, found.std, found.min, found.max], [pitch.mean(), pitch.std(), pitch.min(), pitch.max()]
    )
    assert found.speaker_count.tolist() == [len(pitch)]
    mel = np.concatenate([u.mel for u in part]).astype(np.float64)
    np.testing.assert_allclose(part.selection_statistics("mel").std, mel.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(
        dataset.selection_statistics("spectrogram").mean, dataset.statistics("spectrogram").mean, rtol=1e-12
    )
    assert part[:0].selection_statistics("energy").count == 0
    normalized = ArrayNormalizer.of(part, "energy", over="selection")
    energy = np.concatenate([normalized.transform(u.arrays["energy"]) for u in part])
    np.testing.assert_allclose([energy.mean(), energy.std()], [0, 1], atol=1e-5)


def test_statistics_are_numpys_whatever_the_shards(whole: Path) -> None:
    dataset = UtteranceDataset(whole)
    voiced = np.concatenate([u.arrays["pitch"][u.arrays["voiced"] == 1] for u in dataset]).astype(np.float64)
    found = dataset.statistics("pitch")
    assert found.count == len(voiced)
    np.testing.assert_allclose([found.mean, found.std], [voiced.mean(), voiced.std()], rtol=1e-10)
    assert (found.min, found.max) == (voiced.min(), voiced.max())
    energy = np.concatenate([u.arrays["energy"] for u in dataset]).astype(np.float64)
    np.testing.assert_allclose(dataset.statistics("energy").std, energy.std(), rtol=1e-10)


def test_energy_is_the_norm_of_the_magnitudes_and_the_spectrogram_is_torchs(corpus: Path, whole: Path) -> None:
    torch = pytest.importorskip("torch")
    import soundfile

    for utterance in UtteranceDataset(whole)[:3]:
        wav, _ = soundfile.read(corpus / "wavs" / f"{utterance.id}.wav", dtype="float32")
        wav = torch.tensor(wav.astype(np.float64) * (0.95 / np.abs(wav).max()))
        padded = torch.nn.functional.pad(wav[None], (384, 384), mode="reflect")[0]
        spectrum = torch.stft(
            padded, 1024, 256, 1024, torch.hann_window(1024).double(), center=False, return_complex=True
        )
        power = (spectrum.abs() ** 2).T.numpy()
        np.testing.assert_allclose(utterance.arrays["energy"], np.sqrt(power.sum(1)), rtol=1e-6)
        expected = np.sqrt(power + 1e-9)
        np.testing.assert_allclose(utterance.arrays["spectrogram"], expected, rtol=1e-3, atol=1e-6)


@pytest.mark.whole
def test_energy_of_the_log_mel_is_its_norm(corpus: Path, tmp_path: Path) -> None:
    store = run(corpus, tmp_path / "store", [make_feature("energy", {"of": "log_mel"}, CONFIG.mel)])
    for utterance in UtteranceDataset(store):
        np.testing.assert_allclose(utterance.arrays["energy"], np.linalg.norm(utterance.mel, axis=1), rtol=1e-6)


def test_silence_is_stored_as_unvoiced_and_counted(tmp_path: Path) -> None:
    import soundfile

    root = write_ljspeech(tmp_path / "lj", ("One.", "Two."))
    noise = np.random.default_rng(0).normal(0, 1e-4, 9000)
    soundfile.write(root / "wavs" / "S-0001.wav", noise, 22050)
    store = run(root, tmp_path / "store", features()[:1])
    dataset = UtteranceDataset(store)
    assert not dataset[1].arrays["voiced"].any()
    assert not dataset[1].arrays["pitch"].any()
    remarks = dataset._store.manifest.arrays["pitch"]["remarks"]
    assert remarks["pitch"]["examples"] == [{"symbol": "no voiced frame", "count": 1, "id": "S-0001"}]


def loudness(utterance):
    return np.abs(utterance.mel).mean(axis=1).astype(np.float32)


def wrong_length(utterance):
    return np.zeros(len(utterance.mel) + 1, np.float32)


@pytest.mark.whole
def test_a_function_adds_an_array_to_a_whole_store(corpus: Path, tmp_path: Path) -> None:
    store = run(corpus, tmp_path / "store")
    add_array(store, "loudness", loudness, settings={"of": "mel"})
    for utterance in UtteranceDataset(store, verify=True):
        np.testing.assert_allclose(utterance.arrays["loudness"], np.abs(utterance.mel).mean(axis=1), rtol=1e-5)
    with pytest.raises(StoreError, match=r"'more' cannot be added, .* expected the shape \[\d+\], found \[\d+\]"):
        add_array(store, "more", wrong_length)
    with pytest.raises(ConfigurationError, match="array 'Bad name': expected a name"):
        add_array(store, "Bad name", loudness)


@pytest.mark.whole
@pytest.mark.parametrize("form", ["folder", "npz", "h5"])
def test_arrays_made_elsewhere_are_imported_by_id(corpus: Path, tmp_path: Path, form: str) -> None:
    import h5py

    store = run(corpus, tmp_path / "store")
    rng = np.random.default_rng(1)
    vectors = {uid: rng.normal(size=16).astype(np.float32) for uid in UtteranceDataset(store).id}
    path = tmp_path / f"vectors{'' if form == 'folder' else f'.{form}'}"
    if form == "folder":
        path.mkdir()
        for uid, vector in vectors.items():
            np.save(path / f"{uid}.npy", vector)
    elif form == "npz":
        np.savez(path, **vectors)
    else:
        with h5py.File(path, "w") as file:
            for uid, vector in vectors.items():
                file[uid] = vector
    add_features(store, [make_imported(f"vector@utterance={path}")])
    for utterance in UtteranceDataset(store, verify=True):
        assert np.array_equal(utterance.arrays["vector"], vectors[utterance.id])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a[:-1], r"array 'bert': expected the shape \[\d+, 4\], found"),
        (lambda a: a.astype(np.float64), "array 'bert': expected float32, found float64"),
        (lambda a: np.where(a > 0.9, np.nan, a), r"array 'bert': \d+ values are not finite"),
        (lambda a: a[:, :3], r"expected the shape \[\d+, 4\], found \[\d+, 3\]"),
        (lambda a: None, r"S-0003.npy: no such file, expected the array 'bert'"),
    ],
)
def test_an_imported_array_that_does_not_fit_is_named_and_nothing_changes(
    store: Path, tmp_path: Path, change, message: str
) -> None:
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    before = files(copy)
    folder = tmp_path / "bert"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for utterance in UtteranceDataset(copy):
        values = rng.random((len(utterance.phonemes), 4)).astype(np.float32)
        values = change(values) if utterance.id == "S-0003" else values
        if values is not None:
            np.save(folder / f"{utterance.id}.npy", values)
    with pytest.raises(StoreError, match=message):
        add_features(copy, [make_imported(f"bert@phoneme={folder}")])
    after = files(copy)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "vector",
            "array: expected NAME=PATH, NAME@AXIS=PATH, NAME@own:RATE=PATH or NAME@AXIS:axis=1=PATH, found 'vector'",
        ),
        ("vector@time=/nowhere", "array 'vector': axis: expected one of frame, phoneme,"),
        ("vector=/nowhere", "expected a folder of .npy files, or a .npz or .h5 file"),
        ("vector@own:fast=/nowhere", "array 'vector': rate: expected a number, found 'fast'"),
        ("vector@own:=/nowhere", "array: expected NAME=PATH"),
        ("vector@:50=/nowhere", "array: expected NAME=PATH"),
        ("vector@own:axis=two=/nowhere", "array 'vector': axis of rows: expected a number, found 'two'"),
        ("vector@own:axis=2=/nowhere", "array 'vector': axis of rows: expected 0 or 1, found 2"),
        ("vector@utterance:axis=1=/nowhere", "axis of rows: expected 0 with the axis utterance, found 1"),
    ],
)
def test_refuses_arrays_that_are_described_wrong(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_imported(text)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("pich", {}, "feature: expected one of energy, durations, pitch, spectrogram, mel.*, found 'pich'"),
        ("pitch", {"low": "80"}, "pitch: expected the settings algorithm, floor, ceiling, .* found 'low'"),
        ("pitch", {"floor": "deep"}, "pitch: floor: expected a number, found 'deep'"),
        ("energy", {"of": "power"}, "energy: of: expected magnitude or log_mel, found 'power'"),
        ("spectrogram", {"dtype": "int8"}, "spectrogram: dtype: expected float32 or float16, found 'int8'"),
        ("durations", {}, "durations: expected --alignments PATH"),
    ],
)
def test_refuses_features_that_are_described_wrong(name: str, settings: dict, message: str) -> None:
    pytest.importorskip("pyworld")
    with pytest.raises(ConfigurationError, match=message):
        make_feature(name, settings, replace(CONFIG.mel))
