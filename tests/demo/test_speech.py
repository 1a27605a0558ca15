from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import espeakng_loader
import numpy as np
import pytest

from tts_prep.demo.speech import speak
from tts_prep.errors import ConfigurationError, TextError

SENTENCE = "Reader, I married him."


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_speech_is_int16_mono_at_22050_hz() -> None:
    waveform, sample_rate = speak(SENTENCE)
    assert waveform.dtype == np.int16
    assert waveform.ndim == 1
    assert sample_rate == 22_050
    assert 1.0 < len(waveform) / sample_rate < 3.0
    assert np.abs(waveform.astype(int)).max() > 5_000


@pytest.mark.parametrize("voice", ["en-us", "en-us+f2", "en-us+whisper"])
def test_samples_do_not_depend_on_what_was_spoken_before(voice: str) -> None:
    first, _ = speak(SENTENCE, voice=voice)
    speak("Something longer, in another voice?", voice="en+m3", words_per_minute=220, pitch=80)
    again, _ = speak(SENTENCE, voice=voice)
    np.testing.assert_array_equal(first, again)


def test_samples_are_the_same_in_another_process() -> None:
    program = (
        "import hashlib\n"
        "from tts_prep.demo.speech import speak\n"
        f"print(hashlib.sha256(speak({SENTENCE!r}, voice='en-us+f2')[0].tobytes()).hexdigest())\n"
    )
    assert run(program) == run(program)


def test_samples_are_the_same_from_many_threads() -> None:
    alone, _ = speak(SENTENCE)
    with ThreadPoolExecutor(4) as pool:
        for waveform, _ in pool.map(lambda _: speak(SENTENCE), range(8)):
            np.testing.assert_array_equal(waveform, alone)


def test_a_faster_rate_is_shorter_and_another_pitch_is_other_samples() -> None:
    waveform, _ = speak(SENTENCE)
    fast, _ = speak(SENTENCE, words_per_minute=260)
    high, _ = speak(SENTENCE, pitch=80)
    assert len(fast) < 0.85 * len(waveform)
    assert not np.array_equal(high, waveform)


def test_all_of_a_long_text_is_spoken() -> None:
    once, _ = speak(SENTENCE)
    often, _ = speak(" ".join([SENTENCE] * 20))
    assert len(often) > 18 * len(once)


@pytest.mark.parametrize("text", ["", "   ", "...", "?!", "—", '"'])
def test_rejects_a_text_with_nothing_to_say(text: str) -> None:
    with pytest.raises(TextError, match="nothing to say"):
        speak(text)


@pytest.mark.parametrize("text", ["a\0b", "\x01150s fast", "a\x7fb"])
def test_rejects_control_characters(text: str) -> None:
    with pytest.raises(TextError, match=r"control character U\+00"):
        speak(text)


def test_rejects_text_that_is_not_unicode() -> None:
    with pytest.raises(TextError, match="surrogates not allowed at 1"):
        speak("a\udc80")


@pytest.mark.parametrize("voice", ["", "xx", "en-us+", "en-us+nobody", "+f2", "../en-us", "en-us\udc80"])
def test_rejects_a_voice_that_espeak_does_not_have(voice: str) -> None:
    with pytest.raises(ConfigurationError, match="is not one of espeak-ng's"):
        speak(SENTENCE, voice=voice)


@pytest.mark.parametrize(
    ("setting", "value"), [("words_per_minute", 79), ("words_per_minute", 451), ("pitch", -1), ("pitch", 101)]
)
def test_rejects_a_setting_out_of_range(setting: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"{setting}: {value}, expected \d+ to \d+"):
        speak(SENTENCE, **{setting: value})  # type: ignore[arg-type]


def test_a_data_path_that_espeak_would_cut_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 160)
    deep.mkdir()
    library = Path(espeakng_loader.get_library_path())
    (deep / library.name).write_bytes(library.read_bytes())
    monkeypatch.setattr(espeakng_loader, "get_library_path", lambda: str(deep / library.name))
    with pytest.raises(ConfigurationError, match="shorter path"):
        speak(SENTENCE)


def test_a_library_that_cannot_be_loaded_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(espeakng_loader, "get_library_path", lambda: str(tmp_path / "libespeak-ng.so"))
    with pytest.raises(ConfigurationError, match="cannot load espeak-ng"):
        speak(SENTENCE)


PHONEMIZE = f"""
import espeakng_loader
from phonemizer.backend import EspeakBackend
from phonemizer.backend.espeak.wrapper import EspeakWrapper

def phonemize():
    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    return EspeakBackend("en-us", with_stress=True).phonemize([{SENTENCE!r}, "Call me Ishmael."])
"""

SPEAK = f"""
import hashlib
from tts_prep.demo.speech import speak

def spoken():
    return hashlib.sha256(speak({SENTENCE!r})[0].tobytes()).hexdigest()
"""


@pytest.mark.parametrize("order", ["spoken(), phonemize(), spoken()", "phonemize(), spoken(), phonemize()"])
def test_speech_and_phonemes_are_the_same_beside_each_other_as_alone(order: str) -> None:
    alone = {
        "spoken()": run(SPEAK + "print(spoken())").strip(),
        "phonemize()": run(PHONEMIZE + "print(phonemize())").strip(),
    }
    together = run(SPEAK + PHONEMIZE + f"print(*[{order}], sep='\\n')").splitlines()
    assert together == [alone[call] for call in order.split(", ")]


def test_importing_the_module_loads_neither_espeak_nor_anything_slow() -> None:
    program = (
        "import sys\n"
        "import tts_prep.demo.speech\n"
        "print([m for m in ('espeakng_loader', 'phonemizer', 'librosa', 'scipy', 'soundfile') if m in sys.modules])\n"
    )
    assert run(program).strip() == "[]"
