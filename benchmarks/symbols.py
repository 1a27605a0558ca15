"""Compare the named symbol tables with their sources' own code, on the same strings, id by id.

    python benchmarks/symbols.py --styletts2 DIR --vits DIR --matcha DIR --piper DIR --fastspeech2 DIR --coqui DIR
                                 --kokoro CONFIG.json [--texts FILE]

Each DIR is a checkout of the system. Its code is run in a process of its own; functions that stand in files that import
torch are taken out of them. The strings are random ones of the table's symbols and, with --texts, lines of phonemes.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tts_prep.preprocess.text.frontends.phonemes import PhonemesFrontend
from tts_prep.preprocess.text.symbols import get_table
from tts_prep.preprocess.text.vocab import Vocab

TAKE = """
import ast, json, sys
def take(path, *names, **scope):
    tree = ast.parse(open(path, encoding="utf-8").read())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (
        node.targets[0].id in names or "constants" in names))]
    scope.update(Coqpit=None, CharactersConfig=None, Dict=dict)
    exec(compile("from __future__ import annotations", path, "exec"), scope)
    exec(compile(tree, path, "exec", dont_inherit=False), scope)
    return scope
root = sys.argv[1]
sys.path.insert(0, root)
texts = json.load(sys.stdin)
out = sys.stdout
sys.stdout = sys.stderr
"""

SOURCES = {
    "styletts2": """
from text_utils import TextCleaner
clean = TextCleaner()
result = [clean(text) for text in texts]
""",
    "vits": """
from text import text_to_sequence
result = [text_to_sequence(text, []) for text in texts]
""",
    "vits, intersperse": """
from text import text_to_sequence
intersperse = take(root + "/commons.py", "intersperse")["intersperse"]
result = [intersperse(text_to_sequence(text, []), 0) for text in texts]
""",
    "matcha": """
from matcha.text import text_to_sequence
result = [text_to_sequence(text, [])[0] for text in texts]
""",
    "matcha, intersperse": """
from matcha.text import text_to_sequence
intersperse = take(root + "/matcha/utils/utils.py", "intersperse")["intersperse"]
result = [intersperse(text_to_sequence(text, [])[0], 0) for text in texts]
""",
    "piper": """
import unicodedata
scope = {"__name__": "piper.phoneme_ids", "__package__": "piper"}
import importlib.util, types
package = types.ModuleType("piper"); package.__path__ = [root + "/src/piper"]; sys.modules["piper"] = package
from piper.phoneme_ids import phonemes_to_ids
result = [phonemes_to_ids(list(unicodedata.normalize("NFD", text))) for text in texts]
""",
    "fastspeech2": """
from text import text_to_sequence
result = [text_to_sequence(text, []) for text in texts]
""",
    "coqui": """
scope = take(root + "/TTS/tts/utils/text/characters.py", "constants", "BaseCharacters", "IPAPhonemes")
characters = scope["IPAPhonemes"]()
result = [[characters.char_to_id(c) for c in text] for text in texts]
""",
    "coqui-vits": """
scope = take(root + "/TTS/tts/utils/text/characters.py", "constants", "BaseCharacters")
scope = take(root + "/TTS/tts/models/vits.py", "VitsCharacters", **scope)
characters = scope["VitsCharacters"]()
result = [[characters.char_to_id(c) for c in text] for text in texts]
""",
    "coqui-vits, intersperse": """
scope = take(root + "/TTS/tts/utils/text/characters.py", "constants", "BaseCharacters")
scope = take(root + "/TTS/tts/models/vits.py", "VitsCharacters", **scope)
characters = scope["VitsCharacters"]()
import textwrap
source = open(root + "/TTS/tts/utils/text/tokenizer.py", encoding="utf-8").read()
tokenizer = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "TTSTokenizer")
method = next(node for node in tokenizer.body if getattr(node, "name", "") == "intersperse_blank_char")
scope = {"List": list}
exec("from __future__ import annotations\\n" + textwrap.dedent(ast.get_source_segment(source, method)), scope)
self = type("Tokenizer", (), {"characters": characters})()
result = [
    scope["intersperse_blank_char"](self, [characters.char_to_id(c) for c in text], True) for text in texts
]
""",
    "kokoro": """
vocab = json.load(open(root))["vocab"]
result = [[0, *(vocab[c] for c in text), 0] for text in texts]
""",
}


def source_ids(name: str, path: Path, texts: list[str]) -> list[list[int]]:
    code = TAKE + SOURCES[name] + "\njson.dump(result, out)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], input=json.dumps(texts), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-800:]}")
    found: list[list[int]] = json.loads(done.stdout)
    return found


def our_ids(name: str, texts: list[str]) -> list[list[int]]:
    table, _, blanks = name.partition(", ")
    vocab = Vocab.from_table(get_table("vits" if table == "matcha" else table))
    if blanks:
        vocab = vocab.arranged(blanks="around")
    if table == "piper":
        vocab = vocab.arranged(blanks="between")
    if table == "fastspeech2":
        frontend = PhonemesFrontend(symbols=vocab)
        return [frontend.numericalize(frontend.phoneticize(text)).tolist() for text in texts]
    return [vocab.encode(vocab.split(text)).tolist() for text in texts]


def strings(name: str, lines: list[str], count: int) -> list[str]:
    """Return strings of the table's symbols: lines of phonemes as far as it has them, and random ones."""
    source = random.Random(0)
    vocab = Vocab.from_table(get_table("vits" if name.startswith("matcha") else name.partition(",")[0]))
    known = {symbol for symbol in vocab.symbols if len(symbol) == 1 and symbol not in vocab.specials}
    if name == "fastspeech2":
        phones = [symbol[1:] for symbol in vocab.symbols if symbol[0] == "@"]
        letters = sorted(known - {"_"})
        return [
            f"a{''.join(source.choices(letters, k=5))}{{{' '.join(source.choices(phones, k=20))}}}a"
            for _ in range(count)
        ]
    drawn = ["".join(source.choices(sorted(known), k=source.randrange(1, 120))) for _ in range(count)]
    return drawn + ["".join(c for c in line if c in known) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("styletts2", "vits", "matcha", "piper", "fastspeech2", "coqui", "kokoro"):
        parser.add_argument(f"--{name}", type=Path, metavar="PATH")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="lines of phonemes")
    parser.add_argument("--count", type=int, default=1000, help="random strings for each table")
    options: Any = parser.parse_args()
    lines = options.texts.read_text(encoding="utf-8").splitlines() if options.texts else []
    wrong = 0
    for name in SOURCES:
        path = getattr(options, name.partition(",")[0].partition("-")[0])
        if path is None:
            continue
        texts = strings(name, lines, options.count)
        theirs, ours = source_ids(name, path.absolute(), texts), our_ids(name, texts)
        different = sum(a != b for a, b in zip(theirs, ours, strict=True))
        wrong += different
        print(f"{name:<25}{len(texts):>6} strings {sum(map(len, theirs)):>9,} ids  {different} strings differ")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
