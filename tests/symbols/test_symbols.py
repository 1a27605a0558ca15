"""Symbol tables: named ones compared with their sources, files, and the symbols of a corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import run

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.format.files.checksums import canonical_json
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset
from tts_prep.preprocess import Vocab, get_frontend
from tts_prep.preprocess.configuration.records import Configuration, TextConfig, make_frontend
from tts_prep.preprocess.configuration.settings import configure
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.text.symbols import TABLES, choose_symbols, get_table

# Ids as their sources' own code gives them; conformance/symbols.py compares whole texts.
PUBLIC = {
    "styletts2": (178, {"$": 0, " ": 16, "A": 17, "ˈ": 156, "'": 176, "ᵻ": 177}),
    "vits": (178, {"_": 0, " ": 16, "a": 43, "ə": 83, "ː": 158}),
    "piper": (166, {"_": 0, "^": 1, "$": 2, " ": 3, "a": 14, "ɡ": 66, "̃": 141, "aɪ": 161}),
    "kokoro": (178, {";": 1, " ": 16, "A": 24, "a": 43, "ɡ": 92, "ˈ": 156, "ᵻ": 177}),
    "coqui": (131, {"<PAD>": 0, "<BLNK>": 3, "a": 4, "ɫ": 65, "!": 120, " ": 130}),
    "coqui-idiap": (132, {"<PAD>": 0, "<BLNK>": 3, "a": 4, "ɫ": 65, "̃": 115, "!": 121, " ": 131}),
    "tacotron2": (148, {"_": 0, "-": 1, " ": 11, "A": 12, "a": 38, "@AA": 64, "@ZH": 147}),
    "gpt-sovits": (322, {"!": 0, "AA": 5, "…": 321}),
    "gpt-sovits-v2": (732, {"!": 0, "AA": 5, "Yz": 731}),
    "nemo-arpabet": (114, {" ": 0, "B": 1, "AA0": 25, "a": 70, "'": 96, "}": 111, "<pad>": 112, "<oov>": 113}),
    "nemo-ipa": (96, {"!": 0, "'": 2, "A": 22, "a": 50, "θ": 92, " ": 93, "<pad>": 94, "<oov>": 95}),
    "f5": (2545, {" ": 0, "!": 1, "a1": 63, "zuo4": 1412, "𠮶": 2544}),
    "fastspeech2": (360, {"_": 0, "-": 1, "A": 12, "@AA": 64, "@ZH": 147, "@b": 148, "@rr": 356, "@sil": 359}),
    "parakeet": (81, {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "AA0": 4}),
    "espnet-g2p": (78, {"<blank>": 0, "<unk>": 1, "AH0": 2, "N": 3, "..": 76, "<sos/eos>": 77}),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_named_table_has_the_ids_of_its_source(name: str) -> None:
    count, ids = PUBLIC[name]
    vocab = Vocab.from_table(get_table(name))
    assert len(vocab) == count
    assert {symbol: vocab.lookup(symbol) for symbol in ids} == ids


# The form of Piper's configuration of a voice; ids and expected sequences are worked out by hand from its
# phonemes_to_ids: ^ _ p _ p _ … $.
PIPER_MAP = {"_": [0], "^": [1], "$": [2], " ": [3], "a": [14], "c": [16], "o": [27], "ʊ": [100], "ɪ": [74], "ç": [40]}
PIPER_MAP |= {"\u0327": [140], "oʊ": [165], "aɪ": [161]}
PINYIN_MAP = {"_": [0], "^": [1], "$": [2], "Ø": [3], "h": [13], "ai": [30], "ang": [36], "2": [65], "3": [66]}
PINYIN_MAP |= {"。": [69], ".": [69], "，": [72], ",": [72]}


def ids_of_voice(tmp_path: Path, voice: object, phonemes: str, **text: object) -> list[int]:
    path = tmp_path / "voice.onnx.json"
    path.write_text(json.dumps(voice), encoding="utf-8")
    settings = {"symbols": str(path), "frontend": "phonemes", **text}
    config = configure("ljspeech", settings={"text": settings})
    return make_frontend(config.text).numericalize(phonemes).tolist()


def test_a_voice_of_piper_has_its_ends_and_blanks_and_decomposed_characters(tmp_path: Path) -> None:
    voice = {"phoneme_type": "espeak", "phoneme_id_map": PIPER_MAP}
    assert ids_of_voice(tmp_path, voice, "oʊ ça") == [1, 0, 27, 0, 100, 0, 3, 0, 16, 0, 140, 0, 14, 0, 2]
    assert ids_of_voice(tmp_path, voice, "a", blanks="none") == [1, 14, 2]
    assert ids_of_voice(tmp_path, voice, "a", ends=False) == [14]
    assert ids_of_voice(tmp_path, {"phoneme_id_map": PIPER_MAP}, "a") == [1, 0, 14, 0, 2]


def test_a_voice_of_piper_joins_the_diphthongs_that_it_names(tmp_path: Path) -> None:
    voice = {"phoneme_type": "espeak", "phoneme_id_map": PIPER_MAP, "vowel_clusters": [["o", "ʊ"]]}
    assert ids_of_voice(tmp_path, voice, "oʊaɪ") == [1, 0, 165, 0, 14, 0, 74, 0, 2]


def test_a_voice_of_piper_with_characters_of_other_kinds_is_not_decomposed(tmp_path: Path) -> None:
    voice = {"phoneme_type": "japanese", "phoneme_id_map": PIPER_MAP}
    assert ids_of_voice(tmp_path, voice, "ç") == [1, 0, 40, 0, 2]


def test_a_voice_of_piper_with_pinyin_has_blanks_after_groups_and_ids_of_several_symbols(tmp_path: Path) -> None:
    voice = {"phoneme_type": "pinyin", "phoneme_id_map": PINYIN_MAP}
    assert ids_of_voice(tmp_path, voice, "h ang 2 Ø ai 3 。 .") == [1, 13, 36, 65, 0, 3, 30, 66, 0, 69, 0, 69, 0, 2]
    settings = {"symbols": str(tmp_path / "voice.onnx.json"), "frontend": "phonemes"}
    frontend = make_frontend(configure("ljspeech", settings={"text": settings}).text)
    ids = frontend.numericalize("h ang 2 Ø ai 3 ,")
    assert frontend.decode(ids) == "h ang 2 Ø ai 3 ，"
    assert Vocab.from_dict(frontend.vocab.as_dict()).decode(ids) == ["h", "ang", "2", "Ø", "ai", "3", "，"]
    with pytest.raises(ConfigurationError, match="'groups' is for the voices of Piper with pinyin"):
        ids_of_voice(tmp_path, {"phoneme_id_map": PIPER_MAP}, "a", blanks="groups")


def test_a_voice_of_kokoro_has_zeros_at_the_ends(tmp_path: Path) -> None:
    voice = {"vocab": {";": 1, " ": 3, "a": 4}, "n_token": 178}
    assert ids_of_voice(tmp_path, voice, "a ;a") == [0, 4, 3, 1, 4, 0]
    assert choose_symbols(str(tmp_path / "voice.onnx.json")).symbols == ("<unused-0>", ";", "<unused-2>", " ", "a")


def test_a_store_has_the_table_of_its_voice(tmp_path: Path) -> None:
    path = tmp_path / "voice.onnx.json"
    for voice in ({"phoneme_type": "pinyin", "phoneme_id_map": PINYIN_MAP}, {"vocab": {"a": 2}}):
        path.write_text(json.dumps(voice), encoding="utf-8")
        config = configure("ljspeech", settings={"text": {"symbols": str(path)}})
        again = Configuration.from_dict(tmp_path, json.loads(canonical_json(config.as_dict())))
        found = {"frontend": config.text.frontend_name, "heteronyms": config.text.reads_heteronyms}
        assert again.text == TextConfig(**{**vars(config.text), **found})


def test_a_table_can_have_its_ids_beside_the_symbols(tmp_path: Path) -> None:
    tabs = tmp_path / "tokens.txt"
    tabs.write_text("b\t1\n \t0\na\t2\n", encoding="utf-8")
    assert choose_symbols(str(tabs)) == (" ", "b", "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "expected the configuration of a voice, with 'phoneme_id_map'"),
        ('{"vocab": []}', "expected the configuration of a voice"),
        ('{"vocab": {"a": 1e9}}', "'a': expected one id below 100,000, found 1000000000.0"),
        ('{"vocab": {"a": 999999999999}}', "expected one id"),
        ('{"phoneme_id_map": {"a": [1]}}', "expected '_', '\\^' and '\\$', '_' is missing"),
        ('{"phoneme_type": "x", "phoneme_id_map": {"a": 1}}', "phoneme_type: expected one of espeak, text, pinyin"),
        ('{"phoneme_type": {}, "phoneme_id_map": {"a": 1}}', "phoneme_type: expected one of"),
        (
            '{"vowel_clusters": 3, "phoneme_id_map": {"_": 0, "^": 1, "$": 2}}',
            "expected a list of lists of symbols",
        ),
        ('{"vowel_clusters": [["a"]], "phoneme_id_map": {"_": 0, "^": 1, "$": 2}}', "is no symbol of phoneme_id_map"),
        ('{"phoneme_id_map": {"a": [1, 2]}}', "found \\[1, 2\\]"),
        ('{"vocab": {"": 1}}', "expected one id"),
    ],
)
def test_a_broken_configuration_of_a_voice_is_one_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        choose_symbols(str(path))


# The forms of the files of VITS and Matcha-TTS, StyleTTS2 and MeloTTS, shortened.
MATCHA = """\"\"\" from https://github.com/keithito/tacotron \"\"\"
_pad = "_"
_punctuation = ';:,. '
_letters = 'ABab'
_letters_ipa = (
    "ɑɐ'̩'"  # the apostrophe twice
)
symbols = [_pad] + list(_punctuation) + list(_letters) + list(_letters_ipa)
SPACE_ID = symbols.index(" ")
"""
STYLETTS2 = """import os
_pad = "$"
symbols = [_pad] + list("ab")
dicts = {}
for i in range(len((symbols))):
    dicts[symbols[i]] = i
class TextCleaner:
    def __init__(self, dummy=None):
        self.word_index_dictionary = dicts
        print(len(dicts))
"""
MELO = """punctuation = ["!", "…"]
pu_symbols = punctuation + ["SP", "UNK"]
zh_symbols = ["E", "AA"]
ja_symbols = ["a:", "E"]
pad = "_"
normal_symbols = sorted(set(zh_symbols + ja_symbols))
symbols = [pad] + normal_symbols + pu_symbols
sil_phonemes_ids = [symbols.index(i) for i in pu_symbols]
num_zh_tones = 6
language_id_map = {"ZH": 0}
"""


@pytest.mark.parametrize("source", [MATCHA, STYLETTS2, MELO, "symbols = ['a', *('b', 'c')]\nsymbols += ['d' 'e']\n"])
def test_the_symbols_of_a_python_file_are_those_that_python_makes_of_it(tmp_path: Path, source: str) -> None:
    path = tmp_path / "symbols.py"
    path.write_text(source, encoding="utf-8")
    scope: dict = {}
    exec(compile(source, "symbols.py", "exec"), scope)
    assert choose_symbols(str(path)) == tuple(scope["symbols"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("letters = ['a']\n", "symbols.py: no list 'symbols'; expected a list of texts"),
        ("symbols = ['a']\nsymbols.append('b')\n", "symbols.py:2: 'symbols' is made by code, which is not run"),
        ("symbols = ['a']\nif True:\n    symbols = ['b']\n", "symbols.py:3: 'symbols' is made by code"),
        ("symbols = ['a']\nshuffle(symbols)\n", "symbols.py:2: 'symbols' is made by code"),
        ("symbols = ['a']\nx = symbols = ['b']\n", "symbols.py:2: 'symbols' is made by code"),
        ("symbols = ['a']\nsymbols[0] = 'b'\n", "symbols.py:2: 'symbols' is made by code"),
        ("from other import symbols\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = ['@' + s for s in 'ab']\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = open('/etc/passwd').read()\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = list({'a', 'b'})\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = list(set('ab'))\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = set('ab')\n", "no list 'symbols'"),
        ("symbols = [f'{1}']\n", "symbols.py:1: 'symbols' is made by code"),
        ("symbols = ['']\n", "expected symbols, found ''"),
        ("symbols = ['\\ud800']\n", "expected symbols, found"),
        ("symbols = ['a'\n", "not Python"),
        ("symbols = ['\\x']\n", "not Python"),
        ("symbols = " + "(" * 5000 + "'a'" + ")" * 5000, "symbols.py"),
        ("symbols = ['a']" + " + ['a']" * 20_000, "symbols.py:1: 'symbols' is made by code"),
        ("a = 'ab'\n" + "a = a + a\n" * 60 + "symbols = list(a)", "symbols.py:62: 'symbols' is made by code"),
        ("x = 1\n" * 50_000, "at most 262,144 bytes"),
    ],
)
def test_a_python_file_is_never_run_and_what_its_code_makes_is_refused(
    tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "symbols.py"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        choose_symbols(str(path))


def test_nemos_line_of_phones_has_a_space_at_both_ends_and_f5_takes_pinyin_and_letters() -> None:
    # NeMo: fastpitch_align_v1.05.yaml has pad_with_space. F5: the tokens of convert_char_to_pinyin of "Hi 你好".
    nemo = get_frontend("phonemes", symbols="nemo-arpabet")
    assert nemo.numericalize(nemo.phoneticize("HH AH0 L OW1 ▁ y o")).tolist() == [0, 7, 31, 10, 59, 0, 94, 84, 0]
    f5 = get_frontend("phonemes", symbols="f5")
    ids = f5.numericalize(f5.phoneticize("H i ▁ ▁ ni3 ▁ hao3"))
    assert [f5.vocab.symbols[number] for number in ids] == ["H", "i", " ", " ", "ni3", " ", "hao3"]


def test_every_table_says_where_it_is_from_and_has_its_specials() -> None:
    for table in TABLES.values():
        vocab = Vocab.from_table(table)
        assert table.source
        assert table.licence
        assert Vocab.from_dict(vocab.as_dict()).as_dict() == vocab.as_dict()


def test_the_table_of_espeak_begins_with_that_of_styletts2_and_has_each_further_symbol_once() -> None:
    espeak, first = get_table("espeak").symbols, get_table("styletts2").symbols
    assert espeak[: len(first)] == first
    others = espeak[len(first) :]
    assert others == tuple(sorted(set(others) - set(first)))
    assert {"̃", "͡", "̪", "1", "5"} <= set(others)


def test_english_has_styletts2s_table_and_other_languages_that_of_espeak() -> None:
    assert get_frontend("espeak").vocab.symbols == get_table("styletts2").symbols
    assert get_frontend("espeak", language="fr").vocab.symbols == get_table("espeak").symbols
    phonemes = get_frontend("espeak", language="fr").phoneticize("Bonjour, un bon vin blanc.")
    assert "̃" in phonemes
    assert get_frontend("espeak", language="fr").numericalize(phonemes).size == len(phonemes)


def test_an_unknown_symbol_says_which_table_has_it() -> None:
    with pytest.raises(TextError, match=r"'̃' \(U\+0303 COMBINING TILDE\) × 1; .*--symbols espeak"):
        get_frontend("espeak").numericalize("bɔ̃")
    with pytest.raises(TextError, match=r"SNOWMAN\) × 1$"):
        get_frontend("espeak").numericalize("☃")


def test_the_longest_symbol_that_fits_is_taken_and_decoding_gives_the_phonemes_back() -> None:
    frontend = get_frontend("espeak", symbols=["_", "t", "ʃ", "tʃ", "a", "aɪ", "ɪ", " "])
    assert frontend.numericalize("tʃaɪ taɪʃ").tolist() == [3, 5, 7, 1, 5, 2]
    assert frontend.decode([3, 5, 7, 1, 5, 2]) == "tʃaɪ taɪʃ"


def test_pipers_table_takes_decomposed_characters_one_by_one() -> None:
    vocab = Vocab.from_table(get_table("piper"))
    assert vocab.split("çaɪ") == ["c", "̧", "a", "ɪ"]


@pytest.mark.parametrize(
    ("table", "text", "symbols"),
    [
        ("mfa-arpa", "HH AH0 sp", ["HH", "AH0", "sp"]),
        ("mfa-arpa", "{HH AH0 sp}", ["HH", "AH0", "sp"]),
        ("fastspeech2", "Go {HH AW1} b", ["G", "o", " ", "@HH", "@AW1", " ", "b"]),
        ("fastspeech2", "{zh ong1 sp}", ["@zh", "@ong1", "@sp"]),
        ("styletts2", "{h ə}l", ["h", "ə", "l"]),
    ],
)
def test_phonemes_are_tokens_or_characters_as_the_table_has_them(table: str, text: str, symbols: list[str]) -> None:
    frontend = get_frontend("phonemes", symbols=table)
    phonemes = frontend.phoneticize(text)
    assert frontend.split(phonemes) == symbols
    assert frontend.decode(frontend.numericalize(phonemes)) == phonemes


def test_a_brace_without_its_partner_is_an_error() -> None:
    with pytest.raises(TextError, match="unbalanced braces in '{HH AH0'"):
        get_frontend("phonemes", symbols="fastspeech2").phoneticize("{HH AH0")


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, [1, 14, 15, 2]),
        ({"ends": False}, [14, 15]),
        ({"blanks": "between"}, [1, 0, 14, 0, 15, 0, 2]),
        ({"blanks": "around", "ends": False}, [0, 14, 0, 15, 0]),
    ],
)
def test_ends_and_blanks_go_into_the_ids_and_not_into_what_is_decoded(options: dict, ids: list[int]) -> None:
    frontend = get_frontend("phonemes", symbols="piper", **options)
    assert frontend.numericalize("ab").tolist() == ids
    assert frontend.decode(ids) == "ab"


def test_ends_need_a_table_that_has_them() -> None:
    with pytest.raises(ConfigurationError, match="ends: the table has no start or end symbol"):
        get_frontend("espeak", ends=True)


def test_a_table_is_a_name_or_a_file_or_auto(tmp_path: Path) -> None:
    file = tmp_path / "table.txt"
    file.write_text("_\na\ntʃ\n \n", encoding="utf-8")
    assert choose_symbols(str(file)) == ("_", "a", "tʃ", " ")
    assert (choose_symbols("vits"), choose_symbols("auto")) == ("vits", "auto")
    with pytest.raises(ConfigurationError, match="not a table, a file or 'auto'; did you mean 'styletts2'"):
        choose_symbols("styletts")
    file.write_text("_\na\nb\na\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"table.txt:4: the symbol 'a' is already in line 2"):
        choose_symbols(str(file))
    # A public table that has one twice may be extended, but not with a symbol that it has.
    file.write_text("\n".join((*get_table("vits").symbols, "̃")), encoding="utf-8")
    assert len(choose_symbols(str(file))) == 179
    file.write_text("\n".join((*get_table("vits").symbols, "a")), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="179: the symbol 'a' is already in line 44"):
        choose_symbols(str(file))


def test_a_table_may_have_its_ids_behind_the_symbols_as_paddlespeechs(tmp_path: Path) -> None:
    file = tmp_path / "phone_id_map.txt"
    file.write_text("<pad> 0\n<unk> 1\na2 3\na1 2\n<eos> 4\n", encoding="utf-8")
    assert choose_symbols(str(file)) == ("<pad>", "<unk>", "a1", "a2", "<eos>")
    file.write_text("<pad> 0\na1 2\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="expected each id from 0 to 1 once, 1 is missing"):
        choose_symbols(str(file))


@pytest.mark.whole
def test_symbols_are_listed_and_what_is_printed_of_one_is_a_table(capsys, tmp_path: Path) -> None:
    status, out, _ = run(capsys, "symbols")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(TABLES)
    for name in TABLES:
        (tmp_path / "table.txt").write_text(run(capsys, "symbols", name)[1], encoding="utf-8")
        assert choose_symbols(str(tmp_path / "table.txt")) == get_table(name).symbols
    assert run(capsys, "symbols", "klingon")[0] == 2


def test_auto_collects_the_symbols_of_the_corpus_whatever_the_jobs_and_parts(
    capsys, corpus: Path, tmp_path: Path
) -> None:
    options = ("--frontend", "characters", "--symbols", "auto", "--shard-utterances", 2)
    assert run(capsys, "ljspeech", corpus, tmp_path / "one", *options, "--jobs", 1)[0] == 0
    dataset = UtteranceDataset(tmp_path / "one")
    used = {dataset.symbols[number] for utterance in dataset for number in utterance.phonemes}
    assert dataset.symbols == ("<pad>", "<unk>", "<s>", "</s>", *sorted(used))
    for part in ("1/2", "2/2"):
        assert run(capsys, "ljspeech", corpus, tmp_path / "two", *options, "--jobs", 1, "--part", part)[0] == 0
    assert run(capsys, "finish", tmp_path / "two")[0] == 0
    assert (tmp_path / "two" / "manifest.json").read_bytes() == (tmp_path / "one" / "manifest.json").read_bytes()
    # The same command finds the store whole; another table is another store.
    assert "nothing was made" in run(capsys, "ljspeech", corpus, tmp_path / "one", *options, "--jobs", 1)[1]
    status, _, err = run(capsys, "ljspeech", corpus, tmp_path / "one", "--frontend", "characters", "--jobs", 1)
    assert (status, "text.symbols" in err) == (1, True)


def test_auto_collects_arpabet_as_symbols_not_as_their_letters(capsys, own_corpus: Path, tmp_path: Path) -> None:
    (own_corpus / "metadata.csv").write_text(
        "S-0000|HH AH0 L OW1 sp|HH AH0 L OW1 sp\nS-0001|W ER1 L D|W ER1 L D\n", encoding="utf-8"
    )
    options = ("--frontend", "phonemes", "--symbols", "auto", "--jobs", 1)
    assert run(capsys, "ljspeech", own_corpus, tmp_path / "store", *options)[0] == 0
    dataset = UtteranceDataset(tmp_path / "store")
    assert set(dataset.symbols[4:]) == {"HH", "AH0", "L", "OW1", "sp", "W", "ER1", "D"}
    assert [dataset.symbols[number] for number in dataset[0].phonemes] == ["HH", "AH0", "L", "OW1", "sp"]


def test_auto_without_a_text_is_refused(capsys, own_corpus: Path, tmp_path: Path) -> None:
    (own_corpus / "metadata.csv").write_text("LJ001-0001|?!|?!\n", encoding="utf-8")
    status, _, err = run(capsys, "ljspeech", own_corpus, tmp_path / "store", "--symbols", "auto", "--jobs", 1)
    assert (status, "'auto' found none in 1 text;" in err) == (2, True)


def test_a_store_has_the_ends_and_blanks_that_were_asked_for(capsys, corpus: Path, tmp_path: Path) -> None:
    options = ("--symbols", "piper", "--blanks", "between", "--limit", 1, "--jobs", 1)
    assert run(capsys, "ljspeech", corpus, tmp_path / "store", *options)[0] == 0
    utterance = UtteranceDataset(tmp_path / "store")[0]
    ids = utterance.phonemes.tolist()
    assert (ids[:2], ids[-2:]) == ([1, 0], [0, 2])
    assert ids[1::2] == [0] * (len(ids) // 2)
    vocabulary = read_manifest(tmp_path / "store").vocabulary
    assert (vocabulary["start"], vocabulary["end"], vocabulary["blank"]) == (1, 2, 0)
    assert (vocabulary["ends"], vocabulary["blanks"]) == (True, "between")
    vocab = Vocab.from_dict(vocabulary)
    assert "".join(vocab.decode(ids)) == utterance.phoneme_text


@pytest.mark.parametrize("name", ["a" * 20_000, "a" * 3000 + "/b"], ids=["a name", "a folder"])
def test_a_name_too_long_for_a_file_is_no_table_and_the_message_is_short(name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a table, a file or 'auto'; the tables are") as caught:
        choose_symbols(name)
    assert len(str(caught.value)) <= 4000


def test_missing_punctuation_is_left_out_rather_than_the_table_of_another_system_advised() -> None:
    with pytest.raises(TextError, match=r"EM DASH\) × 2; --unknown drop leaves it out, or write other punctuation$"):
        Vocab.from_table(get_table("piper")).encode(["a", "—", "—"])
    with pytest.raises(TextError, match="; --unknown drop leaves them out, or"):
        Vocab.from_table(get_table("piper")).encode(["a", "—", "…"])
    with pytest.raises(TextError, match="the table 'styletts2' has them: --symbols styletts2$"):
        Vocab.from_table(get_table("kokoro")).encode(["—", "ɓ"])


def test_symbols_are_collected_from_python_as_by_the_command(corpus: Path, tmp_path: Path) -> None:
    config = Configuration(limit=3, text=TextConfig("characters", symbols="auto"))
    prepare(read_ljspeech(corpus), corpus, tmp_path / "store", config)
    dataset = UtteranceDataset(tmp_path / "store")
    assert set("".join(dataset.phoneme_text)) <= set(dataset.symbols)
    assert set(dataset.symbols[4:]) == {dataset.symbols[i] for utterance in dataset for i in utterance.phonemes}
