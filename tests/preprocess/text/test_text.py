from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess import Vocab, get_frontend
from tts_prep.preprocess.text.frontends.frontend import default_frontend
from tts_prep.preprocess.text.symbols import get_table

SYMBOLS = get_table("styletts2").symbols


@pytest.fixture(scope="module")
def espeak():
    return get_frontend("espeak", language="en-us")


def test_the_table_has_178_entries_of_which_177_differ() -> None:
    assert len(SYMBOLS) == 178
    assert len(set(SYMBOLS)) == 177
    vocab = Vocab(SYMBOLS, "$")
    assert (vocab.pad, vocab.lookup(" "), vocab.lookup("A")) == (0, 16, 17)
    assert [i for i, symbol in enumerate(SYMBOLS) if symbol == "'"] == [174, vocab.lookup("'")]


def test_a_sentence_of_the_seed_document_keeps_stress_and_punctuation(espeak) -> None:
    # The document's own example of a line, LJ001-0110.
    text = "Even the Caslon type when enlarged shows great shortcomings in this respect:"
    expected = "ˈiːvən ðə kˈæslɑːn tˈaɪp wɛn ɛnlˈɑːɹdʒd ʃˈoʊz ɡɹˈeɪt ʃˈɔːɹtkʌmɪŋz ɪn ðɪs ɹᵻspˈɛkt:"
    assert espeak.phoneticize(text) == expected


def test_double_quotes_and_dashes_stay_where_they_are(espeak) -> None:
    phonemes = espeak.phoneticize('He said "no" — and left.')
    assert [c for c in phonemes if c in '"—.'] == ['"', '"', "—", "."]


@pytest.mark.parametrize("text", ["", "...", " ?! ", "—"])
def test_text_without_anything_to_speak_is_an_error(espeak, text: str) -> None:
    with pytest.raises(TextError, match="empty|nothing to speak"):
        espeak.phoneticize(espeak.normalize(text))


def test_unknown_symbols_are_counted_and_named(espeak) -> None:
    with pytest.raises(TextError) as error:
        espeak.numericalize("a☃b☃%")
    assert str(error.value) == (
        "3 symbols not in the vocabulary: '☃' (U+2603 SNOWMAN) × 2, '%' (U+0025 PERCENT SIGN) × 1"
    )


@given(st.text(alphabet=SYMBOLS, max_size=80))
def test_decoding_ids_gives_the_phonemes_back(phonemes: str) -> None:
    frontend = get_frontend("espeak")
    ids = frontend.numericalize(phonemes)
    assert ids.dtype == np.int32
    assert frontend.decode(ids) == phonemes


def test_results_do_not_depend_on_what_was_phonemized_before(espeak) -> None:
    texts = ["One, two.", "Stray ( bracket", "naïve café", "«Bonjour» !", "It's 12:30 & $5.20", "One, two."]
    forward = [espeak.phoneticize(text) for text in texts]
    backward = [espeak.phoneticize(text) for text in reversed(texts)][::-1]
    alone = [get_frontend("espeak").phoneticize(text) for text in texts]
    assert forward == backward == alone


def test_an_unknown_language_or_frontend_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigurationError, match=r"espeak-ng has no 'en-xx'; it has .*en-gb, .*en-us"):
        get_frontend("espeak", language="en-xx").phoneticize("a")
    with pytest.raises(ConfigurationError, match="espeak-ng has no 'german'; it has de$"):
        get_frontend("espeak", language="german").phoneticize("a")
    with pytest.raises(ConfigurationError, match="has no 'xx'; 'tts-prep languages' lists its"):
        get_frontend("espeak", language="xx").phoneticize("a")
    with pytest.raises(ConfigurationError, match="espeak-ng has no 'germna'; it has de$"):
        get_frontend("espeak", language="germna").phoneticize("a")


@pytest.mark.parametrize(("locale", "code"), [("en_US", "en-us"), ("PT-br", "pt-br"), ("de_AT", "de"), ("fr", "fr-fr")])
def test_a_locale_is_the_language_that_espeak_has_for_it(locale: str, code: str) -> None:
    text = "Radio 12."
    assert get_frontend("espeak", language=locale).phoneticize(text) == get_frontend(
        "espeak", language=code
    ).phoneticize(text)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        *[("es-ES", "es"), ("es-MX", "es-419"), ("pt-PT", "pt"), ("pt-AO", "pt"), ("fr-CA", "fr-fr")],
        *[("en-AU", "en-gb"), ("en-IN", "en-gb"), ("vi-VN", "vi"), ("fa-IR", "fa"), ("ca-ES", "ca")],
    ],
)
def test_a_region_without_a_voice_is_spoken_by_another_one_with_a_remark(language: str, code: str) -> None:
    frontend, text = get_frontend("espeak", language=language), "12."
    phonemes = frontend.phoneticize(text)
    assert phonemes == get_frontend("espeak", language=code).phoneticize(text)
    assert ("regions_without_a_voice", f"{language}: {code}") in list(frontend.remarks(text, phonemes))


@pytest.mark.parametrize(
    ("language", "code"), [("zh-TW", "cmn"), ("nn-NO", "nb"), ("de-AT", "de"), ("en-GB", "en-gb"), ("JP", "ja")]
)
def test_a_code_that_means_one_voice_gives_no_remark(language: str, code: str) -> None:
    frontend = get_frontend("espeak", language=language)
    assert list(frontend.remarks("12.", frontend.phoneticize("12."))) == []
    assert frontend.phoneticize("12.") == get_frontend("espeak", language=code).phoneticize("12.")


@pytest.mark.whole
def test_a_country_written_for_a_language_selects_its_frontend() -> None:
    assert [default_frontend(code) for code in ("JP", "CN", "KR")] == ["japanese", "mandarin", "korean"]


def test_a_language_that_espeak_lacks_is_not_compared_with_parts_of_words() -> None:
    with pytest.raises(ConfigurationError, match="espeak-ng has no 'rw'; 'tts-prep languages' lists"):
        get_frontend("espeak", language="rw").phoneticize("a")


def test_an_unknown_frontend_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="frontend: expected one of espeak.*, found 'espeek'"):
        get_frontend("espeek")


def test_a_vocabulary_needs_its_padding_symbol() -> None:
    with pytest.raises(ConfigurationError, match="padding symbol"):
        Vocab("abc", "_")
    with pytest.raises(TextError, match="id 3 is out of range for 3 symbols"):
        Vocab("abc", "a").reverse(3)
