from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from commands import run

from tts_prep.checks.catalogue import THRESHOLDS
from tts_prep.checks.measuring import sound_measures
from tts_prep.checks.waveforms import Waveform
from tts_prep.demo.corpus import make_demo_corpus, read_sentences
from tts_prep.errors import CorpusError
from tts_prep.imports.alignment import Alignment, AlignmentConfig
from tts_prep.imports.alignment_files import read_textgrid


@pytest.fixture(scope="module")
def corpus(demo_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(demo_corpus, tmp_path_factory.mktemp("demo") / "corpus")


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_corpus_has_the_layout_of_lj_speech(corpus: Path) -> None:
    text = (corpus / "metadata.csv").read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    rows = [line.split("|") for line in text.splitlines()]
    assert [row[0] for row in rows] == [f"DEMO-{n:04d}" for n in range(1, 37)]
    assert all(len(row) == 3 and all(row) for row in rows)
    assert sorted(path.stem for path in (corpus / "wavs").iterdir()) == [row[0] for row in rows]


def test_recordings_are_mono_pcm16_at_22050_hz_and_audible(corpus: Path) -> None:
    seconds = []
    for path in sorted((corpus / "wavs").iterdir()):
        info = soundfile.info(path)
        assert (info.samplerate, info.channels, info.format, info.subtype) == (22_050, 1, "WAV", "PCM_16")
        waveform, _ = soundfile.read(path, dtype="int16")
        assert 5_000 < np.abs(waveform.astype(int)).max() <= 32_767
        seconds.append(info.duration)
    assert min(seconds) < 1.5
    assert max(seconds) > 9
    assert 120 < sum(seconds) < 360


def test_textgrids_have_the_phones_where_they_are_heard(corpus: Path) -> None:
    for path in sorted((corpus / "wavs").iterdir())[:12]:
        samples, rate = soundfile.read(path)
        phones = read_textgrid(corpus / "TextGrid" / f"{path.stem}.TextGrid")
        assert abs(phones[-1].end - len(samples) / rate) < 1e-6
        loud = {True: [], False: []}
        for phone in phones:
            stretch = samples[round(phone.start * rate) : round(phone.end * rate)]
            loud[phone.label != ""].extend(np.abs(stretch).tolist())
        assert np.mean(loud[True]) > 8 * np.mean(loud[False])
        durations, changed = Alignment.of_intervals(phones, path.stem).durations(
            AlignmentConfig(), rate, 256, 1 + len(samples) // 256
        )
        assert durations.sum() == 1 + len(samples) // 256
        assert abs(changed) <= 1


def test_recordings_begin_and_end_with_a_quiet_room(corpus: Path) -> None:
    for path in sorted((corpus / "wavs").iterdir()):
        samples, rate = soundfile.read(path)
        for end in (samples[: rate // 10], samples[-(rate // 10) :]):
            level = 10 * np.log10(np.mean(end**2) / np.max(samples**2))
            # The noise that is planted in one recording is louder.
            assert level < -35 or path.stem == "DEMO-0030"
            assert end.any()


def test_the_planted_faults_are_the_suspects_of_a_check(corpus: Path) -> None:
    waveforms = {path.stem: soundfile.read(path, dtype="int16") for path in sorted((corpus / "wavs").iterdir())}
    measures = {name: sound_measures(Waveform(samples, rate)) for name, (samples, rate) in waveforms.items()}
    found = {
        (name, threshold.reason)
        for name, values in measures.items()
        for threshold in THRESHOLDS
        if threshold.measure in values
        and (values[threshold.measure] - threshold.limit) * (1 if threshold.above else -1) > 0
    }
    # Flat peaks are equally high, too; a check names one of the two reasons.
    found.remove(("DEMO-0010", "saturated"))
    assert found == {("DEMO-0010", "clipped"), ("DEMO-0020", "digital-silence"), ("DEMO-0030", "noisy")}


def test_sentences_are_varied() -> None:
    sentences = read_sentences()
    words = [len(text.split()) for text, _ in sentences]
    assert (min(words), max(words)) == (3, 30)
    assert len({text for text, _ in sentences}) == 36
    printed = "".join(text for text, _ in sentences)
    assert set("123,.;:?!—\"'“”()-") <= set(printed)
    assert not any(character.isdigit() for _, normalized in sentences for character in normalized)


def test_corpus_is_the_same_bytes_elsewhere(corpus: Path, tmp_path: Path) -> None:
    assert make_demo_corpus(tmp_path) == 36
    assert content(tmp_path) == content(corpus)


def test_a_second_run_keeps_the_files_that_are_right_and_repairs_the_others(corpus: Path) -> None:
    before = content(corpus)
    (corpus / "wavs" / "DEMO-0003.wav").write_bytes(b"RIFF")
    (corpus / "wavs" / "DEMO-0005.wav").unlink()
    for path in corpus.rglob("*.*"):
        os.utime(path, (1, 1))
    assert make_demo_corpus(corpus) == 36
    assert content(corpus) == before
    rewritten = {path.name for path in corpus.rglob("*.*") if path.stat().st_mtime > 1}
    assert rewritten == {"DEMO-0003.wav", "DEMO-0005.wav"}


def test_a_corpus_and_a_store_of_ones_own_are_not_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "metadata.csv").write_text("A-0001|One.|One.\n")
    status, _, err = run(capsys, "demo", tmp_path)
    assert (status, "corpus/metadata.csv: of another corpus; nothing was changed" in err) == (1, True)
    assert content(tmp_path) == {"corpus/metadata.csv": b"A-0001|One.|One.\n"}
    store = tmp_path / "store"
    (store / "shards").mkdir(parents=True)
    (store / "shards" / "00000.h5").write_bytes(b"rows")
    status, _, err = run(capsys, "demo", store)
    assert (status, f"{store}: a store; give a new folder" in err) == (2, True)
    assert content(store) == {"shards/00000.h5": b"rows"}


def test_the_commands_that_are_shown_are_those_that_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = run(capsys, "demo", tmp_path / "demo")
    commands = [line.split()[2:] for line in shown.splitlines() if line.startswith("$ tts-prep ")]
    assert (status, [command[0] for command in commands]) == (0, ["ljspeech", "info"])
    made = content(tmp_path / "demo/store")
    # It has the number of the folder in its file system.
    made.pop("sources.json")
    shutil.rmtree(tmp_path / "demo/store")
    for command in commands:
        status, said, _ = run(capsys, *command)
        assert status == 0
    assert {**content(tmp_path / "demo/store"), **made} == content(tmp_path / "demo/store")
    assert said in shown


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="cannot write the demo corpus: Not a directory; choose another folder"):
        make_demo_corpus(tmp_path / "file" / "corpus")
