"""Words of a user's dictionary get its phones in every frontend, and nothing else changes."""

from __future__ import annotations

import random
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from commands import run
from corpora import SAMPLE_RATE, record, speech_like, write_text

from tts_prep.errors import ConfigurationError
from tts_prep.inference import frontend_of
from tts_prep.lexicon.dictionary import read_lexicon
from tts_prep.lexicon.words import Words
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.make.resuming import row_keys

NGUYEN = "N UW1 Y EH0 N"
TEXTS = ("Dr. Nguyen paid $5.", "'NGUYEN!' she said, \"nguyen-led?\"", "Nobody paid.", "They want to read it.")


def lexicon(folder: Path, text: str, name: str = "words.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.fixture(scope="module")
def espeak():
    return get_frontend("espeak")


@pytest.fixture(scope="module")
def arpabet():
    pytest.importorskip("tts_prep.english", reason="the room of this frontend")
    return get_frontend("arpabet")


@pytest.mark.parametrize(
    "text",
    [
        "NGUYEN  N UW1 Y EH0 N\nNGUYEN(1)  W IH1 N\n;;; a comment\n",
        "nguyen\t0.99\t0.5\t1.0\t1.0\tN UW1 Y EH0 N\nnguyen\t0.1\t0.5\t1.0\t1.0\tW IH1 N\n",
        "nguyen 0.99\tN UW1 Y EH0 N\n".replace(" 0.99", ""),
        "\ufeffNguyen\tN UW1 Y EH0 N\r\n\r\n",
        "nguyen N UW1 Y EH0 N # Vietnamese",
    ],
)
def test_forms_of_files(tmp_path: Path, arpabet: Any, text: str) -> None:
    assert read_lexicon(lexicon(tmp_path, text), arpabet) == (("nguyen", NGUYEN, None),)


def test_phones_of_ipa_may_be_separated(tmp_path: Path, espeak: Any) -> None:
    found = read_lexicon(lexicon(tmp_path, "a  n ˈuː\nb\tn\tde\n"), espeak)
    assert found == (("a", "nˈuː", None), ("b", "n", "de"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a  AH0\nb\n", "words.txt:2: expected a word and its phones"),
        ("a  AH0\n\nb  AH0 Q9\n", "words.txt:3: 'Q9' in 'AH0 Q9' is not in the table of the frontend"),
        ("new york\tN Y\n", "words.txt:1: expected a word of letters"),
        ("a\tAH0\ten us\n", "words.txt:1: expected the code of a language"),
        (f"a\tAH0\ten\t{'x' * 201}\n", "words.txt:1: expected the name of a speaker, found 201"),
        ("a\tAH0\ten\tspeaker\tmore\n", "words.txt:1: expected a word and its phones"),
        (f"a\t{'AH0 ' * 100}\n", "words.txt:1: expected at most 200 characters"),
        (f"{'a' * 300}\tAH0\n", "words.txt:1: expected a word of letters"),
        (";;; nothing\n", "found none"),
        (
            "".join(f"{chr(97 + i // 676)}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}\tAH0\n" for i in range(5001)),
            "5,000",
        ),
    ],
)
def test_a_line_that_is_not_one_is_named(tmp_path: Path, arpabet: Any, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_lexicon(lexicon(tmp_path, text), arpabet)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, arpabet: Any, content: bytes | None) -> None:
    path = tmp_path / "words.txt"
    if content:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"lexicon: .*words\.txt"):
        read_lexicon(path, arpabet)


@pytest.mark.whole
def test_the_prefix_of_a_table_is_added(tmp_path: Path) -> None:
    frontend = get_frontend("arpabet", symbols="fastspeech2")
    found = read_lexicon(lexicon(tmp_path, f"nguyen  {NGUYEN}\n"), frontend)
    phonemes, remarks = Words(frontend, found).phoneticize("The old Nguyen, here.", "en-us")
    assert phonemes == "@DH @AH0 @OW1 @L @D @N @UW1 @Y @EH0 @N @sp @HH @IY1 @R"
    assert not remarks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nguyen, of the house, went to Nguyen-land for it.", "XX, ʌvðə hˈaʊs, wɛnt tə XXlˈænd fɔːɹ ɪt."),
        ("'NGUYEN!' she said to nguyen.", "XX! ʃiː sˈɛd tə XX."),
        # Another word has the same phones.
        ("They read the Reed book.", "ðeɪ ɹˈiːd ðə YY bˈʊk."),
    ],
)
def test_words_around_keep_their_phones(espeak: Any, text: str, expected: str) -> None:
    words = Words(espeak, [("nguyen", "XX", None), ("reed", "YY", None)])
    phonemes, remarks = words.phoneticize(text, "en-us")
    assert (phonemes, remarks) == (expected, ())


def test_a_word_whose_phones_cannot_be_told_is_counted(espeak: Any) -> None:
    found = Words(espeak, [("the", "XX", None)]).phoneticize("To the old man.", "en-us")
    assert found == (espeak.phoneticize("To the old man."), ((Words.NOT_PLACED, "the"),))


def test_two_words_that_are_joined_keep_the_reading_of_the_frontend(espeak: Any) -> None:
    found = Words(espeak, [("there", "XX", None), ("are", "YY", None)]).phoneticize("There are others.", "en-us")
    assert found == (
        espeak.phoneticize("There are others."),
        ((Words.NOT_PLACED, "there"), (Words.NOT_PLACED, "are")),
    )


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "language", "library", "word", "text", "before", "after"),
    [
        ("japanese", "ja", "pyopenjtalk", "東京", "私は東京に行く。", "w a t a sh i w a", "n i i k u ."),
        ("mandarin", "zh", "pypinyin", "北京", "我爱北京天安门.", "w uo3 ai4", "t ian1 an1 m en2 ."),
    ],
)
def test_words_without_spaces(
    name: str, language: str, library: str, word: str, text: str, before: str, after: str
) -> None:
    pytest.importorskip(library)
    phonemes, remarks = Words(get_frontend(name), [(word, "X", None)]).phoneticize(text, language)
    assert (phonemes, remarks) == (f"{before} X {after}", ())


@pytest.mark.whole
@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        # As the Standard Pronunciation of the National Institute of Korean Language: 13 (linking), 18 (nasals), 23.
        ("한국은", "헨구근"),
        ("한국의", "헨구긔"),
        ("한국만", "헨궁만"),
        ("한국과 한국도 한국", "헨국꽈 헨국또 헨국"),
        ("한국이 한국만 한국", "헨구기 헨궁만 헨국"),
    ],
)
def test_the_last_sound_of_a_korean_word_goes_with_its_particle(text: str, spoken: str) -> None:
    pytest.importorskip("mecab_ko")
    phonemes, remarks = Words(get_frontend("korean"), [("한국", "ᄒ ᅦ ᆫ ᄀ ᅮ ᆨ", None)]).phoneticize(text, "ko")
    syllables = unicodedata.normalize("NFC", phonemes.replace(" ", "").replace("▁", " "))
    assert (syllables, remarks) == (spoken, ())


@pytest.mark.whole
def test_a_speaker_has_pronunciations_of_their_own_in_a_store_and_at_inference(tmp_path: Path, capsys: Any) -> None:
    for name in ("anna", "bob"):
        for number, text in enumerate(("Nguyen paid.", "Nobody paid.")):
            write_text(tmp_path / f"corpus/{name}{number}.txt", text)
            record(tmp_path / f"corpus/{name}{number}.wav")
    rows = [f"{n}{i}.wav|{t}|{n}\n" for n in ("anna", "bob") for i, t in enumerate(("Nguyen paid.", "Nobody paid."))]
    write_text(tmp_path / "corpus/list.txt", "".join(rows))
    words = lexicon(tmp_path, "nguyen\tnuːjɛn\nnguyen\twɪn\t\tanna\nnguyen\tde\tde\tanna\n")
    made = ("filelist", tmp_path / "corpus/list.txt", tmp_path / "store", "-j", 1, "--lexicon", words)
    assert run(capsys, *made)[0] == 0
    said = {u.id: u.phoneme_text for u in UtteranceDataset(tmp_path / "store")}
    assert {name: text.split()[0] for name, text in said.items() if name.endswith("0")} == {
        "anna0": "wɪn",
        "bob0": "nuːjɛn",
    }
    frontend = frontend_of(tmp_path / "store")
    for utterance in UtteranceDataset(tmp_path / "store"):
        assert frontend(utterance.text, speaker=utterance.speaker).tolist() == utterance.phonemes.tolist()
    status, out, _ = run(capsys, "phonemize", tmp_path / "store", "--explain", "--speaker", "anna", "Nguyen.")
    assert (status, "phonemes    wɪn." in out) == (0, True)
    # One more speaker changes that speaker's row alone.
    lexicon(tmp_path, words.read_text() + "nguyen\tbʊ\t\tbob\n")
    keys = row_keys(tmp_path / "store/shards/00000.h5")
    assert run(capsys, *made, "--update")[0] == 0
    changed = [a != b for a, b in zip(keys, row_keys(tmp_path / "store/shards/00000.h5"), strict=True)]
    store = UtteranceDataset(tmp_path / "store")
    assert {row.id for row, other in zip(store, changed, strict=True) if other} == {"bob0"}
    assert {row.phoneme_text.split()[0] for row in store if row.id == "bob0"} == {"bʊ"}


def test_a_language_holds_for_its_texts_alone(espeak: Any) -> None:
    words = Words(espeak, [("nguyen", "XX", "de"), ("nguyen", "YY", "en-gb")])
    assert [words.phoneticize("Nguyen", code)[0] for code in ("de-at", "en-gb")] == ["XX", "YY"]
    assert words.phoneticize("Nguyen", "en-us") == (espeak.phoneticize("Nguyen"), ())


def check_random_texts(frontend: Any, n: int) -> None:
    """Check that of random texts only those with the word change, and only there."""
    random.seed(4)
    others = [
        "the",
        "old",
        "man",
        "gave",
        "a",
        "house",
        "to",
        "of",
        "for",
        "and",
        "an",
        "apple",
        "over",
        "there",
        "we",
        "can",
        "live",
        "read",
        "it",
        "was",
        "close",
    ]
    words, placed = Words(frontend, [("zorbitan", "XX", None)]), 0
    for _ in range(n):
        tokens = [word + random.choice(["", "", "", ",", "!"]) for word in random.choices(others, k=8)]
        assert words.phoneticize(" ".join(tokens), "en-us") == (frontend.phoneticize(" ".join(tokens)), ())
        tokens[random.randrange(8)] = random.choice(["zorbitan", "Zorbitan,", "ZORBITAN"])
        plain = frontend.phoneticize(" ".join(tokens))
        phonemes, remarks = words.phoneticize(" ".join(tokens), "en-us")
        assert bool(remarks) == (phonemes == plain)
        if not remarks:
            placed += 1
            before, after = phonemes.split("XX")
            assert plain.startswith(before)
            assert plain.endswith(after)
    assert placed == n


def test_only_the_word_changes(espeak: Any) -> None:
    check_random_texts(espeak, 100)


@pytest.mark.soak
def test_only_the_word_changes_in_thousands(espeak: Any, arpabet: Any) -> None:
    check_random_texts(espeak, 5000)
    check_random_texts(arpabet, 5000)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a store without a dictionary, and one with it."""
    folder = tmp_path_factory.mktemp("lexicon")
    (folder / "wavs").mkdir()
    for i in range(len(TEXTS)):
        soundfile.write(folder / f"wavs/u{i}.wav", speech_like(0.3, i), SAMPLE_RATE)
    lines = (f"u{i}|{text}|{text}\n" for i, text in enumerate(TEXTS))
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    lexicon(folder, f"nguyen  {NGUYEN}\n")
    return folder


@pytest.mark.whole
def test_an_update_makes_only_rows_with_the_word(
    stores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file = tmp_path / "store", tmp_path / "words.txt"
    shutil.copy(stores / "words.txt", file)
    made = ("ljspeech", stores, store, "--frontend", "arpabet")
    assert run(capsys, *made)[0] == 0
    plain, keys = UtteranceDataset(store), row_keys(store / "shards/00000.h5")
    fingerprint, before = plain.fingerprint, [row.phoneme_text for row in (plain[i] for i in range(4))]
    assert run(capsys, *made, "--lexicon", file)[0] == 1
    assert run(capsys, *made, "--lexicon", file, "--update")[0] == 0
    with_words = UtteranceDataset(store)
    after = [with_words[i].phoneme_text for i in range(4)]
    assert [a != b for a, b in zip(before, after, strict=True)] == [True, True, False, False]
    same = [a == b for a, b in zip(keys, row_keys(store / "shards/00000.h5"), strict=True)]
    assert same == [False, False, True, True]
    assert NGUYEN in after[0]
    assert after[1].count(NGUYEN) == 2
    assert with_words.fingerprint != fingerprint
    fresh = tmp_path / "fresh"
    assert run(capsys, "ljspeech", stores, fresh, "--frontend", "arpabet", "--lexicon", file)[0] == 0
    assert UtteranceDataset(fresh).fingerprint == with_words.fingerprint
    assert (fresh / "manifest.json").read_bytes() == (store / "manifest.json").read_bytes()
    # From the manifest alone, without the file.
    file.unlink()
    frontend = frontend_of(shutil.copy(store / "manifest.json", tmp_path / "checkpoint.json"))
    for i in range(4):
        np.testing.assert_array_equal(frontend(TEXTS[i]), with_words[i].phonemes)


def test_words_need_phones(stores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("ljspeech", stores, tmp_path / "store", "--frontend", "none", "--lexicon", stores / "words.txt")
    code, _, error = run(capsys, *command)
    assert (code, "lexicon: the frontend none makes no phones" in error) == (2, True)
