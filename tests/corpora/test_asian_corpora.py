from __future__ import annotations

from pathlib import Path

import pytest
from asian_corpora import write_aishell3, write_baker, write_css10, write_jsut, write_kss
from commands import run
from corpora import write_text

from tts_prep.corpora.readers import read_baker, read_css10
from tts_prep.errors import ConfigurationError, CorpusError
from tts_prep.format.records.failures import Failure
from tts_prep.imports.alignment import AlignmentFolder
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess.corpora.corpus import CORPORA
from tts_prep.preprocess.source_utterance import SourceUtterance

JOBS = ("--jobs", 1)
read_aishell3, read_jsut, read_kss = (CORPORA[name].read for name in ("aishell3", "jsut", "kss"))


def good(items) -> list[SourceUtterance]:
    return [item for item in items if isinstance(item, SourceUtterance)]


def bad(items) -> list[tuple[str, str]]:
    return [(item.id, item.reason) for item in items if isinstance(item, Failure)]


# Baker


def test_baker_speaks_its_pinyin_with_the_marks_and_punctuation_of_the_characters(tmp_path: Path) -> None:
    items = list(read_baker(write_baker(tmp_path)))
    assert items[0] == SourceUtterance(
        "000001",
        "ka2 er2 pu3 #2 pei2 wai4 sun1 #1 wan2 hua2 ti1 #4 。",
        "Wave/000001.wav",
        "000001-010000.txt:1",
        "baker",
        {"characters": "卡尔普陪外孙玩滑梯。"},
        normalized=True,
    )
    # An ending -r is one syllable of two characters; 儿 in 儿童 is one of its own. B is read as a syllable.
    assert [item.text for item in good(items)[1:]] == [
        "ta1 #1 liu4 wanr1 #2 dou1 dei3 #2 duo2 yuan2 dian3 #4 ！",
        "“ ng1 ， bi4 xing2 xie3 #1 er2 tong2 #4 ” 。",
    ]
    assert bad(items) == [
        ("002365", "000001-010000.txt:7: expected pinyin syllables with tones, found 'P'"),
    ]


def test_baker_speaks_its_characters_where_asked_to(tmp_path: Path) -> None:
    first, *_ = read_baker(write_baker(tmp_path), text="characters")
    assert isinstance(first, SourceUtterance)
    assert (first.text, first.normalized) == ("卡尔普#2陪外孙#1玩滑梯#4。", False)
    assert first.meta == {"pinyin": "ka2 er2 pu3 pei2 wai4 sun1 wan2 hua2 ti1"}
    with pytest.raises(ConfigurationError, match="text: expected one of pinyin, characters, found 'hanzi'"):
        next(read_baker(tmp_path, text="hanzi"))


def test_each_broken_pair_of_lines_of_baker_costs_one_row(tmp_path: Path) -> None:
    lines = "\tma1\n000001\t妈。\n000002\t你好。\n\tni3\n000003\t好。\n\thao3\n000004\n\thao3\n000005\t好。\n"
    items = list(read_baker(write_baker(tmp_path, lines)))
    assert [item.id for item in good(items)] == ["000003"]
    assert bad(items) == [
        ("", "000001-010000.txt:1: pinyin without a line 'id<tab>characters' before it"),
        ("000001", "000001-010000.txt:2: no line with its pinyin follows"),
        ("000002", "000001-010000.txt:3: 1 syllable of pinyin for 2 characters"),
        ("000004", "000001-010000.txt:7: expected 'id<tab>characters', found '000004'"),
        ("000005", "000001-010000.txt:9: no line with its pinyin follows"),
    ]


@pytest.mark.whole
def test_baker_becomes_a_store_of_mandarin_phones_with_its_prosody_marks(capsys, tmp_path: Path) -> None:
    root, store = write_baker(tmp_path / "BZNSYP"), tmp_path / "store"
    marks = ("--symbols", "mandarin-prosody")
    status, out, _ = run(capsys, "baker", root, store, "--max-failures", 1, *marks, *JOBS)
    assert (status, "frontend: mandarin, language zh" in out) == (0, True)
    dataset = UtteranceDataset(store)
    # By the corpus's own phones of this sentence: k a2 er2 p u3 #2 p ei2 …, with a y or w where a syllable has one.
    assert dataset[0].phoneme_text == "k a2 er2 p u3 #2 p ei2 w uai4 s uen1 #1 w uan2 h ua2 t i1 #4 ."
    assert dataset[2].phoneme_text.startswith("en1 , b i4 x ing2")
    assert dataset[1].meta == {"characters": "他遛弯儿都得躲远点！"}


def test_the_phone_labels_of_baker_are_alignments(tmp_path: Path) -> None:
    alignment = AlignmentFolder(write_baker(tmp_path) / "PhoneLabeling").read("000001", "baker", None)
    assert alignment.labels == ("sil", "k", "a2", "sil")
    assert alignment.bounds is not None
    assert alignment.bounds.tolist() == [0, 0.05, 0.15, 0.25, 0.3]


# AISHELL-3


def test_aishell3_has_pinyin_split_and_what_is_known_of_its_speakers(tmp_path: Path) -> None:
    items = good(read_aishell3(write_aishell3(tmp_path)))
    known = {"age_group": "B", "gender": "female", "accent": "north"}
    assert items[0] == SourceUtterance(
        "SSB00050001",
        "guang3 zhou1 nv3",
        "train/wav/SSB0005/SSB00050001.wav",
        "train/content.txt:1",
        "SSB0005",
        {"split": "train", **known, "characters": "广州女"},
        normalized=True,
    )
    assert items[1].text == "dianr3 hao3"
    assert (items[2].speaker, items[2].meta) == ("SSB0073", {"split": "test", "characters": "尊重"})
    (item, *_) = good(read_aishell3(tmp_path, subsets=("test",), text="characters"))
    assert (item.text, item.meta["pinyin"], item.normalized) == ("尊重", "zun1 zhong4", False)


def test_rows_of_aishell3_without_pairs_fail(tmp_path: Path) -> None:
    write_aishell3(tmp_path)
    write_text(
        tmp_path / "train/content.txt", "SSB00050001.wav\t广 guang3 州\nSSB00050002.wav\t广 州\nSSB00050003.wav\n"
    )
    assert bad(read_aishell3(tmp_path, subsets=("train",))) == [
        (
            "SSB00050001",
            "train/content.txt:1: expected '<id>.wav<tab>character pinyin character pinyin …', "
            "found 'SSB00050001.wav\\t广 guang3 州'",
        ),
        ("SSB00050002", "train/content.txt:2: expected pinyin with a tone after each character, found '州'"),
        (
            "SSB00050003",
            "train/content.txt:3: expected '<id>.wav<tab>character pinyin character pinyin …', found 'SSB00050003.wav'",
        ),
    ]
    with pytest.raises(ConfigurationError, match="has no 'dev'; it has train, test"):
        next(read_aishell3(tmp_path, subsets=("dev",)))
    write_text(tmp_path / "spk-info.txt", "SSB0005 B female\n")
    with pytest.raises(
        CorpusError, match=r"spk-info.txt:1: expected 'speaker age-group gender accent', found 3 fields"
    ):
        next(read_aishell3(tmp_path))


@pytest.mark.whole
def test_a_recording_that_aishell3_lacks_costs_one_row(capsys, tmp_path: Path) -> None:
    root, store = write_aishell3(tmp_path / "data_aishell3"), tmp_path / "store"
    assert run(capsys, "aishell3", root, store, "--max-failures", 1, *JOBS)[0] == 0
    dataset = UtteranceDataset(store)
    assert [utterance.phoneme_text for utterance in dataset] == [
        "g uang3 zh ou1 n v3",
        "d ian3 rr h ao3",
        "z uen1 zh ong4",
    ]
    assert list(dataset.filter(lambda m: m.split == "test").id) == ["SSB00730001"]


# JSUT


def test_jsut_has_its_subsets_and_texts_with_colons(tmp_path: Path) -> None:
    items = good(read_jsut(write_jsut(tmp_path)))
    assert [(item.id, item.text, item.audio, item.meta["subset"]) for item in items] == [
        ("BASIC5000_0001", "水を買わなくてはならないのです。", "basic5000/wav/BASIC5000_0001.wav", "basic5000"),
        ("BASIC5000_0002", "比は1:2です。", "basic5000/wav/BASIC5000_0002.wav", "basic5000"),
        (
            "UT-PARAPHRASE-sent254-phrase2",
            "はい。",
            "utparaphrase512/wav/UT-PARAPHRASE-sent254-phrase2.wav",
            "utparaphrase512",
        ),
    ]
    assert [item.id for item in good(read_jsut(tmp_path, subsets=("utparaphrase512",)))] == [items[2].id]
    with pytest.raises(CorpusError, match=f"use {tmp_path} with --subset basic5000"):
        next(read_jsut(tmp_path / "basic5000"))
    write_text(tmp_path / "basic5000/transcript_utf8.txt", "BASIC5000_0001\n")
    assert bad(read_jsut(tmp_path, subsets=("basic5000",))) == [
        ("BASIC5000_0001", "basic5000/transcript_utf8.txt:1: expected 'id:text', found 'BASIC5000_0001'")
    ]


@pytest.mark.whole
def test_jsut_becomes_a_store_of_japanese_phones(capsys, tmp_path: Path) -> None:
    root, store = write_jsut(tmp_path / "jsut_ver1.1"), tmp_path / "store"
    assert run(capsys, "jsut", root, store, "--subset", "utparaphrase512", *JOBS)[0] == 0
    assert UtteranceDataset(store)[0].phoneme_text == "h a i ."


# KSS


@pytest.mark.parametrize("folder", ["", "kss"])
def test_kss_speaks_the_text_with_its_numbers_written_out(tmp_path: Path, folder: str) -> None:
    first, second = good(read_kss(write_kss(tmp_path, folder)))
    prefix = f"{folder}/" if folder else ""
    assert (first.id, first.audio, first.meta) == ("1_0000", f"{prefix}1/1_0000.wav", {"translation": "He came."})
    assert (second.text, second.normalized, second.where) == ("유월이다.", True, "transcript.v.1.4.txt:2")


def test_the_first_version_of_kss_has_four_fields_and_others_fail(tmp_path: Path) -> None:
    write_text(tmp_path / "transcript.txt", "1/1_0000.wav|6월.|6월.|3.5\n1/1_0001.wav|네.\n")
    items = list(read_kss(tmp_path))
    assert [(item.text, item.normalized) for item in good(items)] == [("6월.", False)]
    assert bad(items)[0][1].startswith("transcript.txt:2: expected 'recording|text|text as spoken|")
    with pytest.raises(CorpusError, match=r"expected the KSS corpus, with transcript.v.1.4.txt"):
        next(read_kss(tmp_path / "none"))


# CSS10


def test_css10_tells_its_languages_by_their_books(tmp_path: Path) -> None:
    german, chinese = good(read_css10(write_css10(tmp_path)))
    assert german == SourceUtterance(
        "meisterfloh_0000",
        "Es war am dritten Mai.",
        "de/meisterfloh/meisterfloh_0000.wav",
        "de/transcript.txt:1",
        "css10-de",
        {"language": "de", "book": "meisterfloh"},
        normalized=True,
    )
    # The third field of Chinese is romanized.
    assert (chinese.text, chinese.normalized) == ("几乎是每天，", False)
    (alone,) = good(read_css10(tmp_path / "de"))
    assert (alone.audio, alone.meta["language"]) == ("meisterfloh/meisterfloh_0000.wav", "de")
    assert CORPORA["css10"].languages_of(tmp_path, {}) == ("de", "zh")
    assert CORPORA["css10"].languages_of(tmp_path, {"subsets": ["zh"]}) == ("zh",)
    with pytest.raises(ConfigurationError, match="has no 'fr'; it has de, zh"):
        next(read_css10(tmp_path, subsets=("fr",)))
    with pytest.raises(CorpusError, match="expected a language of CSS10"):
        next(read_css10(tmp_path / "de/meisterfloh"))


@pytest.mark.whole
def test_languages_of_css10_are_spoken_by_a_frontend_each_with_one_table(capsys, tmp_path: Path) -> None:
    root, store = write_css10(tmp_path / "CSS10"), tmp_path / "store"
    status, out, _ = run(capsys, "css10", root, store, *JOBS)
    assert (status, "frontend: espeak,zh=mandarin, language de" in out) == (0, True)
    texts = [utterance.phoneme_text for utterance in UtteranceDataset(store)]
    assert texts[1] == "j i1 h u1 sh iii4 m ei3 t ian1 ,"
    status, out, _ = run(capsys, "css10", root / "de", store, "--overwrite", *JOBS)
    assert (status, "frontend: espeak, language de" in out) == (0, True)
    assert UtteranceDataset(store)[0].phoneme_text.replace(" ", "") == texts[0].replace(" ", "").replace("▁", "")
