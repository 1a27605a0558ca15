"""A recording that is replaced is noticed by its contents, whatever its size; which ones are read, by size and time."""

from __future__ import annotations

import io
import os
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import xxhash
from commands import run
from corpora import SAMPLE_RATE, speech_like, write_text
from killing import contents
from stores import of_room

from tts_prep.errors import CorpusChangedError, StoreError
from tts_prep.format.layout import SOURCES
from tts_prep.preprocess import Configuration, Part, Result, finish_store, prepare
from tts_prep.preprocess.audio import reading
from tts_prep.preprocess.audio.reading import read_samples
from tts_prep.preprocess.configuration.records import StoreConfig, TextConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.features.kinds import make_feature
from tts_prep.preprocess.make import examples
from tts_prep.preprocess.plan.planned_store import CorpusRows
from tts_prep.preprocess.plan.shard_settings import content_of
from tts_prep.preprocess.source_utterance import SourceUtterance

add_features = of_room("additions.add_arrays", "add_features")
repair_store = of_room("verification.repair", "repair_store")
mel_of = of_room("inference", "mel_of")

SMALL = Configuration(text=TextConfig(frontend="characters", unknown="drop"), store=StoreConfig(shard_utterances=2))
IDS = [f"S-{number:04d}" for number in range(6)]


def louder(path: Path, *, keeps_time: bool = False) -> None:
    """Replace a recording by one of the same size."""
    status = path.stat()
    samples, rate = soundfile.read(path)
    soundfile.write(path, samples * 0.5, rate)
    assert path.stat().st_size == status.st_size
    # A second later, also where times are coarse.
    moved = 0 if keeps_time else 10**9
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + moved))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    (root / "wavs").mkdir(parents=True)
    for number, uid in enumerate(IDS):
        soundfile.write(root / f"wavs/{uid}.wav", speech_like(0.2, number), SAMPLE_RATE)
    write_text(root / "metadata.csv", "".join(f"{uid}|Row {uid}.|Row {uid}.\n" for uid in IDS))
    return root


def make(corpus: Path, store: Path, **options: Any) -> Result:
    return prepare(read_ljspeech(corpus), corpus, store, SMALL, **options)


def test_a_recording_of_the_same_size_is_made_again_with_the_bytes_of_a_fresh_build(
    corpus: Path, tmp_path: Path
) -> None:
    make(corpus, tmp_path / "store")
    louder(corpus / "wavs/S-0002.wav")
    assert make(corpus, tmp_path / "store", existing="update").shards_made == 1
    make(corpus, tmp_path / "fresh")
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("command", ["the same command", "add", "repair", "a part"])
def test_what_does_not_make_it_again_names_it(corpus: Path, tmp_path: Path, command: str) -> None:
    store = tmp_path / "store"
    make(corpus, store)
    before = contents(store)
    louder(corpus / "wavs/S-0002.wav")
    commands: dict[str, Callable[[], object]] = {
        "the same command": lambda: make(corpus, store),
        "add": lambda: add_features(
            store, [make_feature("energy", {}, SMALL.mel)], CorpusRows(read_ljspeech(corpus), corpus)
        ),
        "repair": lambda: repair_store(store, corpus),
        "a part": lambda: make(corpus, store, part=Part(1, 2)),
    }
    with pytest.raises(StoreError, match=r"store: older than 1 recording: wavs/S-0002.wav; .*--update"):
        commands[command]()
    assert contents(store) == before


def test_only_recordings_of_another_size_or_time_are_read_again_unless_all_are_asked_for(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("ljspeech", corpus, tmp_path / "store", "--frontend", "characters", "--unknown", "drop")
    assert run(capsys, *command)[0] == 0
    louder(corpus / "wavs/S-0002.wav", keeps_time=True)
    assert "already complete" in run(capsys, *command, "--update")[1]
    assert "already complete" not in run(capsys, *command, "--update", "--reread")[1]
    assert run(capsys, *command[:2], tmp_path / "fresh", *command[3:])[0] == 0
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("existing", ["update", "resume"])
def test_recordings_that_are_as_they_were_are_read_once_after_they_were_touched(
    corpus: Path, tmp_path: Path, existing: Any
) -> None:
    make(corpus, tmp_path / "store")
    path = corpus / "wavs/S-0003.wav"
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    assert make(corpus, tmp_path / "store", existing=existing).shards_made == 0
    # The new time is known now, so that this is not read.
    louder(path, keeps_time=True)
    assert make(corpus, tmp_path / "store", existing=existing).shards_made == 0


@pytest.mark.parametrize("text", [None, "", "{}", '{"format": "tts-prep sources", "shards": [1]}'])
def test_without_an_intact_list_of_sources_all_recordings_are_read(
    corpus: Path, tmp_path: Path, text: str | None
) -> None:
    make(corpus, tmp_path / "store")
    if text is None:
        (tmp_path / "store" / SOURCES).unlink()
    else:
        write_text(tmp_path / "store" / SOURCES, text)
    louder(corpus / "wavs/S-0002.wav", keeps_time=True)
    assert make(corpus, tmp_path / "store", existing="update").shards_made == 1


def test_sources_are_those_of_a_fresh_build_after_parts_and_updates(corpus: Path, tmp_path: Path) -> None:
    make(corpus, tmp_path / "parts", part=Part(1, 2))
    make(corpus, tmp_path / "parts", part=Part(2, 2))
    finish_store(tmp_path / "parts")
    make(corpus, tmp_path / "store")
    expected = (tmp_path / "store" / SOURCES).read_bytes()
    assert [path.name for path in (tmp_path / "parts").glob("sources*")] == [SOURCES]
    assert (tmp_path / "parts" / SOURCES).read_bytes() == expected
    louder(corpus / "wavs/S-0002.wav")
    make(corpus, tmp_path / "store", existing="update")
    make(corpus, tmp_path / "fresh")
    assert (tmp_path / "store" / SOURCES).read_bytes() == (tmp_path / "fresh" / SOURCES).read_bytes() != expected


def test_an_unfinished_store_is_resumed_with_the_recordings_as_they_are(corpus: Path, tmp_path: Path) -> None:
    make(corpus, tmp_path / "store")
    (tmp_path / "store/manifest.json").unlink()
    louder(corpus / "wavs/S-0002.wav", keeps_time=True)
    assert make(corpus, tmp_path / "store").shards_made == 1
    make(corpus, tmp_path / "fresh")
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


def test_a_recording_that_is_replaced_while_a_store_is_made_ends_the_run(corpus: Path, tmp_path: Path) -> None:
    def rows() -> Any:
        yield from read_ljspeech(corpus)
        path = corpus / "wavs/S-0002.wav"
        # All rows are planned when the last one is read.
        yield SourceUtterance("last", "Last.", "wavs/S-0001.wav", "here", "0")
        louder(path)

    with pytest.raises(CorpusChangedError, match=r"S-0002.wav: modified after the run was planned"):
        prepare(rows(), corpus, tmp_path / "store", SMALL)


def test_a_failed_row_is_tried_again_when_its_recording_is_another_one(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "wavs/S-0002.wav"
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    assert make(corpus, tmp_path / "store", max_failures=1).failures == 1
    path.write_bytes(whole)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    assert make(corpus, tmp_path / "store", existing="update").failures == 0
    make(corpus, tmp_path / "fresh")
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


def test_of_a_long_recording_only_the_excerpts_around_a_change_are_made_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    samples = rng.integers(-9000, 9000, 30 * SAMPLE_RATE).astype(np.int16)
    soundfile.write(tmp_path / "long.wav", samples, SAMPLE_RATE)
    excerpts = [SourceUtterance(str(n), "Text.", "long.wav", "", "0", start=n, end=n + 1.0) for n in range(30)]

    def of_all(rate: int) -> list[str]:
        return [content_of(tmp_path, excerpt, rate) for excerpt in excerpts]

    before, other_rate = of_all(SAMPLE_RATE), of_all(16_000)
    assert len({*before}) == 30
    samples[12 * SAMPLE_RATE + 5] += 1
    soundfile.write(tmp_path / "long.wav", samples, SAMPLE_RATE)
    after = of_all(SAMPLE_RATE)
    # Those within a second of the changed sample.
    assert [n for n in range(30) if after[n] != before[n]] == [11, 12, 13]
    # Resampling is of the whole recording.
    assert all(new != old for new, old in zip(of_all(16_000), other_rate, strict=True))


def test_the_contents_of_a_recording_are_the_xxh3_of_its_bytes_also_inside_an_archive(tmp_path: Path) -> None:
    recordings = {f"{n}.wav": speech_like(0.2, n) for n in range(2)}
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for name, samples in recordings.items():
            file = io.BytesIO()
            soundfile.write(file, samples, SAMPLE_RATE, format="WAV")
            (tmp_path / name).write_bytes(file.getvalue())
            archive.add(tmp_path / name, name)
    with tarfile.open(tmp_path / "all.tar") as archive:
        members = {member.name: f"bytes {member.offset_data} {member.size}" for member in archive}
    for name, inside in members.items():
        row = SourceUtterance("x", "Text.", name, "", "0")
        expected = xxhash.xxh3_128((tmp_path / name).read_bytes()).hexdigest()
        assert content_of(tmp_path, row, SAMPLE_RATE) == expected
        inner = SourceUtterance("x", "Text.", "all.tar", "", "0", inside=inside)
        assert content_of(tmp_path, inner, SAMPLE_RATE) == expected
    assert content_of(tmp_path, SourceUtterance("x", "Text.", "none.wav", "", "0"), SAMPLE_RATE) == ""


@pytest.mark.parametrize(
    ("samples", "subtype", "rate", "container"),
    [
        ((2000,), "PCM_16", SAMPLE_RATE, "WAV"),
        ((2000, 2), "PCM_16", SAMPLE_RATE, "WAV"),
        ((2000,), "FLOAT", SAMPLE_RATE, "WAV"),
        ((2000,), "PCM_16", 16_000, "WAV"),
        pytest.param((2000,), "PCM_16", SAMPLE_RATE, "AIFF", marks=pytest.mark.whole),
        pytest.param((2000,), "PCM_16", SAMPLE_RATE, "FLAC", marks=pytest.mark.whole),
    ],
)
def test_the_xxh3_is_known_of_a_recording_that_was_read(
    tmp_path: Path, samples: tuple[int, ...], subtype: str, rate: int, container: str
) -> None:
    path = tmp_path / "x"
    soundfile.write(path, np.random.default_rng(0).uniform(-1, 1, samples), rate, subtype, format=container)
    if container == "WAV":
        path.write_bytes(path.read_bytes() + b"LIST\x04\0\0\0abcd")
    found: list[str] = []
    with_contents = read_samples(path, SAMPLE_RATE, contents=found)
    assert found == [xxhash.xxh3_128(path.read_bytes()).hexdigest()]
    np.testing.assert_array_equal(with_contents, read_samples(path, SAMPLE_RATE))


def test_a_recording_whose_samples_begin_late_has_the_xxh3_of_its_bytes(tmp_path: Path, corpus: Path) -> None:
    path = corpus / "wavs/S-0003.wav"
    data = path.read_bytes()
    # Behind the format, and before the samples.
    path.write_bytes(data[:36] + b"JUNK" + struct.pack("<I", 5000) + bytes(5000) + data[36:])
    make(corpus, tmp_path / "store")
    assert make(corpus, tmp_path / "store", existing="update", rereads=True).shards_made == 0


def test_samples_and_xxh3_of_a_usual_recording_come_of_one_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "x.wav", []
    soundfile.write(path, speech_like(2, 1), SAMPLE_RATE)
    monkeypatch.setattr(reading, "add_bytes", lambda _digest, _file, start, *_: read.append(start))
    read_samples(path, SAMPLE_RATE, contents=[])
    assert read == [path.stat().st_size]


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("is_silent", [False, True])
def test_a_recording_that_changes_just_after_it_was_read_is_found_by_reading_all(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, channels: int, is_silent: bool
) -> None:
    path, read_recording = corpus / "wavs/S-0003.wav", examples.read_recording
    samples = np.stack([speech_like(0.2, 3)] * channels, 1)
    soundfile.write(path, samples * (not is_silent), SAMPLE_RATE)

    def reading_and_changing(utterance: SourceUtterance, *rest: Any, **options: Any) -> Any:
        try:
            return read_recording(utterance, *rest, **options)
        finally:
            if utterance.id == "S-0003":
                time = path.stat().st_mtime_ns
                soundfile.write(path, samples * 0.5, SAMPLE_RATE)
                os.utime(path, ns=(time, time))

    with monkeypatch.context() as patch:
        patch.setattr(examples, "read_recording", reading_and_changing)
        make(corpus, tmp_path / "store", max_failures=1)
    make(corpus, tmp_path / "store", existing="update", rereads=True)
    make(corpus, tmp_path / "fresh")
    assert contents(tmp_path / "store") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("edits", [0, 1])
def test_what_was_read_before_a_run_is_not_believed(tmp_path: Path, corpus: Path, edits: int) -> None:
    store, path = tmp_path / "store", corpus / "wavs/S-0003.wav"
    make(corpus, store)
    if edits:
        louder(path)
        make(corpus, store, existing="update")
    mel_of(store)(path)
    louder(path, keeps_time=True)
    assert make(corpus, store, existing="update", rereads=True).shards_made == 1
