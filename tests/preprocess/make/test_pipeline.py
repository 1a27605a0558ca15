from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import soundfile
import soxr
from commands import light
from corpora import TEXTS, speech_like, write_ljspeech
from killing import contents
from reference_mel import reference_mel
from stores import of_room

from tts_prep.errors import ConfigurationError, StoreError, TooManyFailuresError
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.config import MelConfig, ReadingConfig
from tts_prep.preprocess.audio.presets import PRESETS
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.make.shard_run import FailureLimit
from tts_prep.preprocess.run import Result, prepare
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.progress import Progress

verify_store = of_room("verification.files", "verify_store")

SMALL = Configuration(store=StoreConfig(shard_utterances=3))


def run(root: Path, store: Path, config: Configuration = SMALL, **options: object) -> Result:
    return prepare(read_ljspeech(root), root, store, config, **options)  # type: ignore[arg-type]


def failures(store: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (store / "failures.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_store_holds_every_utterance_of_the_corpus(store: Path, corpus: Path) -> None:
    manifest = read_manifest(store)
    assert manifest.totals["utterances"] == len(TEXTS)
    assert manifest.totals["failures"] == 0
    sizes = [entry.rows for entry in manifest.shards]
    assert (len(sizes) > 1, sum(sizes), {2, 3, 4, 5, 6} >= {*sizes}) == (True, len(TEXTS), True)
    assert manifest.speakers == ("ljspeech",)
    mels, total = [], 0.0
    for number in range(len(TEXTS)):
        samples, _ = soundfile.read(corpus / "wavs" / f"S-{number:04d}.wav")
        total += len(samples) / 22050
        mels.append(reference_mel("parakeet", samples))
    assert manifest.totals["seconds"] == pytest.approx(total, rel=1e-12)
    second = mels[sizes[0] : sizes[0] + sizes[1]]
    with h5py.File(store / "shards/00001.h5") as shard:
        np.testing.assert_allclose(shard["mel"][:], np.concatenate(second), rtol=0, atol=1e-5)
        ends = np.cumsum([len(mel) for mel in second])
        np.testing.assert_array_equal(shard["columns/mel_start"][:], [0, *ends[:-1]])
    frames = np.concatenate(mels)
    assert manifest.mel_statistics["count"] == len(frames)
    np.testing.assert_allclose(manifest.mel_statistics["mean"], frames.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(manifest.mel_statistics["std"], frames.std(axis=0), atol=1e-5)


def test_every_dataset_is_contiguous_and_page_aligned(store: Path) -> None:
    for path in (store / "index.h5", store / "shards/00000.h5"):
        with h5py.File(path) as file:
            names: list[str] = []
            file.visititems(
                lambda name, item, names=names: names.append(name) if isinstance(item, h5py.Dataset) else None
            )
            assert len(names) > 10
            for name in names:
                if file[name].dtype.kind != "S":
                    assert (file[name].id.get_offset() or 0) % 4096 == 0, name


def test_the_bytes_do_not_depend_on_the_number_of_jobs(store: Path, corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "two", jobs=2)
    assert contents(tmp_path / "two") == contents(store)


def test_the_bytes_do_not_depend_on_where_the_corpus_lies(store: Path, tmp_path: Path) -> None:
    elsewhere = write_ljspeech(tmp_path / "some where else")
    run(elsewhere, tmp_path / "store")
    assert contents(tmp_path / "store") == contents(store)


def test_a_run_goes_on_with_the_shards_that_are_missing(store: Path, corpus: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    run(corpus, begun)
    (begun / "manifest.json").unlink()
    (begun / "shards/00001.h5").unlink()
    (begun / "shards/00002.h5").write_bytes(b"no HDF5")
    assert run(corpus, begun).shards_made == 2
    assert contents(begun) == contents(store)


def test_a_whole_store_is_left_as_it_is(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "store")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")}
    assert run(corpus, tmp_path / "store").shards_made == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*")} == before


@pytest.mark.parametrize("whole", [True, False])
def test_a_store_made_with_other_settings_is_refused_and_the_settings_named(
    corpus: Path, tmp_path: Path, whole: bool
) -> None:
    run(corpus, tmp_path / "store")
    if not whole:
        (tmp_path / "store/manifest.json").unlink()
    other = Configuration(store=StoreConfig(shard_utterances=3), mel=MelConfig(peak=0.999, fmax=7600.0))
    before = contents(tmp_path / "store")
    with pytest.raises(StoreError) as error:
        run(corpus, tmp_path / "store", other)
    assert "made with other settings: audio.fmax is 8000.0 in the store and 7600.0 now; give" in str(error.value)
    assert contents(tmp_path / "store") == before
    run(corpus, tmp_path / "store", other, existing="overwrite")
    assert read_manifest(tmp_path / "store").configuration["audio"]["fmax"] == 7600.0


def test_a_corpus_that_changed_is_noticed(own_corpus: Path, tmp_path: Path) -> None:
    run(own_corpus, tmp_path / "store")
    metadata = (own_corpus / "metadata.csv").read_text(encoding="utf-8")
    (own_corpus / "metadata.csv").write_text(metadata.replace("Why not?", "Why?"), encoding="utf-8")
    with pytest.raises(StoreError, match="the corpus has changed since"):
        run(own_corpus, tmp_path / "store")


def test_a_store_begun_from_a_longer_corpus_loses_its_extra_shards(own_corpus: Path, tmp_path: Path) -> None:
    run(own_corpus, tmp_path / "store")
    (tmp_path / "store/manifest.json").unlink()
    lines = (own_corpus / "metadata.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (own_corpus / "metadata.csv").write_text("".join(lines[:4]), encoding="utf-8")
    result = run(own_corpus, tmp_path / "store")
    assert result.manifest.totals["utterances"] == 4
    run(own_corpus, tmp_path / "fresh")
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("existing", ["resume", "overwrite"])
def test_a_folder_that_is_no_store_is_refused_and_left_alone(corpus: Path, tmp_path: Path, existing: str) -> None:
    folder = tmp_path / "thesis"
    (folder / "shards").mkdir(parents=True)
    (folder / "shards" / "precious.tar").write_bytes(b"years of work")
    (folder / "notes.txt").write_text("more")
    with pytest.raises(StoreError, match=r"not a store, it holds 'notes.txt' and 1 more; nothing was changed"):
        run(corpus, folder, existing=existing)
    assert sorted(contents(folder)) == ["notes.txt", "shards/precious.tar"]


def test_a_path_that_cannot_be_written_is_an_error(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file: not a folder"):
        run(corpus, tmp_path / "file")
    with pytest.raises(StoreError, match=r"store: cannot be written \(.+\); give another path"):
        run(corpus, tmp_path / "file" / "store")


def break_rows(root: Path) -> None:
    """Add one row of every type of failure to a corpus of seven valid rows."""
    wavs = root / "wavs"
    soundfile.write(wavs / "silent.wav", np.zeros(9000), 22050)
    soundfile.write(wavs / "short.wav", speech_like(0.02, 1), 22050)
    soundfile.write(wavs / "ok.wav", speech_like(0.3, 1), 22050)
    (wavs / "empty.wav").write_bytes(b"")
    (wavs / "words.wav").write_bytes(b"no audio at all, only words")
    whole = (wavs / "S-0000.wav").read_bytes()
    (wavs / "cut.wav").write_bytes(whole[: len(whole) // 2])
    rows = [
        "lonely",
        "missing|a|There is no recording.",
        "empty|a|The recording is empty.",
        "cut|a|The recording is cut.",
        "words|a|The recording is no audio.",
        "silent|a|The recording is silent.",
        "short|a|Short.",
        "S-0003|a|This id stands twice.",
        "ok| | ",
        "ok|a|?!...",
    ]
    with (root / "metadata.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"{row}\n" for row in rows)


def test_every_bad_row_costs_itself_and_is_listed_with_its_reason(
    own_corpus: Path, tmp_path: Path, store: Path
) -> None:
    break_rows(own_corpus)
    result = run(own_corpus, tmp_path / "store", max_failures="100%")
    assert result.manifest.totals["utterances"] == len(TEXTS)
    found = [(row["id"], row["where"], row["stage"], row["reason"]) for row in failures(tmp_path / "store")]
    expected = [
        ("lonely", 8, "corpus", "expected 'id|text|normalized text', found 1 field"),
        ("missing", 9, "audio", "no such file"),
        ("empty", 10, "audio", "empty file"),
        ("cut", 11, "audio", "truncated"),
        ("words", 12, "audio", "cannot be read as audio"),
        ("silent", 13, "audio", "digital silence"),
        ("short", 14, "audio", "too short: 441 samples"),
        ("S-0003", 15, "corpus", "already used in metadata.csv:4"),
        ("ok", 16, "text", "the text is empty"),
        ("ok", 17, "corpus", "already used in metadata.csv:16"),
    ]
    assert len(found) == len(expected)
    for (identifier, where, stage, reason), (*key, line, kind, part) in zip(found, expected, strict=True):
        assert (identifier, where, stage) == (key[0], f"metadata.csv:{line}", kind)
        assert part in reason
    # The good rows have the values they have in a corpus without bad ones.
    with h5py.File(tmp_path / "store/shards/00000.h5") as a, h5py.File(store / "shards/00000.h5") as b:
        np.testing.assert_array_equal(a["mel"][:], b["mel"][:])
    assert all(fault is None for _, fault in verify_store(tmp_path / "store"))


@pytest.mark.whole
def test_punctuation_only_is_a_failure_of_the_text(tmp_path: Path) -> None:
    root = write_ljspeech(tmp_path / "lj", ("?!...", "Yes."))
    run(root, tmp_path / "store", max_failures=1)
    assert [(row["stage"], row["reason"]) for row in failures(tmp_path / "store")] == [
        ("text", "metadata.csv:1: nothing to speak in '?!…'")
    ]


def test_too_many_failures_end_the_run_with_the_first_reason_and_the_list(own_corpus: Path, tmp_path: Path) -> None:
    break_rows(own_corpus)
    with pytest.raises(TooManyFailuresError) as error:
        run(own_corpus, tmp_path / "store", max_failures=2)
    assert "of 17 rows failed so far, more than --max-failures 2 allows; the first is lonely (corpus)" in str(
        error.value
    )
    assert failures(tmp_path / "store")[0]["id"] == "lonely"
    assert not (tmp_path / "store/manifest.json").exists()
    assert run(own_corpus, tmp_path / "store", max_failures=10).manifest.totals["failures"] == 10


def test_a_corpus_of_nothing_but_failures_is_an_error(tmp_path: Path) -> None:
    root = write_ljspeech(tmp_path / "lj", ("...",))
    with pytest.raises(TooManyFailuresError, match="the only row failed, but a store needs at least one utterance"):
        run(root, tmp_path / "store", max_failures="100%")
    assert not (tmp_path / "store/manifest.json").exists()


@pytest.mark.parametrize(
    ("text", "total", "allowed"),
    [
        ("1%", 13100, 131),
        ("1%", 20, 0),
        ("1%", 199, 1),
        ("0%", 20, 0),
        ("0.5%", 1000, 5),
        ("100%", 7, 7),
        (3, 7, 3),
        ("12", 7, 12),
    ],
)
def test_a_share_of_failures_is_rounded_down(text: str | int, total: int, allowed: int) -> None:
    assert FailureLimit.parse(text).of(total) == allowed


@pytest.mark.parametrize("text", ["", "x", "-1", "101%", "1.5", "%", "nan%"])
def test_a_limit_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="max-failures: expected a number such as 20"):
        FailureLimit.parse(text)


def test_progress_counts_every_row_and_ends_at_the_total(corpus: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    manifest = run(corpus, tmp_path / "store", progress=seen.append).manifest
    done = np.cumsum([0, *(entry.rows for entry in manifest.shards)])
    assert [(p.done, p.total, p.failures) for p in seen if not p.under_way] == [(n, 7, 0) for n in done]


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_the_rows_of_shards_that_are_not_finished(
    corpus: Path, tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tts_prep.preprocess.workers.pool.ADVANCE_SECONDS", 0.0)
    monkeypatch.setattr("tts_prep.preprocess.workers.processes.ADVANCE_SECONDS", 0.0)
    monkeypatch.setattr("tts_prep.preprocess.workers.processes._ADVANCES", 1e9)
    seen: list[Progress] = []
    manifest = run(corpus, tmp_path / "store", light(3), progress=seen.append, jobs=jobs).manifest
    together = [p.done + p.under_way for p in seen]
    assert (together[0], together[-1], seen[-1].under_way) == (0, 7, 0)
    assert sorted(together) == together
    assert len(seen) > len(manifest.shards) + 1
    if jobs == 1:
        assert together == [*range(8)]
        seconds = [p.seconds + p.under_way_seconds for p in seen]
        assert sorted(seconds) == seconds
        assert seconds[-1] == manifest.totals["seconds"] > seconds[2] > seconds[1] > seconds[0] == 0


def test_a_limit_takes_the_first_rows(corpus: Path, tmp_path: Path) -> None:
    config = Configuration(limit=2)
    assert run(corpus, tmp_path / "store", config).manifest.totals["utterances"] == 2


def test_float16_stores_the_nearest_values(corpus: Path, store: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "half", Configuration(store=StoreConfig(mel_dtype="float16", shard_utterances=3)))
    with h5py.File(tmp_path / "half/shards/00000.h5") as a, h5py.File(store / "shards/00000.h5") as b:
        assert a["mel"].dtype == np.float16
        offset = read_manifest(tmp_path / "half").arrays["mel"]["offset"]
        np.testing.assert_array_equal(a["mel"][:], (b["mel"][:] - np.float32(offset)).astype(np.float16))


def test_shards_past_the_first_thousand_lie_in_folders_and_are_found_there(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With folders of two shards in the place of a thousand.
    def name(number: int) -> str:
        return f"shards/{f'{number // 2:03d}/' if number >= 2 else ''}{number:05d}.h5"

    for module in ("format.layout", "format.reindexing", "preprocess.make.resuming"):
        monkeypatch.setattr(f"tts_prep.{module}.shard_name", name)
    config = Configuration(store=StoreConfig(shard_utterances=1))
    run(corpus, tmp_path / "store", config)
    assert [entry.file for entry in read_manifest(tmp_path / "store").shards][:4] == [
        *("shards/00000.h5", "shards/00001.h5", "shards/001/00002.h5", "shards/001/00003.h5"),
    ]
    assert all(fault is None for _, fault in verify_store(tmp_path / "store"))
    (tmp_path / "store/manifest.json").unlink()
    (tmp_path / "store/shards/002/00004.h5").unlink()
    assert run(corpus, tmp_path / "store", config).shards_made == 1
    assert run(corpus, tmp_path / "store", config, existing="overwrite").shards_made == len(TEXTS)


@pytest.mark.parametrize("limit", [20_000, 40_000, 60_000])
def test_shards_have_from_half_to_twice_the_bytes_of_recordings(corpus: Path, tmp_path: Path, limit: int) -> None:
    config = Configuration(store=StoreConfig(shard_bytes=limit))
    manifest = run(corpus, tmp_path / "store", config).manifest
    sizes = [(corpus / "wavs" / f"S-{n:04d}.wav").stat().st_size for n in range(len(TEXTS))]
    start = 0
    for entry in manifest.shards:
        of_shard = sizes[start : start + entry.rows]
        assert limit / 2 < sum(of_shard)
        # A recording of more than half of it can be in a larger one.
        assert sum(of_shard) <= 2 * limit or max(of_shard) > limit / 2
        start += entry.rows
    assert len(manifest.shards) > 1


@pytest.mark.parametrize(("preset", "hop"), [("parakeet-wavenet", 256), ("parakeet-waveflow", 256)])
def test_a_kept_waveform_has_a_hop_of_samples_for_every_frame(
    corpus: Path, tmp_path: Path, preset: str, hop: int
) -> None:
    config = Configuration(mel=PRESETS[preset], store=StoreConfig(waveform_dtype="float32"))
    run(corpus, tmp_path / "store", config)
    with h5py.File(tmp_path / "store/shards/00000.h5") as shard:
        n_samples, n_frames = shard["columns/n_samples"][:], shard["columns/n_frames"][:]
        np.testing.assert_array_equal(n_samples, n_frames * hop)
        assert len(shard["waveform"]) == n_samples.sum()
        assert np.abs(shard["waveform"][: n_samples[0]]).max() == pytest.approx(0.999, abs=1e-6)


def test_sixteen_bit_waveforms_are_the_samples_of_the_recording(corpus: Path, tmp_path: Path) -> None:
    config = Configuration(mel=PRESETS["tacotron2"], store=StoreConfig(waveform_dtype="int16"))
    run(corpus, tmp_path / "store", config)
    samples, _ = soundfile.read(corpus / "wavs" / "S-0000.wav", dtype="int16")
    with h5py.File(tmp_path / "store/shards/00000.h5") as shard:
        np.testing.assert_array_equal(shard["waveform"][: len(samples)], samples)


def test_a_recording_over_full_scale_does_not_fit_into_sixteen_bits(own_corpus: Path, tmp_path: Path) -> None:
    soundfile.write(own_corpus / "wavs/S-0001.wav", 5 * speech_like(0.4, 1), 22050, subtype="FLOAT")
    for dtype, expected in (("int16", 1), ("float32", 0)):
        config = Configuration(mel=PRESETS["tacotron2"], store=StoreConfig(waveform_dtype=dtype))
        run(own_corpus, tmp_path / dtype, config, max_failures=1)
        assert len(failures(tmp_path / dtype)) == expected
    assert "do not fit into 16 bits, give --waveform float32" in failures(tmp_path / "int16")[0]["reason"]


def test_what_resampling_adds_to_full_scale_is_clipped_in_sixteen_bits_and_counted(
    own_corpus: Path, tmp_path: Path
) -> None:
    square = np.int16(32767) * np.sign(speech_like(0.4, 1)).astype(np.int16)
    soundfile.write(own_corpus / "wavs/S-0001.wav", square, 16000)
    reading = ReadingConfig(resampler="soxr_vhq")
    config = Configuration(mel=PRESETS["tacotron2"], reading=reading, store=StoreConfig(waveform_dtype="int16"))
    run(own_corpus, tmp_path / "store", config)
    resampled = soxr.resample(square / 32768, 16000, 22050, "VHQ") * 32768
    assert np.abs(resampled).max() > 33_000
    found = UtteranceDataset(tmp_path / "store")
    stored = next(one.waveform for one in found if one.id == "S-0001")[: len(resampled)]
    np.testing.assert_allclose(stored, np.clip(resampled, -32768, 32767), atol=1)
    counted = read_manifest(tmp_path / "store").remarks["cleaning"]
    assert (counted["count"], counted["examples"][0]["id"]) == (1, "S-0001")


def test_every_speaker_has_statistics_of_its_own(corpus: Path, tmp_path: Path) -> None:
    items = [
        replace(item, speaker="ab"[number % 2])
        for number, item in enumerate(read_ljspeech(corpus))
        if isinstance(item, SourceUtterance)
    ]
    prepare(items, corpus, tmp_path / "store", SMALL)
    mels: dict[str, list[np.ndarray]] = {"a": [], "b": []}
    for number in range(len(items)):
        samples, _ = soundfile.read(corpus / "wavs" / f"S-{number:04d}.wav")
        mels["ab"[number % 2]].append(reference_mel("parakeet", samples))
    with h5py.File(tmp_path / "store/index.h5") as index:
        for row, name in enumerate("ab"):
            frames = np.concatenate(mels[name])
            assert index["speakers/frames"][row] == len(frames)
            np.testing.assert_allclose(index["speakers/mel_mean"][row], frames.mean(axis=0), atol=1e-5)
            np.testing.assert_allclose(index["speakers/mel_std"][row], frames.std(axis=0), atol=1e-5)


def test_the_loader_gives_half_precision_mels_their_offset_back(corpus: Path, store: Path, tmp_path: Path) -> None:
    from tts_prep.loader import UtteranceDataset, collate

    run(corpus, tmp_path / "half", Configuration(store=StoreConfig(mel_dtype="float16", shard_utterances=3)))
    exact, half = UtteranceDataset(store), UtteranceDataset(tmp_path / "half")
    assert half[0].mel.dtype == np.float32
    for a, b in zip(exact, half, strict=True):
        np.testing.assert_allclose(b.mel, a.mel, rtol=0, atol=2e-3)
    np.testing.assert_allclose(collate(half).mel, collate(exact).mel, rtol=0, atol=2e-3)
    np.testing.assert_array_equal(collate(half, mel_padding="silence").mel[0, -1], exact.silence)
