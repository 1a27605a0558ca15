"""What named systems do to espeak-ng's phones; the expected ones are what their own code returned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tts_prep.preprocess import get_frontend
from tts_prep.preprocess.configuration.records import TextConfig
from tts_prep.preprocess.make.phonemizing import TextReader
from tts_prep.preprocess.text.symbols import choose_symbols

ENGLISH = Path(__file__).parents[1] / "english" / "data"

# EspeakFallback and EspeakG2P of misaki 0.9.4, whose espeak.py is that of fba1236, with espeak-ng 1.52.0.
MISAKI = [
    (
        "en-us",
        "The judge's chair in the bottle, a certain button (in Rome)!",
        "ðə ʤˈʌʤᵻz ʧˈɛɹ ɪnðə bˈɑTᵊl, ə sˈɜɹtn bˈʌtn (ɪn ɹˈOm)!",
    ),
    ("en-us", "Eight boys go out now; the loch's year.", "ˈAt bˈYz ɡˌO ˈWt nˈW; ðə lˈɑks jˈɪɹ."),
    (
        "en-gb",
        "The judge's chair in the bottle, a certain button (in Rome)!",
        "ðə ʤˈʌʤɪz ʧˈAəɹ ɪnðə bˈɒtᵊl, ə sˈɜːtən bˈʌtən (ɪn ɹˈQm)!",
    ),
    ("en-gb", "Eight boys go out now; the loch's year.", "ˈAt bˈYz ɡˌQ ˈWt nˈW; ðə lˈɒks jˈiə."),
    ("fr-fr", "«Bonjour» (mes amis), c'est-à-dire un peu.", "“bɔ̃ʒˈuʁ” (mez amˈi), sɛtadˈiʁ œ̃ pˈø."),
    ("it", "Grazie mille: zio, cielo!", "ɡrˈaʦje mˈille: ʣˈio, ʧˈɛlo!"),
    ("de", "Zwei Leute heute, the deutsche Weekend.", "ʦvˈI lˈɔøtə hˈɔøtə, ðə dˈɔøtʃə vˈeːkənt."),
]


@pytest.mark.whole
@pytest.mark.parametrize(("language", "text", "expected"), MISAKI)
def test_kokoros_phones_are_those_of_misaki(language: str, text: str, expected: str, tmp_path: Path) -> None:
    assert get_frontend("espeak", language=language, symbols="kokoro").phoneticize(text) == expected
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"vocab": {"a": 43, "$": 0}, "n_token": 178}), encoding="utf-8")
    voice = TextReader(
        TextConfig(language=language, symbols=choose_symbols(str(path)), unknown="drop", heteronyms=False)
    )
    assert voice.read(text, None, normalized=True)[1] == expected
    several = get_frontend(f"espeak,{language}=espeak", language=language, symbols="kokoro")
    assert several.phoneticize(text).replace(" ", "").replace("▁", " ") == expected


@pytest.mark.whole
def test_kokoros_heteronyms_have_its_phones() -> None:
    read = TextReader(TextConfig(symbols="kokoro")).read
    assert read("They advocate peace, an advocate of it.", None, normalized=True)[1] == (
        "ðA ˈædvəkˌAt pˈis, ɐn ˈædvəkət ʌv ɪt.".replace("ɐ", "ə")
    )
    assert read("In a minute the minute hand.", None, normalized=True)[1].startswith("ɪn ə mˈɪnɪt")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Texts and phones of piper-tts 1.8.0's EspeakPhonemizer.
        ("Hello — world.", "həlˈoʊ; wˈɜːld."),
        ("Hello—world.", "həlˈoʊ wˈɜːld."),
        ("«Hello» world", "həlˈoʊ wˈɜːld"),
        ("¡Hello! world", "həlˈoʊ! wˈɜːld"),
        ('Hello, "my" world', "həlˈoʊ, maɪ wˈɜːld"),
        ('He said, "hello." She left', "hiː sˈɛd, həlˈoʊ. ʃiː lˈɛft"),
        ("Hi; — there", "hˈaɪ; ðˈɛɹ"),
    ],
)
def test_pipers_marks_are_those_of_its_clauses(text: str, expected: str) -> None:
    assert get_frontend("espeak", symbols="piper").phoneticize(text) == expected


def test_coquis_marks_are_those_that_its_cleaners_leave() -> None:
    # Of phoneme_cleaners and the phonemizer ESpeak (conformance/preparations.py): "Well, he twice, a re run, now."
    read = get_frontend("espeak", symbols="coqui").phoneticize
    assert read('Well; "he" (twice): a re-run, now.') == read("Well, he twice, a re run, now.")
    assert get_frontend("espeak", symbols="vits").phoneticize('Well; "he"') == 'wˈɛl; "hiː"'


@pytest.mark.whole
@pytest.mark.parametrize(
    "settings",
    [
        {"symbols": "styletts2", "punctuation": "separate"},
        {"symbols": "vits"},
        {"symbols": "piper", "unknown": "drop"},
        {"symbols": "kokoro"},
        {"symbols": "coqui", "unknown": "drop"},
        {"symbols": "coqui-idiap-vits", "unknown": "drop"},
    ],
    ids=lambda settings: str(settings["symbols"]),
)
def test_texts_of_every_kind_pass_with_the_documented_options(settings: dict[str, str]) -> None:
    reader = TextReader(TextConfig(**settings))  # type: ignore[arg-type]
    lines = (ENGLISH / "english_in_context.tsv").read_text(encoding="utf-8").splitlines()[::4]
    for text in [*(line.split("\t")[1] for line in lines), 'He said, "certain — button."']:
        assert len(reader.frontend.numericalize(reader.read(text, None, normalized=False)[1]))
