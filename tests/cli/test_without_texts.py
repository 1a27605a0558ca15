"""Stores without phonemes, for vocoders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run
from corpora import record, write_ljspeech, write_text
from killing import contents

from tts_prep.errors import CorpusError
from tts_prep.loader import DataLoader, UtteranceDataset

JOBS = ("--jobs", 1)


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    """Return a folder with recordings of several formats, in subfolders, and other files."""
    for number, name in enumerate(("b/2.flac", "b/1.WAV", "top.wav", "a/x/3.ogg")):
        record(tmp_path / "audio" / name, 0.3 + 0.1 * number)
    record(tmp_path / "audio/.hidden/4.wav")
    write_text(tmp_path / "audio/b/1.txt", "Not read.\n")
    (tmp_path / "audio/b/empty").mkdir()
    return tmp_path / "audio"


@pytest.mark.whole
def test_a_folder_gives_its_recordings_in_the_order_of_their_paths(audio: Path) -> None:
    from tts_prep.corpora.folder import read_recordings

    found = list(read_recordings(audio))
    assert [(item.id, item.meta) for item in found] == [
        ("a/x/3", {"folder": "a/x"}),
        ("b/1", {"folder": "b"}),
        ("b/2", {"folder": "b"}),
        ("top", {"folder": ""}),
    ]
    with pytest.raises(CorpusError, match=r"no recordings; their names end in .wav, .flac"):
        next(read_recordings(audio / "b/empty"))


@pytest.mark.whole
def test_links_to_folders_are_followed_but_not_in_circles(audio: Path, tmp_path: Path) -> None:
    from tts_prep.corpora.folder import read_recordings

    record(tmp_path / "elsewhere/5.wav")
    (tmp_path / "elsewhere/back").symlink_to(audio)
    (audio / "a/elsewhere").symlink_to(tmp_path / "elsewhere")
    (audio / "a/self").symlink_to(audio / "a/self")
    (audio / "b/up").symlink_to(audio / "b")
    found = [item.id for item in read_recordings(audio)]
    assert found == ["a/elsewhere/5", "a/x/3", "b/1", "b/2", "top"]


@pytest.mark.whole
def test_folders_are_read_at_any_depth(tmp_path: Path) -> None:
    from tts_prep.corpora.folder import read_recordings

    folders = [tmp_path]
    for _ in range(1200):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    recording = folders[-1] / "a.wav"
    try:
        recording.touch()
        assert [item.id for item in read_recordings(tmp_path)] == ["d/" * 1200 + "a"]
    finally:
        # shutil.rmtree(), which removes folders of tests, recurses.
        recording.unlink()
        for folder in reversed(folders[1:]):
            folder.rmdir()


@pytest.mark.whole
def test_every_command_works_on_a_store_without_phonemes(capsys, audio: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    status, out, _ = run(capsys, "recordings", audio, store, "--preset", "hifigan", "--waveform", "int16", *JOBS)
    assert (status, "frontend: none" in out, "0 phonemes" in out) == (0, True, True)
    before = contents(store)
    assert run(capsys, "verify", store)[0] == 0
    assert "frontend none" in run(capsys, "info", store)[1]
    assert run(capsys, "plan", store)[0] == 0
    # Empty texts are no duplicates, and there are no speaking rates.
    status, out, _ = run(capsys, "check", store, "--json")
    counts = {reason: found["suspects"] for reason, found in json.loads(out)["thresholds"].items()}
    of_texts = ("text-duplicate", "too-slow", "too-fast", "longer-than-text", "shorter-than-text")
    assert (status, [counts[reason] for reason in of_texts]) == (0, [0, None, None, None, None])
    assert run(capsys, "report", store, "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text("utf-8")
    assert 'id="figure-mel-bins"' in page
    assert 'id="symbols"' not in page
    for system in ("espnet", "lhotse", "nemo", "parquet", "webdataset"):
        assert run(capsys, "export", store, "--to", system, tmp_path / system)[0] == 0, system
    assert not (tmp_path / "espnet/text").exists()
    assert len((tmp_path / "espnet/wav.scp").read_text().splitlines()) == 4
    # A broken shard is made again to the same bytes.
    shard = store / "shards/00000.h5"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    assert run(capsys, "verify", store, "--repair", audio, "--jobs", 1)[0] == 0
    assert contents(store) == before


@pytest.mark.whole
def test_batches_without_phonemes_have_mels_and_waveforms(capsys, audio: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run(capsys, "recordings", audio, store, "--preset", "hifigan", "--waveform", "int16", *JOBS)[0] == 0
    dataset = UtteranceDataset(store)
    assert (dataset[0].phoneme_text, dataset[0].phonemes.shape) == ("", (0,))
    (batch,) = DataLoader(dataset, batch_size=4)
    assert batch.phonemes.shape == (4, 0)
    assert batch.phoneme_lengths.tolist() == [0] * 4
    assert batch.mel.shape == (4, dataset.n_frames.max(), 80)
    assert batch.waveform.shape == (4, dataset.n_samples.max())


def test_texts_are_kept_and_mels_are_those_with_phonemes(capsys, tmp_path: Path) -> None:
    corpus = write_ljspeech(tmp_path / "lj", ("One.", "…", "Three."))
    assert run(capsys, "ljspeech", corpus, tmp_path / "none", "--frontend", "none", *JOBS)[0] == 0
    with_phonemes = ("--frontend", "characters", "--max-failures", 1)
    assert run(capsys, "ljspeech", corpus, tmp_path / "characters", *with_phonemes, *JOBS)[0] == 0
    none, other = UtteranceDataset(tmp_path / "none"), UtteranceDataset(tmp_path / "characters")
    # A text without anything to speak is a text all the same here.
    assert [utterance.text for utterance in none] == ["One.", "…", "Three."]
    assert [utterance.id for utterance in other] == ["S-0000", "S-0002"]
    np.testing.assert_array_equal(none[0].mel, other[0].mel)
    np.testing.assert_array_equal(none[2].mel, other[1].mel)


@pytest.mark.whole
def test_lists_may_lack_texts_where_there_are_no_phonemes(capsys, audio: Path, tmp_path: Path) -> None:
    write_text(audio / "paths.txt", "b/2.flac\ntop.wav\n")
    write_text(audio / "list.jsonl", "".join(json.dumps({"audio_filepath": path}) + "\n" for path in ("b/1.WAV",)))
    none = ("--frontend", "none", "--overwrite", *JOBS)
    status, _, err = run(capsys, "filelist", audio / "paths.txt", tmp_path / "store", *JOBS)
    assert (status, "most lines have 1 field" in err) == (1, True)
    assert run(capsys, "filelist", audio / "paths.txt", tmp_path / "store", *none)[0] == 0
    assert list(UtteranceDataset(tmp_path / "store").id) == ["b/2", "top"]
    status, _, err = run(capsys, "manifest", audio / "list.jsonl", tmp_path / "other", *JOBS)
    assert (status, "holds the text; name it with --columns text=COLUMN, or give --frontend none" in err) == (2, True)
    assert run(capsys, "manifest", audio / "list.jsonl", tmp_path / "other", *none)[0] == 0
    assert list(UtteranceDataset(tmp_path / "other").id) == ["b/1"]
