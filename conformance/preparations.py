"""Compare what named tables do to espeak-ng's phones with the code of their systems, text by text.

    python conformance/preparations.py metadata.csv [--misaki DIR] [--piper DIR] [--coqui DIR] [--matcha DIR]

The texts are 1,000 of LJ Speech's, normalized here, so that numbers and abbreviations are the same for both. DIR of
misaki and Piper is a folder with the package (``pip install --no-deps --target DIR misaki piper-tts``), of the others
a checkout (Matcha's with the package ``unidecode`` in it). Each system's code runs as it stands, in a process of its
own, with the espeak-ng of this environment, but for Piper's, which has its own build. Of misaki, ``EspeakFallback``
(en-us, en-gb) is given whole texts, and ``EspeakG2P`` some in 20 languages; its dictionary and tagger are not part of
this. Of Coqui, whose espeak-ng is a command, the text is what ``phoneme_cleaners`` makes without numbers, and the marks
are put back by its ``Punctuation``.

With no option but the file, all 13,100 texts are read with each table, and those with symbols that it has not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

from tts_prep.preprocess import get_frontend

G2P_LANGUAGES = (
    *("cs", "da", "de", "el", "es", "fi", "fr-fr", "hi", "hu", "it", "nb", "nl", "pl", "pt-br", "ro", "ru", "sv", "tr"),
    *("uk", "vi"),
)
NUMBERS = ("1, 2, 3.", "47? 15!", "1843; 92", "100, 60: 7.", "0 11 12 13 20 80 1000", "(5) «90»")
NAMES = ("Marianne, Dieter (José); Giulia: Ivan?", "Zoja — Wojciech!")

HEAD = """
import json, sys
sys.path.insert(0, sys.argv[1])
language, texts = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
"""
MISAKI = """
from types import SimpleNamespace
from misaki.espeak import EspeakFallback, EspeakG2P
if language in ("en-us", "en-gb"):
    read = EspeakFallback(british=language == "en-gb")
    result = [read(SimpleNamespace(text=text))[0] for text in texts]
else:
    read = EspeakG2P(language=language)
    result = [read(text)[0] for text in texts]
json.dump(result, out)
"""
PIPER = """
from piper.phonemize_espeak import EspeakPhonemizer
read = EspeakPhonemizer()
result = [" ".join("".join(part).strip() for part in read.phonemize(language, text)) for text in texts]
json.dump(result, out)
"""
COQUI = """
import importlib.util, types
root = sys.argv[1] + "/TTS/tts/utils/text/"
def load(name, file):
    spec = importlib.util.spec_from_file_location(name, root + file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
import ast, re, unicodedata
tree = ast.parse(open(root + "cleaners.py", encoding="utf-8").read())
wanted = ("collapse_whitespace", "remove_aux_symbols", "replace_symbols", "normalize_unicode", "_whitespace_re")
tree.body = [node for node in tree.body if getattr(node, "name", None) in wanted or (
    isinstance(node, ast.Assign) and node.targets[0].id in wanted)]
scope = {"re": re, "normalize": unicodedata.normalize}
exec(compile(tree, "cleaners.py", "exec"), scope)
punctuation = load("punctuation", "punctuation.py").Punctuation()
from phonemizer.backend.espeak.wrapper import EspeakWrapper
import espeakng_loader
EspeakWrapper.set_library(espeakng_loader.get_library_path())
EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
espeak = EspeakWrapper()
espeak.set_voice(language)
result = []
for text in texts:
    text = scope["normalize_unicode"](text)
    text = scope["collapse_whitespace"](scope["remove_aux_symbols"](scope["replace_symbols"](text)))
    pieces, marks = punctuation.strip_to_restore(text.strip())
    spoken = [re.sub(r"\\(.+?\\)", "", espeak.text_to_phonemes(piece)).strip().replace("_", "") for piece in pieces]
    result.append(punctuation.restore(spoken, marks)[0])
json.dump(result, out)
"""
MATCHA = """
import os
import espeakng_loader
os.environ["PHONEMIZER_ESPEAK_LIBRARY"] = str(espeakng_loader.get_library_path())
os.environ["PHONEMIZER_ESPEAK_DATA_PATH"] = str(espeakng_loader.get_data_path())
from matcha.text.cleaners import collapse_whitespace, global_phonemizer, remove_brackets
result = [collapse_whitespace(remove_brackets(global_phonemizer.phonemize([text], strip=True, njobs=1)[0]))
          for text in texts]
json.dump(result, out)
"""
SYSTEMS = {
    "misaki": (MISAKI, "kokoro"),
    "piper": (PIPER, "piper"),
    "coqui": (COQUI, "coqui"),
    "matcha": (MATCHA, "vits"),
}
TABLES = ("styletts2", "vits", "piper", "kokoro", "coqui", "coqui-vits", "coqui-idiap", "coqui-idiap-vits")


def run(code: str, folder: Path, value: object) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code, str(folder)],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def ours(table: str, language: str, texts: list[str]) -> list[str]:
    frontend = get_frontend("espeak", language=language, symbols=table)
    return [" ".join(frontend.phoneticize(text).split()) for text in texts]


def compare(name: str, folder: Path, language: str, texts: list[str]) -> None:
    code, table = SYSTEMS[name]
    theirs = [" ".join(text.split()) for text in run(code, folder, [language, texts])]
    found = ours(table, language, texts)
    plain = [" ".join(text.split()) for text in ours("espeak", language, texts)]
    if name == "piper":
        found, plain = ([unicodedata.normalize("NFD", text) for text in some] for some in (found, plain))
    differ = [(text, a, b) for text, a, b in zip(texts, found, theirs, strict=True) if a != b]
    before = sum(a != b for a, b in zip(plain, theirs, strict=True))
    print(f"{name}, {language}: {len(differ)} of {len(texts)} texts differ, {before} without the preparation")
    if name == "piper":
        apart = [(text, a, b.replace("ʲ", "")) for text, a, b in differ if a != b.replace("ʲ", "")]
        marks = [re.sub(r"[^.,:;!?]", "", a) != re.sub(r"[^.,:;!?]", "", b) for _, a, b in apart]
        print(f"    {len(apart)} without regard to ʲ, {sum(marks)} of these in marks")
        differ = apart
    for text, a, b in differ[:3]:
        print(f"    {text}\n    {a}\n    {b}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metadata", type=Path)
    for name in SYSTEMS:
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    written = [line.split("|")[2] for line in options.metadata.read_text(encoding="utf-8").splitlines()]
    english = get_frontend("espeak")
    random.seed(0)
    texts = [english.normalize(text) for text in random.sample(written, 1000)]
    texts += ["«Well» (he said) — it's [far] away…", "Who?! (Nobody.)"]
    given = {name: folder for name in SYSTEMS if (folder := getattr(options, name))}
    for name, folder in given.items():
        compare(name, folder, "en-us", texts)
    if "misaki" in given:
        compare("misaki", given["misaki"], "en-gb", texts)
        for language in G2P_LANGUAGES:
            latin = language not in ("el", "hi", "ru", "uk")
            compare("misaki", given["misaki"], language, [*NUMBERS, *(NAMES if latin else ())])
    if not given:
        for table in TABLES:
            frontend = get_frontend("espeak", symbols=table)
            phones = [frontend.phoneticize(english.normalize(text)) for text in written]
            unknown = [frontend.vocab.unknown(frontend.split(text)) for text in phones]
            which = sorted({one for some in unknown for one in some})
            print(f"{table}: {sum(map(bool, unknown))} of {len(written)} texts have {which}")


if __name__ == "__main__":
    main()
