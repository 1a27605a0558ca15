"""Compare the ids of `--symbols VOICE.json` with those of Piper's and Kokoro's own code, text by text.

    python conformance/voices.py --piper DIR [--metadata metadata.csv]

DIR holds the package ``piper`` (``pip install --no-deps --target DIR piper-tts``). Phonemes are those of the frontend
``espeak``: numbers in 29 languages, and with --metadata the first 200 texts of LJ Speech. Piper's part is
``phonemes_to_ids`` (of pinyin, that of ``phonemize_chinese``) on decomposed characters, merged by
``_merge_known_vowel_clusters``; Kokoro's is what ``KModel.forward`` does: ``vocab.get`` of each character, 0 at both
ends.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tts_prep.preprocess import configure, get_frontend
from tts_prep.preprocess.configuration.records import make_frontend

LANGUAGES = (
    *("ar", "bg", "ca", "cs", "cy", "da", "de", "el", "en-gb", "en-us", "es", "fa", "fi", "fr-fr", "hu", "is", "it"),
    *("ka", "kk", "lb", "nl", "pl", "pt-br", "ro", "ru", "sk", "sv", "tr", "uk"),
)
NUMBERS = ("1, 2, 3.", "47? 15!", "1843; 92", "100, 60: 7.", "0 11 12 13 20 80 1000")

PIPER = """
import json, sys, unicodedata
sys.path.insert(0, sys.argv[1])
from piper.phoneme_ids import phonemes_to_ids
from piper.phonemize_espeak import _merge_known_vowel_clusters
from piper.phonemize_chinese import phonemes_to_ids as pinyin_ids
voice, texts = json.load(sys.stdin)
clusters = {tuple(item) for item in voice.get("vowel_clusters", [])}
result = []
for text in texts:
    if voice["phoneme_type"] == "pinyin":
        result.append(pinyin_ids(text.split(), voice["phoneme_id_map"]))
        continue
    phonemes = list(unicodedata.normalize("NFD", text))
    result.append(phonemes_to_ids(_merge_known_vowel_clusters(phonemes, clusters) if clusters else phonemes,
                                  voice["phoneme_id_map"]))
json.dump(result, sys.stdout)
"""
MAPS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from piper.phonemize_chinese import PHONEME_TO_ID
json.dump([DEFAULT_PHONEME_ID_MAP, PHONEME_TO_ID], sys.stdout)
"""


def run(code: str, folder: Path, value: object = None) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], input=json.dumps(value), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def ours(voice: Path, language: str, phonemes: list[str], frontend: str = "phonemes") -> list[list[int]]:
    text = {"symbols": str(voice), "language": language, "unknown": "drop", "frontend": frontend}
    made = make_frontend(configure("ljspeech", settings={"text": text}).text)
    return [made.numericalize(line).tolist() for line in phonemes]


def spoken(language: str, texts: list[str]) -> list[str]:
    frontend = get_frontend("espeak", language=language)
    return [frontend.phoneticize(frontend.normalize(text)) for text in texts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--piper", type=Path, required=True)
    parser.add_argument("--metadata", type=Path)
    options = parser.parse_args()
    default, pinyin = run(MAPS, options.piper)
    diphthongs = [list(symbol) for symbol in default if len(symbol) == 2]
    voices = {
        "espeak": {"phoneme_type": "espeak", "phoneme_id_map": default},
        "espeak, diphthongs": {"phoneme_type": "espeak", "phoneme_id_map": default, "vowel_clusters": diphthongs},
        "before diphthongs": {
            "phoneme_type": "espeak",
            "phoneme_id_map": {symbol: ids for symbol, ids in default.items() if len(symbol) == 1},
        },
        "text": {"phoneme_type": "text", "phoneme_id_map": default},
    }
    texts = {language: spoken(language, list(NUMBERS)) for language in LANGUAGES}
    if options.metadata:
        lines = options.metadata.read_text(encoding="utf-8").splitlines()[:200]
        texts["en-us"] = spoken("en-us", [line.split("|")[2] for line in lines])
    random.seed(0)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "voice.onnx.json"
        for name, voice in voices.items():
            path.write_text(json.dumps(voice), encoding="utf-8")
            differ = count = 0
            for language, phonemes in texts.items():
                theirs = run(PIPER, options.piper, [voice, phonemes])
                differ += sum(a != b for a, b in zip(ours(path, language, phonemes, "espeak"), theirs, strict=True))
                count += len(phonemes)
            print(f"Piper, {name}: {differ} of {count} texts differ in {len(texts)} languages")
            wrong += differ
        voice = {"phoneme_type": "pinyin", "phoneme_id_map": pinyin}
        path.write_text(json.dumps(voice), encoding="utf-8")
        symbols = [symbol for symbol in pinyin if symbol.strip() and symbol not in "^$_"]
        phonemes = [" ".join(random.choices(symbols, k=40)) for _ in range(200)]
        theirs = run(PIPER, options.piper, [voice, phonemes])
        differ = sum(a != b for a, b in zip(ours(path, "zh", phonemes), theirs, strict=True))
        print(f"Piper, pinyin: {differ} of {len(phonemes)} texts differ")
        # Kokoro: ids as in its config.json, of which kokoro's table here is a copy.
        vocab = {symbol: number for number, symbol in enumerate(get_frontend("espeak", symbols="kokoro").vocab.symbols)}
        vocab = {symbol: number for symbol, number in vocab.items() if len(symbol) == 1 and number}
        path.write_text(json.dumps({"vocab": vocab, "n_token": 178}), encoding="utf-8")
        lines = [line for some in texts.values() for line in some]
        kokoro = [[0, *(vocab[c] for c in line if c in vocab), 0] for line in lines]
        differs = sum(a != b for a, b in zip(ours(path, "en-us", lines, "espeak"), kokoro, strict=True))
        print(f"Kokoro: {differs} of {len(lines)} texts differ")
    sys.exit(bool(wrong + differ + differs))


if __name__ == "__main__":
    main()
