from __future__ import annotations

from pathlib import Path

import pytest
from corpora import KALDI, record, write_kaldi, write_libritts, write_text, write_vctk, write_vctk_080
from plugins import install

from tts_prep.corpora.filelist import guess_columns, read_filelist
from tts_prep.corpora.kaldi import read_kaldi
from tts_prep.corpora.readers import read_vctk
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.corpora.corpus import CORPORA, get_corpus
from tts_prep.preprocess.corpora.lines import with_splits
from tts_prep.preprocess.source_utterance import SourceUtterance

read_libritts = CORPORA["libritts"].read


def good(items) -> list[SourceUtterance]:
    return [item for item in items if isinstance(item, SourceUtterance)]


def bad(items) -> list[tuple[str, str, str]]:
    return [(item.id, item.where, item.reason) for item in items if isinstance(item, Failure)]


# VCTK


def test_vctk_has_one_utterance_a_sentence_with_what_is_known_of_its_speaker(tmp_path: Path) -> None:
    items = list(read_vctk(write_vctk(tmp_path)))
    assert [item.id for item in items] == ["p225_001", "p225_002", "p280_001", "p315_001", "p362_001", "s5_001"]
    assert items[0] == SourceUtterance(
        "p225_001",
        "Please call Stella 8 times.",
        "wav48_silence_trimmed/p225/p225_001_mic1.flac",
        "txt/p225/p225_001.txt:1",
        "p225",
        {"gender": "F", "accent": "English", "region": "Southern England", "age": 23},
    )
    meta = {item.speaker: item.meta for item in good(items)}
    assert meta["p280"]["region"] == "France"
    assert meta["p362"] == {"gender": "F", "accent": "American", "region": "", "age": 29}


def test_a_vctk_speaker_without_texts_costs_its_recordings(tmp_path: Path) -> None:
    assert bad(read_vctk(write_vctk(tmp_path))) == [
        (
            "p315_001",
            "txt/p315/p315_001.txt:1",
            "txt/p315/p315_001.txt: no such file; the recording has no text",
        )
    ]


def test_the_second_microphone_of_vctk_is_a_choice_and_some_speakers_lack_it(tmp_path: Path) -> None:
    said: list[str] = []
    items = list(read_vctk(write_vctk(tmp_path), mic="mic2", report=said.append))
    assert [item.audio[-19:] for item in good(items)][:2] == ["/p225_001_mic2.flac", "/p225_002_mic2.flac"]
    # Speakers without a second microphone are no failures of the run, and not passed over in silence.
    assert said == ["skipped, no recordings of mic2: p280 (1 utterance), p315 (1 utterance)"]
    assert bad(items) == []
    (tmp_path / "wav48_silence_trimmed/p225/p225_002_mic2.flac").unlink()
    (failure,) = bad(list(read_vctk(tmp_path, mic="mic2")))
    assert failure[2] == "wav48_silence_trimmed/p225/p225_002: no recording of mic2, only p225_002_mic1.flac"
    with pytest.raises(ConfigurationError, match="mic: expected one of mic1, mic2, found '3'"):
        next(read_vctk(tmp_path, mic="3"))


def test_the_first_release_of_vctk_is_read_too(tmp_path: Path) -> None:
    first, second = good(read_vctk(write_vctk_080(tmp_path)))
    assert (first.audio, first.text) == ("wav48/p225/p225_001.wav", "Ask her to bring these things.")
    assert second.meta == {"gender": "M", "accent": "Indian", "region": "", "age": 22}


def test_a_folder_that_is_no_vctk_is_an_error(tmp_path: Path) -> None:
    for root, message in ((tmp_path / "none", "no such folder"), (tmp_path, r"expected a VCTK corpus, with txt/")):
        with pytest.raises(CorpusError, match=message):
            next(read_vctk(root))
    (tmp_path / "txt").mkdir()
    (tmp_path / "wav48").mkdir()
    with pytest.raises(CorpusError, match="no recordings"):
        next(read_vctk(tmp_path))
    write_text(tmp_path / "speaker-info.txt", "ID AGE\np225 23\n")
    with pytest.raises(CorpusError, match=r"speaker-info.txt:2: expected 'ID AGE GENDER ACCENTS REGION', found 2"):
        next(read_vctk(tmp_path))


# LibriTTS


def test_libritts_has_its_subsets_as_splits_and_its_normalized_texts(tmp_path: Path) -> None:
    items = good(read_libritts(write_libritts(tmp_path)))
    assert [(item.id, item.text, item.normalized) for item in items] == [
        ("84_121123_000007_000001", "Maximilian.", True),
        ("103_1241_000000_000001", 'matthew Cuthbert is "surprised"', True),
        ("103_1241_000000_000002", "In 1843.", False),
    ]
    assert items[1].meta == {"split": "train-clean-100", "chapter": "1241", "gender": "F"}
    assert items[1].speaker == "103"
    assert items[1].audio == "train-clean-100/103/1241/103_1241_000000_000001.wav"


def test_libritts_subsets_are_chosen_by_name(tmp_path: Path) -> None:
    write_libritts(tmp_path)
    items = list(read_libritts(tmp_path, subsets=("dev-clean",)))
    assert [item.id for item in items] == ["84_121123_000007_000001", "84_121123_000008_000000"]
    assert "dev-clean/84/121123/84_121123_000008_000000.normalized.txt: no such file" in bad(items)[0][2]
    with pytest.raises(ConfigurationError, match="has no 'dev-other'; it has dev-clean, train-clean-100"):
        next(read_libritts(tmp_path, subsets=("dev-other",)))
    with pytest.raises(CorpusError, match="expected a LibriTTS corpus"):
        next(read_libritts(tmp_path / "dev-clean"))


def test_libritts_without_its_table_of_speakers_has_no_genders(tmp_path: Path) -> None:
    write_libritts(tmp_path)
    (tmp_path / "speakers.tsv").unlink()
    assert {item.meta["gender"] for item in good(read_libritts(tmp_path))} == {""}


def test_vctk_takes_suffixes_in_any_case(tmp_path: Path) -> None:
    write_vctk_080(tmp_path)
    for path in sorted(tmp_path.rglob("*.wav")):
        path.rename(path.with_suffix(".WAV"))
    assert [item.audio for item in good(read_vctk(tmp_path))] == ["wav48/p225/p225_001.WAV", "wav48/p376/p376_295.WAV"]


# File lists


@pytest.mark.parametrize(
    ("line", "columns", "speaker", "text"),
    [
        ("LJSpeech-1.1/wavs/LJ050-0234.wav|It has used 2 | ", "path|text|speaker", "0", "It has used 2"),
        ("DUMMY1/LJ022-0023.wav|The overwhelming majority", "path|text", "0", "The overwhelming majority"),
        ("DUMMY2/p364/p364_310.wav|88|It had happened to him.", "path|speaker|text", "88", "It had happened to him."),
        ("LJ001.wav|ðɪs ɪz|001", "path|text|speaker", "001", "ðɪs ɪz"),
    ],
)
def test_lists_of_nvidia_vits_and_styletts2_are_read_as_they_are(
    tmp_path: Path, line: str, columns: str, speaker: str, text: str
) -> None:
    write_text(tmp_path / "train.txt", f"{line}\n")
    assert guess_columns([line]) == columns
    (item,) = good(read_filelist(tmp_path / "train.txt"))
    # VITS's lists have a placeholder in the place of the folder.
    path = line.split("|")[0].removeprefix("DUMMY1/").removeprefix("DUMMY2/")
    assert (item.audio, item.speaker, item.text) == (path, speaker, text)
    assert item.id == path.removesuffix(".wav")
    assert item.where == "train.txt:1"


def test_speechains_names_for_texts_are_known(tmp_path: Path) -> None:
    root = write_kaldi(tmp_path, {"idx2wav": "u1 audio/a.wav\n", "idx2spk": "u1 LJ\n"})
    write_text(root / "idx2no-punc_text", "u1 one two\n")
    (item,) = good(read_kaldi(root))
    assert (item.text, item.meta) == ("one two", {})
    write_text(root / "idx2punc_text", "u1 One, two.\n")
    (item,) = good(read_kaldi(root))
    assert (item.text, item.meta) == ("One, two.", {})


def test_columns_can_be_named_and_others_become_meta_information(tmp_path: Path) -> None:
    write_text(tmp_path / "list.txt", "u1|Hello.|de|x|a/1.wav|zoë|happy\n")
    columns = "id|text|language|-|path|speaker|emotion"
    (item,) = good(read_filelist(tmp_path / "list.txt", columns=columns))
    assert item == SourceUtterance(
        "u1", "Hello.", "a/1.wav", "list.txt:1", "zoë", {"language": "de", "emotion": "happy"}
    )
    assert item.language == "de"


def test_bad_lines_of_a_list_are_failures_with_file_and_line(tmp_path: Path) -> None:
    write_text(tmp_path / "list.txt", "a.wav|one\nb.wav\n|two\nc.wav|three|four\nd.wav|five\n")
    items = list(read_filelist(tmp_path / "list.txt"))
    assert [item.id for item in good(items)] == ["a", "d"]
    assert bad(items) == [
        ("b", "list.txt:2", "list.txt:2: expected 2 fields separated by '|' (path|text), found 1"),
        ("", "list.txt:3", "list.txt:3: the path of the recording is empty"),
        ("c", "list.txt:4", "list.txt:4: expected 2 fields separated by '|' (path|text), found 3"),
    ]


def test_absolute_paths_stand_as_they_are_and_give_ids_relative_to_the_root(tmp_path: Path) -> None:
    inside, outside = tmp_path / "data/x/1.wav", Path("/elsewhere/2.wav")
    write_text(tmp_path / "list.txt", f"{inside}|one\n{outside}|two\n")
    items = good(read_filelist(tmp_path / "list.txt", tmp_path / "data"))
    assert [(item.id, item.audio) for item in items] == [("x/1", str(inside)), ("/elsewhere/2", str(outside))]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("path", "expected 'text' among 'path'"),
        ("path|text|text", "'text' is repeated"),
        ("path|text|mel_start", "cannot be named 'mel_start'"),
        ("path|text|my col", "cannot be named 'my col'"),
    ],
)
def test_columns_that_cannot_be_are_refused(tmp_path: Path, columns: str, message: str) -> None:
    write_text(tmp_path / "list.txt", "a.wav|one|two\n")
    with pytest.raises(ConfigurationError) as error:
        list(read_filelist(tmp_path / "list.txt", columns=columns))
    assert message in str(error.value)


def test_a_list_whose_columns_cannot_be_guessed_says_how_to_name_them(tmp_path: Path) -> None:
    write_text(tmp_path / "list.txt", "a|b|c|d\n")
    with pytest.raises(CorpusError, match="list.txt: most lines have 4 fields, .* name the columns with --columns"):
        list(read_filelist(tmp_path / "list.txt"))
    with pytest.raises(CorpusError, match="no such file"):
        list(read_filelist(tmp_path / "none.txt"))


NAMED_SPEAKERS = (
    ("a.wav", "anna", "She said no."),
    ("b.wav", "anna karenina", "Yes."),
    ("c.wav", "anna", "And left the room at once."),
    ("d.wav", "bert", "Then it rained."),
)


@pytest.mark.parametrize(
    "columns", ["path|speaker|text", "path|text|speaker", "text|path|speaker", "speaker|text|path"]
)
def test_named_speakers_are_told_from_texts_wherever_they_stand(tmp_path: Path, columns: str) -> None:
    rows = [dict(zip(("path", "speaker", "text"), row, strict=True)) for row in NAMED_SPEAKERS]
    lines = ["|".join(row[name] for name in columns.split("|")) for row in rows]
    assert guess_columns(lines) == columns
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe|no|UTF-8\n" + "\n".join([*lines, "broken"]).encode())
    said: list[str] = []
    items = list(read_filelist(tmp_path / "list.txt", report=said.append))
    assert said == [f"columns: {columns} (guessed; override with --columns)"]
    assert [(item.audio, item.speaker, item.text) for item in good(items)] == list(NAMED_SPEAKERS)
    assert [failure[1] for failure in bad(items)] == ["list.txt:1", "list.txt:6"]


def test_texts_without_spaces_are_told_from_speakers_by_length_and_repetition() -> None:
    lines = ["a.wav|SSB0005|广州女大学生登山失联四天", "b.wav|SSB0005|尊重科学规律的要求", "c.wav|SSB0009|七路无人售票"]
    assert guess_columns(lines) == "path|speaker|text"


def test_paths_without_a_suffix_are_what_never_repeats_and_has_no_spaces() -> None:
    assert guess_columns(["LJ001-0001|Printing, in the only sense.", "LJ001-0002|In being."]) == "path|text"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a.wav|yes|anna"], "cannot tell text from speaker: fields 2 and 3 of 1 row"),
        (["a.wav|In 1843.|In eighteen forty-three.", "b.wav|Yes it is.|Yes it is."], "cannot tell text from speaker"),
        (["a.wav|b.wav|One two."], "cannot tell which field is the path of the recording: more than one"),
        (["one two|three four"], "cannot tell which field is the path of the recording: none"),
        (["a.wav|1|2"], "cannot tell text from speaker"),
    ],
)
def test_a_list_that_stays_undecided_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    write_text(tmp_path / "list.txt", "\n".join(lines))
    with pytest.raises(CorpusError, match=f"list.txt: {message}.*--columns"):
        list(read_filelist(tmp_path / "list.txt"))


def test_numbers_in_further_columns_become_number_columns(tmp_path: Path) -> None:
    write_text(tmp_path / "list.txt", "a.wav|one|3.5|007|1\nb.wav|two|-2|012|x\nc.wav|three||013|2\n")
    a, b, c = good(read_filelist(tmp_path / "list.txt", columns="path|text|score|code|mixed"))
    assert a.meta == {"score": 3.5, "code": "007", "mixed": "1"}
    assert b.meta == {"score": -2.0, "code": "012", "mixed": "x"}
    assert c.meta == {"code": "013", "mixed": "2"}


# Kaldi


def test_a_kaldi_folder_has_its_tables_as_columns(tmp_path: Path) -> None:
    items = good(read_kaldi(write_kaldi(tmp_path, KALDI)))
    assert items == [
        SourceUtterance(
            "u1",
            "One two.",
            "audio/a.wav",
            "text:1",
            "anna",
            {"gender": "f", "language": "en-us", "emotion": "calm"},
        ),
        SourceUtterance(
            "u2", "Drei vier.", "audio/b.wav", "text:2", "001", {"gender": "m", "language": "de", "emotion": ""}
        ),
    ]


def test_the_names_of_speechain_are_understood(tmp_path: Path) -> None:
    files = {"idx2wav": KALDI["wav.scp"], "idx2text": KALDI["text"], "idx2spk": KALDI["utt2spk"]}
    files |= {"idx2gen": "u1 F\nu2 M\n", "idx2wav_len": "u1 22050\n", "idx2feat": "u1 x.npz\n"}
    items = good(read_kaldi(write_kaldi(tmp_path, files)))
    assert [(item.id, item.speaker, item.meta) for item in items] == [
        ("u1", "anna", {"gender": "F"}),
        ("u2", "001", {"gender": "M"}),
    ]


def test_segments_are_parts_of_recordings(tmp_path: Path) -> None:
    segments = "u1 rec 0.0 0.4\nu2 rec 0.4 -1\nu3 rec 2 1\nu4 gone 0 1\nu5 rec x\n"
    text = "".join(f"u{n} Text {n}.\n" for n in range(1, 6))
    files = {"wav.scp": "rec audio/a.wav\n", "segments": segments, "text": text}
    items = list(read_kaldi(write_kaldi(tmp_path, files)))
    assert [(item.id, item.audio, item.start, item.end, item.speaker) for item in good(items)] == [
        ("u1", "audio/a.wav", 0.0, 0.4, "0"),
        ("u2", "audio/a.wav", 0.4, None, "0"),
    ]
    assert [reason for _, _, reason in bad(items)] == [
        "segments:3: expected a start before an end, found 2 and 1 s",
        "segments:4: the recording 'gone' has no line in wav.scp",
        "segments:5: expected 'id recording start end', seconds, found 'u5 rec x'",
    ]


def test_commands_in_wav_scp_are_refused_and_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "run"
    files = {**KALDI, "wav.scp": f"u1 touch {trace}; cat audio/a.wav |\nu2 raw.ark:17\n"}
    items = list(read_kaldi(write_kaldi(tmp_path, files)))
    assert not trace.exists()
    (_, _, first), (_, _, second) = bad(items)
    assert first.startswith("wav.scp:1: a command, 'touch ")
    assert "commands are not run" in first
    assert second.startswith("wav.scp:2: a part of an archive, 'raw.ark:17'")


def test_rows_that_do_not_match_between_the_files_are_failures(tmp_path: Path) -> None:
    files = {
        "wav.scp": "u1 audio/a.wav\nu2 audio/b.wav\nu3 audio/b.wav\n",
        "text": "u1 One.\nu1 Again.\nu3 Three.\nu4 Four.\n",
        "utt2spk": "u1 anna\n",
    }
    items = list(read_kaldi(write_kaldi(tmp_path, files)))
    assert [item.id for item in good(items)] == ["u1"]
    assert bad(items) == [
        ("u2", "wav.scp:2", "wav.scp:2: 'u2' has a recording, but no line in text"),
        ("u3", "text:3", "text:3: 'u3' has no speaker in utt2spk"),
        ("u4", "text:4", "text:4: 'u4' has a text, but no recording in wav.scp"),
        ("u1", "text:2", "text:2: the id 'u1' is already used in text:1; only that line is used"),
    ]


def test_a_folder_without_the_files_of_kaldi_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="expected text or idx2text or .*, found none of them"):
        list(read_kaldi(tmp_path))
    write_text(tmp_path / "text", "u1 a\n")
    with pytest.raises(CorpusError, match=r"expected wav.scp or idx2wav, found none of them"):
        list(read_kaldi(tmp_path))


# Splits and the registry


def test_lists_of_ids_become_the_column_split(tmp_path: Path) -> None:
    items = [SourceUtterance(f"u{n}", "t", "a.wav", f"x:{n}", "s", {"gender": "f"}) for n in range(3)]
    write_text(tmp_path / "valid.txt", "u1\n")
    write_text(tmp_path / "test.txt", "u2|whatever\n")
    lists = {"valid": tmp_path / "valid.txt", "test": tmp_path / "test.txt"}
    assert [item.meta for item in with_splits(items, lists)] == [
        {"gender": "f", "split": "rest"},
        {"gender": "f", "split": "valid"},
        {"gender": "f", "split": "test"},
    ]
    with pytest.raises(CorpusError, match=r"test.txt:1: the corpus has no utterance 'u2'"):
        list(with_splits(items[:2], lists))
    write_text(tmp_path / "test.txt", "u1\n")
    with pytest.raises(ConfigurationError, match=r"'u1' is already in the split 'valid', by valid.txt:1"):
        list(with_splits(items, lists))


def test_readers_of_other_packages_are_found_by_their_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"mine": "corpora:write_text", "broken": "no_such_module:read", "vctk": "corpora:write_text"}
    install(monkeypatch, tmp_path / "site", "mine", {"tts_prep.corpora": {**points, "text": "corpora:SPEAKER_INFO"}})
    assert get_corpus("mine").read is write_text
    assert get_corpus("vctk") is CORPORA["vctk"]
    with pytest.raises(ConfigurationError, match="the reader 'broken' of no_such_module:read cannot be loaded"):
        get_corpus("broken")
    with pytest.raises(ConfigurationError, match="'text' of corpora:SPEAKER_INFO: expected a Corpus or a function"):
        get_corpus("text")
    with pytest.raises(ConfigurationError, match="expected one of ljspeech, vctk, .*, mine, text, found 'none'"):
        get_corpus("none")


def test_every_reader_gives_the_same_order_whatever_the_folder_gives(tmp_path: Path) -> None:
    for name in ("z", "a", "m"):
        record(tmp_path / f"wav48/p{name}/p{name}_1.wav")
        write_text(tmp_path / f"txt/p{name}/p{name}_1.txt", "Yes.")
    assert [item.id for item in read_vctk(tmp_path)] == ["pa_1", "pm_1", "pz_1"]


def test_a_package_that_ends_the_process_while_it_is_imported_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "modules/exits_when_imported.py", "raise SystemExit('no licence')\n")
    points = {"tts_prep.corpora": {"exits": "exits_when_imported:read"}}
    install(monkeypatch, tmp_path / "site", "exits", points, tmp_path / "modules")
    with pytest.raises(
        ConfigurationError, match=r"exits_when_imported:read cannot be loaded \(SystemExit: no licence\)"
    ):
        get_corpus("exits")


def test_a_name_that_two_packages_register_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path / "1", "first", {"tts_prep.corpora": {"mine": "corpora:write_text"}})
    install(monkeypatch, tmp_path / "2", "second", {"tts_prep.corpora": {"mine": "corpora:write_vctk"}})
    with pytest.raises(ConfigurationError, match="'mine' is registered more than once, as corpora:write_text and corp"):
        get_corpus("mine")
