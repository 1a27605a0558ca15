"""Manifests in the layouts of other systems and of hubs."""

from __future__ import annotations

import gzip
import io
import json
import math
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from commands import run
from corpora import record, speech_like

from tts_prep.corpora.manifests.reader import read_manifest
from tts_prep.errors import AudioError, ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.audio.reading import ReadingConfig
from tts_prep.preprocess.make.recordings import read_utterance
from tts_prep.preprocess.source_utterance import SourceUtterance, open_recording, size_inside


def read(*files: Path, **options: Any) -> tuple[list[SourceUtterance], list[Failure]]:
    folder = files[0] if files[0].is_dir() else files[0].parent
    items = list(read_manifest(folder, [str(file.relative_to(folder)) for file in files], **options))
    return [i for i in items if isinstance(i, SourceUtterance)], [i for i in items if isinstance(i, Failure)]


def write_jsonl(path: Path, rows: Sequence[object]) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


NEMO = [
    {
        "audio_filepath": "wavs/a.wav",
        "text": "It is 5.",
        "normalized_text": "It is five.",
        "duration": 0.3,
        "speaker": 7,
    },
    {
        "audio_filepath": "wavs/b.wav",
        "text": "Two.",
        "normalized_text": "",
        "duration": 0.2,
        "offset": 0.1,
        "speaker": 8,
    },
]


@pytest.mark.parametrize("name", ["train.json", "train.jsonl", "train.jsonl.gz"])
def test_nemo_manifests_have_segments_and_normalized_texts(tmp_path: Path, name: str) -> None:
    found, failed = read(write_jsonl(tmp_path / name, NEMO))
    assert failed == []
    a, b = found
    assert (a.id, a.text, a.normalized, a.speaker, a.start, a.end) == ("wavs/a", "It is five.", True, "7", 0.0, None)
    assert (b.id, b.text, b.normalized) == ("wavs/b-00000100", "Two.", False)
    assert (b.start, b.end) == (0.1, pytest.approx(0.3))
    assert a.audio == "wavs/a.wav"
    assert a.where == f"{name}:1"


def test_what_was_taken_for_what_is_reported(tmp_path: Path) -> None:
    lines: list[str] = []
    read(write_jsonl(tmp_path / "a.jsonl", NEMO), report=lines.append)
    assert lines == [
        "columns: audio = audio_filepath, normalized_text = normalized_text, text = text, speaker = speaker, "
        "start = offset, duration = duration"
    ]


COMMON_VOICE = (
    "client_id\tpath\tsentence_id\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tlocale\n"
    'ab12\tcommon_voice_1.mp3\tx\tHe said "no.\t2\t0\ttwenties\tmale\t\ten\n'
    "cd34\tcommon_voice_2.mp3\ty\tYes, twice.\t3\t1\t\t\tIndia\ten\n"
)


def test_common_voice_has_clips_beside_its_tables_and_quotes_that_are_text(tmp_path: Path) -> None:
    record(tmp_path / "clips" / "common_voice_1.mp3")
    (tmp_path / "train.tsv").write_text(COMMON_VOICE, encoding="utf-8")
    (a, b), failed = read(tmp_path / "train.tsv")
    assert failed == []
    assert (a.speaker, a.text, a.language, a.id) == ("ab12", 'He said "no.', "en", "common_voice_1")
    assert a.audio == "clips/common_voice_1.mp3"
    assert (a.meta["up_votes"], a.meta["age"], b.meta["age"], b.meta["accents"]) == (2.0, "twenties", "", "India")


def test_csv_is_read_with_its_quotes_and_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text(
        'file_name,transcription,score\na.wav,"One, ""two""\nthree.",0.5\nb.wav,Four.,\n', encoding="utf-8"
    )
    (a, b), failed = read(tmp_path)
    assert failed == []
    assert (a.text, a.meta["score"]) == ('One, "two"\nthree.', 0.5)
    assert math.isnan(float(b.meta["score"]))


def test_a_quotation_mark_within_a_field_joins_no_rows(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text(
        'file_name,text\na.wav,A 5" pipe\nb.wav,Two.\nc.wav,A 6" pipe\nd.wav,"Four\n""4"""\n', encoding="utf-8"
    )
    rows, failed = read(tmp_path)
    assert failed == []
    assert [row.text for row in rows] == ['A 5" pipe', "Two.", 'A 6" pipe', 'Four\n"4"']


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_a_text_has_all_line_breaks_of_unicode_that_are_none_in_a_table(tmp_path: Path, separator: str) -> None:
    texts = [f"One{mark}two." for mark in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"]
    lines = [f"{i}.wav{separator}{text}\n" for i, text in enumerate(texts)]
    (tmp_path / "metadata.csv").write_text("".join([f"file_name{separator}text\n", *lines]), encoding="utf-8")
    rows, failed = read(tmp_path)
    assert ([row.text for row in rows], failed) == (texts, [])


def test_a_row_that_is_cut_by_a_carriage_return_or_an_open_quotation_mark_is_named(tmp_path: Path) -> None:
    content = b'file_name,text\na.wav,One\rtwo.\nb.wav,Two.\nc.wav,"Three\nd.wav,\xff\ne.wav,"Five\nf.wav,Six.\n'
    (tmp_path / "metadata.csv").write_bytes(content)
    rows, failed = read(tmp_path)
    assert [row.text for row in rows] == ["Two."]
    reasons = [failure.reason for failure in failed]
    assert [reason.partition(": ")[0] for reason in reasons] == [f"metadata.csv:{line}" for line in (2, 4, 5, 6)]
    assert "new-line character" in reasons[0]
    assert "byte 0xff" in reasons[2]
    assert "unexpected end of data); 2 lines were taken for it, because of a quotation mark" in reasons[3]


def test_f5_tts_separates_by_bars(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("audio_file|text\nwavs/1.wav|One, two; 'three'.\n", encoding="utf-8")
    (a,), failed = read(tmp_path / "metadata.csv")
    assert (a.text, failed) == ("One, two; 'three'.", [])


def test_columns_can_be_named(tmp_path: Path) -> None:
    manifest = write_jsonl(tmp_path / "a.jsonl", [{"clip": "a.wav", "said": "One.", "who": "anna", "text": "raw"}])
    (a,), _ = read(manifest, columns="audio=clip,text=said,speaker=who")
    assert (a.text, a.speaker, a.meta) == ("One.", "anna", {"corpus_text": "raw"})
    with pytest.raises(ConfigurationError, match="no column 'clips' for audio; its columns are clip, said, who, text"):
        read(manifest, columns="audio=clips")
    with pytest.raises(ConfigurationError, match="found 'speker'; did you mean speaker"):
        read(manifest, columns="speker=who")
    with pytest.raises(
        ConfigurationError, match="none of the columns .* holds the audio; name it with --columns audio="
    ):
        read(manifest)


def test_a_bad_row_costs_itself_and_says_where_it_is(tmp_path: Path) -> None:
    good = {"audio": "a.wav", "text": "One."}
    path = tmp_path / "a.jsonl"
    lines = [json.dumps(good), "{broken", '["a"]', json.dumps({"text": "no audio"}), '{"audio": "x", "text": "\xff"}']
    path.write_bytes("\n".join(lines).encode("latin-1") + b"\n")
    found, failed = read(path)
    assert [item.text for item in found] == ["One."]
    assert [item.where for item in failed] == ["a.jsonl:2", "a.jsonl:3", "a.jsonl:4", "a.jsonl:5"]
    assert "expected a JSON object, found a list" in failed[1].reason
    assert "no recording" in failed[2].reason
    assert "expected UTF-8, found byte 0xff" in failed[3].reason


@pytest.mark.parametrize(
    ("segment", "found"),
    [
        ({"offset": -1, "duration": 2}, "start -1"),
        ({"offset": "x", "duration": 2}, "start 'x'"),
        ({"offset": 1, "end": 0.5}, "end 0.5"),
    ],
)
def test_a_segment_that_cannot_be_is_a_failed_row(tmp_path: Path, segment: dict[str, Any], found: str) -> None:
    _, (failure,) = read(write_jsonl(tmp_path / "a.jsonl", [{"audio": "a.wav", "text": "One.", "id": "u1", **segment}]))
    assert (failure.id, found in failure.reason) == ("u1", True)


def audio_bytes(tmp_path: Path, name: str) -> bytes:
    record(tmp_path / name)
    return (tmp_path / name).read_bytes()


def hugging_face_table(clips: Sequence[bytes | None], paths: Sequence[str | None]) -> pa.Table:
    cells = [{"bytes": clip, "path": path} for clip, path in zip(clips, paths, strict=True)]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    n = len(clips)
    return pa.table(
        {
            "audio": pa.array(cells, kind),
            "text": [f"Text {i}." for i in range(n)],
            "speaker_id": list(range(n)),
            "duration": [0.3] * n,
        }
    )


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
def test_recordings_inside_parquet_and_arrow_files_are_read_in_place(tmp_path: Path, kind: str) -> None:
    clips = [audio_bytes(tmp_path, f"{i}.flac") for i in range(5)]
    table = hugging_face_table(clips, [f"{i}.flac" for i in range(5)])
    path = tmp_path / ("data.parquet" if kind == "parquet" else "data-00000-of-00001.arrow")
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    found, failed = read(path)
    assert failed == []
    assert [(item.text, item.speaker, item.meta) for item in found[:2]] == [
        ("Text 0.", "0", {"duration": 0.3}),
        ("Text 1.", "1", {"duration": 0.3}),
    ]
    assert len({item.id for item in found}) == 5
    for item, clip in zip(found, clips, strict=True):
        with open_recording(tmp_path / item.audio, item.inside) as file:
            assert file.read() == clip
        assert size_inside(item.inside) == pytest.approx(len(clip), rel=0.5)


def test_recordings_that_parquet_refers_to_are_files(tmp_path: Path) -> None:
    table = hugging_face_table([None, None], ["clips/a.wav", "clips/b.wav"])
    pq.write_table(table, tmp_path / "data.parquet")
    (a, b), failed = read(tmp_path / "data.parquet")
    assert (failed, a.inside, b.audio) == ([], "", "clips/b.wav")
    pq.write_table(hugging_face_table([b"x", None], [None, None]), tmp_path / "data.parquet")
    found, (failure,) = read(tmp_path / "data.parquet")
    assert len(found) == 1
    assert "has neither bytes nor a path" in failure.reason


def write_tar(path: Path, members: Sequence[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_recordings_inside_tars_are_ranges_of_bytes(tmp_path: Path) -> None:
    a, b = audio_bytes(tmp_path, "a.flac"), audio_bytes(tmp_path, "b.wav")
    emilia = {"id": "EN_1", "wav": "EN_1.mp3", "text": "One.", "speaker": "s1", "language": "en", "dnsmos": 3.2}
    members = [("EN_1.flac", a), ("EN_1.json", json.dumps(emilia).encode()), ("d/x.y.txt", b"n"), ("2.txt", b"Two.")]
    members += [("2.wav", b), ("3.txt", b"Three.")]
    found, failed = read(write_tar(tmp_path / "00.tar", members))
    assert [(u.id, u.text, u.speaker) for u in found] == [("EN_1", "One.", "s1"), ("2", "Two.", "0")]
    assert (found[0].meta["dnsmos"], found[0].language) == (3.2, "en")
    for item, clip in zip(found, (a, b), strict=True):
        assert size_inside(item.inside) == len(clip)
        with open_recording(tmp_path / item.audio, item.inside) as file:
            assert file.read() == clip
    assert [failure.where for failure in failed] == ["00.tar:d/x", "00.tar:3"]
    (tmp_path / "00.tar").write_bytes(gzip.compress((tmp_path / "00.tar").read_bytes()))
    with pytest.raises(CorpusError, match="cannot be read as an uncompressed tar archive"):
        read(tmp_path / "00.tar")


def test_a_description_in_a_tar_that_cannot_be_read_costs_its_row(tmp_path: Path) -> None:
    clip, good = audio_bytes(tmp_path, "a.wav"), b'{"text": "One."}'
    broken = {
        "cut": good[:-1],
        "list": b"[1]",
        "deep": b"[" * 100_000,
        "bytes": b"\xff",
        "long": b"[%s]" % (b"9" * 5000),
    }
    rows = {
        **{name: ("json", data) for name, data in broken.items()},
        "text": ("txt", b"\xff"),
        "whole": ("json", good),
    }
    members = [
        file for name, (kind, data) in rows.items() for file in ((f"{name}.wav", clip), (f"{name}.{kind}", data))
    ]
    found, failed = read(write_tar(tmp_path / "00.tar", members))
    assert [item.id for item in found] == ["whole"]
    assert [failure.where for failure in failed] == [f"00.tar:{name}" for name in (*broken, "text")]
    assert all(f".{kind} cannot be read (" in failed[i].reason for i, (kind, _) in enumerate([*rows.values()][:-1]))


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_members_with_long_names_links_and_folders_are_found(tmp_path: Path, kind: int) -> None:
    clip, long = audio_bytes(tmp_path, "a.wav"), "d" * 90 + "/" + "é" * 120
    with tarfile.open(tmp_path / "00.tar", "w", format=kind) as archive:
        folder, link = tarfile.TarInfo("d" * 90), tarfile.TarInfo("link.wav")
        folder.type, link.type, link.linkname, link.size = tarfile.DIRTYPE, tarfile.SYMTYPE, "a.wav", 700
        archive.addfile(folder)
        archive.addfile(link)
        for name, data in ((f"{long}.wav", clip), (f"{long}.txt", b"One."), ("b.txt", b"Two."), ("b.wav", clip)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found, failed = read(tmp_path / "00.tar")
    assert [(u.id, u.text) for u in found] == [(long, "One."), ("b", "Two.")]
    assert failed == []
    for item in found:
        with open_recording(tmp_path / item.audio, item.inside) as file:
            assert file.read() == clip


def test_a_damaged_tar_is_refused_whole(tmp_path: Path) -> None:
    clip = audio_bytes(tmp_path, "a.wav")
    members = [(f"{i}.{suffix}", data) for i in range(3) for suffix, data in (("wav", clip), ("txt", b"One."))]
    path = write_tar(tmp_path / "00.tar", members)
    data = path.read_bytes()
    header = data.index(b"1.wav\0")
    path.write_bytes(data[: header + 1] + b"x" + data[header + 2 :])
    with pytest.raises(CorpusError, match=rf"cannot be read as .* \(bad checksum at byte {header:,}\)"):
        read(path)
    path.write_bytes(data[: data.index(b"2.wav\0") + 600])
    with pytest.raises(CorpusError, match="the last .* bytes are missing"):
        read(path)
    # Writers may leave out the zeros at the end.
    path.write_bytes(data[: data.index(b"2.txt\0") + 1024])
    assert len(read(path)[0]) == 3


def test_sparse_members_of_tars_are_refused(tmp_path: Path) -> None:
    header = bytearray(tarfile.TarInfo("a.wav").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:398], header[398:410], header[483:495] = b"%011o\0" % 0, b"%011o\0" % 0, b"%011o\0" % 512
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "00.tar").write_bytes(header + bytes(1024))
    with pytest.raises(CorpusError, match=r"a\.wav is sparse; create the archive without --sparse"):
        read(tmp_path / "00.tar")


RECORDING = {
    "id": "r1",
    "sources": [{"type": "file", "channels": [0, 1], "source": "audio/r1.flac"}],
    "sampling_rate": 22050,
    "num_samples": 44100,
    "duration": 2.0,
}
SUPERVISION = {
    "id": "s1",
    "recording_id": "r1",
    "start": 0.5,
    "duration": 1.0,
    "channel": 0,
    "text": "One.",
    "speaker": "p1",
}


def cut(**changes: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "start": 0.25,
        "duration": 1.5,
        "channel": 0,
        "supervisions": [{**SUPERVISION, "start": 0.25}],
        "recording": RECORDING,
        "type": "MonoCut",
        **changes,
    }


def test_lhotse_cuts_are_parts_of_recordings(tmp_path: Path) -> None:
    two = [
        {**SUPERVISION, "id": "s1", "start": 0.0, "duration": 0.5},
        {**SUPERVISION, "id": "s2", "start": 0.5, "duration": 0.5},
    ]
    rows = [cut(), cut(id="c2", start=0, duration=2.0), cut(id="c3", supervisions=two), cut(id="c4", type="MixedCut")]
    rows.append(cut(id="c5", recording={**RECORDING, "transforms": [{"name": "Speed"}]}))
    rows.append(cut(id="c6", recording={**RECORDING, "sources": [{"type": "command", "channels": [0], "source": "x"}]}))
    found, failed = read(write_jsonl(tmp_path / "cuts.jsonl.gz", rows))
    assert [(u.id, u.start, u.end) for u in found] == [
        ("c1", 0.25, 1.75),
        ("c2", 0.0, None),
        ("s1", 0.25, 0.75),
        ("s2", 0.75, 1.25),
    ]
    assert {(u.text, u.speaker, u.audio) for u in found} == {("One.", "p1", "audio/r1.flac")}
    assert {u.channel for u in found} == {0}
    right, _ = read(write_jsonl(tmp_path / "cuts.jsonl", [cut(channel=1)]))
    assert right[0].channel == 1
    assert [failure.id for failure in failed] == ["c4", "c5", "c6"]
    assert "transforms (1), which only lhotse applies" in failed[1].reason


def test_lhotse_calls_languages_by_their_english_names(tmp_path: Path) -> None:
    rows = [
        cut(id=name, supervisions=[{**SUPERVISION, "language": name}])
        for name in ("English", "Chinese", "fr", "Klingon")
    ]
    found, _ = read(write_jsonl(tmp_path / "cuts.jsonl", rows))
    assert [u.language for u in found] == ["en", "zh", "fr", "Klingon"]


def test_lhotse_supervisions_stand_beside_their_recordings(tmp_path: Path) -> None:
    recordings = write_jsonl(tmp_path / "recordings.jsonl.gz", [RECORDING])
    supervisions = write_jsonl(tmp_path / "supervisions.jsonl.gz", [SUPERVISION, {**SUPERVISION, "recording_id": "r2"}])
    (a,), (failure,) = read(recordings, supervisions)
    assert (a.id, a.start, a.end) == ("s1", 0.5, 1.5)
    assert "no recording 'r2'" in failure.reason


def test_manifests_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(CorpusError, match=r"expected \.jsonl"):
        read(tmp_path / "a.xlsx")
    with pytest.raises(CorpusError, match="no manifest in this folder"):
        read(tmp_path)
    (tmp_path / "a.csv").write_text("\n")
    with pytest.raises(CorpusError, match="expected the names of the columns in the first line"):
        read(tmp_path / "a.csv")
    (tmp_path / "a.parquet").write_text("x")
    with pytest.raises(CorpusError, match="cannot be read as parquet"):
        read(tmp_path / "a.parquet")


@pytest.mark.whole
def test_a_store_of_a_manifest_has_the_bytes_of_the_same_audio_as_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    clips = {f"u{i}": audio_bytes(tmp_path, f"wavs/u{i}.flac") for i in range(3)}
    rows = [{"id": name, "audio": f"wavs/{name}.flac", "text": f"Number {i}."} for i, name in enumerate(clips)]
    write_jsonl(tmp_path / "files.jsonl", rows)
    members = [
        (f"{row['id']}.{suffix}", data)
        for row in rows
        for suffix, data in (("flac", clips[row["id"]]), ("json", json.dumps({"text": row["text"]}).encode()))
    ]
    write_tar(tmp_path / "clips.tar", members)
    cells = pa.array([{"bytes": clip, "path": None} for clip in clips.values()])
    texts = [row["text"] for row in rows]
    pq.write_table(pa.table({"audio": cells, "text": texts, "id": list(clips)}), tmp_path / "clips.parquet")
    arrays = []
    for name in ("files.jsonl", "clips.tar", "clips.parquet"):
        store = tmp_path / f"store-{name}"
        status, _, err = run(capsys, "manifest", tmp_path / name, store, "--jobs", 1, "--waveform", "int16")
        assert (status, err) == (0, "")
        dataset = UtteranceDataset(store)
        assert list(dataset.id) == list(clips)
        arrays.append([(u.mel.tobytes(), u.phonemes.tobytes(), u.waveform.tobytes()) for u in dataset])
        assert run(capsys, "verify", store)[0] == 0
    assert arrays[0] == arrays[1] == arrays[2]


def test_a_channel_of_a_recording_is_read_alone(tmp_path: Path) -> None:
    left, right = speech_like(0.2, 1), speech_like(0.2, 2)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), 22050, subtype="FLOAT")
    utterance = SourceUtterance("u", "One.", "a.wav", "m:1", "0", channel=1)
    read_right = read_utterance(tmp_path, utterance, 22050, ReadingConfig())
    np.testing.assert_array_equal(read_right, right.astype(np.float32))
    with pytest.raises(AudioError, match="has 2 channels, expected a channel 2, counted from 0"):
        read_utterance(tmp_path, replace(utterance, channel=2), 22050, ReadingConfig())


def test_references_are_ids_of_rows_where_they_name_their_recordings_and_others_are_counted(tmp_path: Path) -> None:
    record(tmp_path / "other.wav")
    rows: list[dict[str, Any]] = [
        {"audio": "a/1.wav", "text": "One.", "ref_audio": "a/2.wav", "instruction": "Loud."},
        {"audio": "a/2.wav", "text": "Two.", "ref_audio": "a/1", "instruction": 7},
        {"audio": "a/3.wav", "text": "Three.", "ref_audio": "other.wav"},
        {"audio": "a/4.wav", "text": "Four.", "ref_audio": "nothing"},
        {"audio": "a/5.wav", "text": "Five.", "ref_audio": None},
    ]
    lines: list[str] = []
    found, _ = read(write_jsonl(tmp_path / "a.jsonl", rows), report=lines.append)
    assert [row.meta["ref_audio"] for row in found] == ["a/2", "a/1", "other.wav", "nothing", ""]
    assert [row.meta["instruct"] for row in found] == ["Loud.", "7", "", "", ""]
    assert "ref_audio: 2 utterances and 1 other recordings are references" in lines
    assert "note: 1 of 4 names in ref_audio are no row and no file: nothing" in lines
    # The column can have another name, and its values can be numbers.
    named = [{"id": i, "audio": f"{i}.wav", "text": "One.", "voice": 3 - i} for i in (1, 2)]
    found, _ = read(write_jsonl(tmp_path / "b.jsonl", named), columns="ref_audio=voice", report=lines.append)
    assert [row.meta["ref_audio"] for row in found] == ["2", "1"]
