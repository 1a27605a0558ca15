"""Compare the named symbol tables with their sources' own code, on the same strings, id by id.

    python conformance/symbols.py --styletts2 DIR --vits DIR --matcha DIR --piper DIR --fastspeech2 DIR --coqui DIR
                                 --idiap DIR --tacotron2 DIR --gpt DIR --nemo DIR --f5 DIR --kokoro CONFIG.json
                                 --parakeet DIR --espnet DIR --paddlespeech DIR --baker LIST [--texts FILE]

Each DIR is a checkout of the system. Its code is run in a process of its own; functions that stand in files that import
torch are taken out of them. Parakeet's takes its phonemes from the package g2p_en; ESPnet's DIR also has
token_list.txt, the list of a model's config.yaml; --gpt is GPT-SoVITS; PaddleSpeech's ids come from LIST, the corpus's
ProsodyLabeling/000001-010000.txt. The strings are random ones of the table's symbols and, with --texts, lines of
phonemes.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tts_prep.preprocess.text.frontends.frontend import join_symbols, split_symbols
from tts_prep.preprocess.text.frontends.plain import PhonemesFrontend
from tts_prep.preprocess.text.symbols import choose_symbols, get_table
from tts_prep.preprocess.text.vocab import Vocab

TAKE = """
import ast, json, sys
def take(path, *names, **scope):
    tree = ast.parse(open(path, encoding="utf-8").read())
    tree.body = [node for node in tree.body if getattr(node, "name", None) in names or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (
        node.targets[0].id in names or "constants" in names))]
    scope.update(Coqpit=None, CharactersConfig=None, BaseTTSConfig=None, Dict=dict)
    exec(compile("from __future__ import annotations", path, "exec"), scope)
    exec(compile(tree, path, "exec", dont_inherit=False), scope)
    return scope
def nemo_scope():
    import abc, contextlib, itertools, logging, re, string, typing, unicodedata
    scope = {name: getattr(typing, name) for name in ("Callable", "List", "Optional", "Set", "Tuple", "Union")}
    scope.update(ABC=abc.ABC, abstractmethod=abc.abstractmethod, contextmanager=contextlib.contextmanager, re=re,
                 itertools=itertools, string=string, unicodedata=unicodedata, unicode=str, logging=logging,
                 experimental=lambda kind: kind)
    folder = root + "/nemo/collections/common/tokenizers/text_to_speech/"
    names = ("get_ipa_punctuation_list", "validate_locale", "get_grapheme_character_set")
    scope = take(folder + "ipa_lexicon.py", "constants", *names, **scope)
    names = ("english_text_preprocessing", "any_locale_text_preprocessing", "normalize_unicode_text",
             "english_word_tokenize", "any_locale_word_tokenize", "_word_tokenize")
    scope = take(folder + "tokenizer_utils.py", "constants", *names, **scope)
    names = ("BaseTokenizer", "EnglishPhonemesTokenizer", "IPATokenizer")
    return take(folder + "tts_tokenizers.py", *names, **scope)
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
    "coqui-idiap": """
import logging
scope = take(root + "/TTS/tts/utils/text/characters.py", "constants", "BaseVocabulary", "BaseCharacters", "IPAPhonemes",
             logging=logging)
characters = scope["IPAPhonemes"]()
result = [[characters.char_to_id(c) for c in text] for text in texts]
""",
    "coqui-idiap-vits": """
import logging
scope = take(root + "/TTS/tts/utils/text/characters.py", "constants", "BaseVocabulary", "BaseCharacters",
             logging=logging)
scope = take(root + "/TTS/tts/models/vits.py", "VitsCharacters", **scope)
characters = scope["VitsCharacters"]()
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
    "parakeet": """
import importlib.util
from collections import OrderedDict
from collections.abc import Iterable
package = importlib.util.find_spec("g2p_en").submodule_search_locations[0]
own = take(package + "/g2p.py", "G2p")["G2p"]
tree = ast.parse(open(package + "/g2p.py").read())
start = next(n for c in tree.body if getattr(c, "name", "") == "G2p" for n in c.body if n.name == "__init__")
phonemes = next(n.value for n in start.body if isinstance(n, ast.Assign) and n.targets[0].attr == "phonemes")
scope = take(root + "/parakeet/frontend/vocab.py", "Vocab", OrderedDict=OrderedDict, Iterable=Iterable)
marks = take(root + "/parakeet/frontend/punctuation.py", "constants", "get_punctuations")["get_punctuations"]
vocab = scope["Vocab"](eval(compile(ast.Expression(phonemes), "g2p_en", "eval")) + marks("en"))
English = take(root + "/parakeet/frontend/phonectic.py", "English", Phonetics=object)["English"]
self = type("Vocabulary", (), {"vocab": vocab})()
result = [English.numericalize(self, [{"▁": " ", "…": "..."}.get(t, t) for t in text.split(" ")]) for text in texts]
""",
    "espnet-g2p": """
import numpy as np
from pathlib import Path
import typing
names = {name: getattr(typing, name) for name in ("Iterable", "List", "Union")}
file = root + "/espnet2/text/token_id_converter.py"
scope = take(file, "TokenIDConverter", Path=Path, np=np, typechecked=lambda function: function, **names)
converter = scope["TokenIDConverter"](root + "/token_list.txt")
result = [converter.tokens2ids(text.split(" ")) for text in texts]
""",
    "paddlespeech-zh": """
import os, re, tempfile
from collections import OrderedDict
mfa = root + "/examples/other/mfa/local/"
scope = take(mfa + "generate_lexicon.py", "constants", "rule", "generate_lexicon", OrderedDict=OrderedDict, re=re)
lexicon = scope["generate_lexicon"](with_tone=True, with_erhua=True)
from pathlib import Path
from typing import Union
scope = take(mfa + "reorganize_baker.py", "constants", "get_transcripts", Path=Path, Union=Union)
sentences = {}
for name, line in scope["get_transcripts"](sys.argv[2]).items():
    # The aligner calls what its lexicon lacks spn; it and gen_duration_from_textgrid put sil and sp between syllables,
    # and merge_silence makes long ones spl.
    phones = [phone for syllable in line.split() for phone in lexicon.get(syllable, "spn").split()]
    sentences[name] = (["sil", "sp", "spl", *phones], None, None)
scope = take(root + "/paddlespeech/t2s/datasets/preprocess_utils.py", "get_input_token")
file = tempfile.mktemp()
scope["get_input_token"](sentences, file, "baker")
ids = {line.split()[0]: int(line.split()[1]) for line in open(file)}
os.remove(file)
result = [[ids[token] for token in text.split(" ")] for text in texts]
""",
    "tacotron2": """
import re
from types import SimpleNamespace
valid = take(root + "/text/cmudict.py", "valid_symbols")["valid_symbols"]
symbols = take(root + "/text/symbols.py", "constants", cmudict=SimpleNamespace(valid_symbols=valid))["symbols"]
functions = ("_clean_text", "_symbols_to_sequence", "_arpabet_to_sequence", "_should_keep_symbol", "text_to_sequence")
scope = take(root + "/text/__init__.py", "constants", *functions, re=re, symbols=symbols)
result = [scope["text_to_sequence"](text, []) for text in texts]
""",
    "gpt-sovits": """
sys.path.insert(0, root + "/GPT_SoVITS")
from text import cleaned_text_to_sequence
result = [cleaned_text_to_sequence(text.split(" "), "v1") for text in texts]
""",
    "gpt-sovits-v2": """
sys.path.insert(0, root + "/GPT_SoVITS")
from text import cleaned_text_to_sequence
result = [cleaned_text_to_sequence(text.split(" "), "v2") for text in texts]
""",
    "nemo-arpabet": """
Tokenizer = nemo_scope()["EnglishPhonemesTokenizer"]
tokenizer = Tokenizer(None, punct=True, stresses=True, chars=True, apostrophe=True, pad_with_space=True)
result = [tokenizer.encode_from_g2p([" " if t == "▁" else t for t in text.split(" ")]) for text in texts]
""",
    "nemo-ipa": """
import pathlib, random
from collections import defaultdict
scope = nemo_scope()
scope = take(root + "/nemo/collections/tts/g2p/utils.py", "constants", "set_grapheme_case", **scope)
scope = take(root + "/nemo/collections/tts/g2p/models/base.py", "BaseG2p", **scope)
scope = take(root + "/nemo/collections/tts/g2p/models/i18n_ipa.py", "IpaG2p", pathlib=pathlib, random=random,
             defaultdict=defaultdict, **scope)
folder = root + "/scripts/tts_dataset_files/"
g2p = scope["IpaG2p"](folder + "ipa_cmudict-0.7b_nv23.01.txt", heteronyms=folder + "heteronyms-052722",
                      phoneme_probability=0.8, ignore_ambiguous_words=False, use_chars=True, use_stresses=True)
tokenizer = scope["IPATokenizer"](g2p, punct=True, apostrophe=True)
result = [tokenizer.encode_from_g2p(list(text)) for text in texts]
""",
    "f5": """
import os, torch
from importlib.resources import files
from torch.nn.utils.rnn import pad_sequence
scope = take(root + "/src/f5_tts/model/utils.py", "get_tokenizer", "list_str_to_idx", os=os, torch=torch, files=files,
             pad_sequence=pad_sequence, int=dict)
ids, _ = scope["get_tokenizer"](root + "/data/Emilia_ZH_EN_pinyin/vocab.txt", "custom")
result = [scope["list_str_to_idx"]([[" " if t == "▁" else t for t in text.split(" ")]], ids)[0].tolist()
          for text in texts]
""",
    "kokoro": """
vocab = json.load(open(root))["vocab"]
result = [[0, *(vocab[c] for c in text), 0] for text in texts]
""",
}


SPACED = ("parakeet", "espnet-g2p", "paddlespeech-zh", "gpt-sovits", "gpt-sovits-v2", "nemo-arpabet", "f5")
"""Tables of symbols with several characters."""

BRACES = ("fastspeech2", "tacotron2")
"""Tables of characters, and of phones in braces."""


FILES = {"styletts2": "text_utils.py", "vits": "text/symbols.py", "matcha": "matcha/text/symbols.py"}
"""Python files whose list ``symbols`` --symbols reads."""


def source_ids(name: str, path: Path, texts: list[str], more: str = "") -> list[list[int]]:
    code = TAKE + SOURCES[name] + "\njson.dump(result, out)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), more],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
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
    if table in SPACED:
        return [vocab.encode(split_symbols(text)).tolist() for text in texts]
    if table in BRACES:
        frontend = PhonemesFrontend(symbols=vocab)
        return [frontend.numericalize(frontend.phoneticize(text)).tolist() for text in texts]
    return [vocab.encode(vocab.split(text)).tolist() for text in texts]


def files_differ(name: str, path: Path) -> bool:
    """Compare the list that is read from a system's Python file, which is not run, with that of the file's code."""
    file = path / FILES[name]
    code = TAKE + f"json.dump(take({str(file)!r}, 'constants')['symbols'], out)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], input="[]", capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    print(f"{name:<25}{FILES[name]}: {len(theirs)} symbols, as read: {tuple(theirs) == choose_symbols(str(file))}")
    return tuple(theirs) != choose_symbols(str(file))


def strings(name: str, lines: list[str], count: int) -> list[str]:
    """Return strings of the table's symbols: lines of phonemes as far as it has them, and random ones."""
    source = random.Random(0)
    vocab = Vocab.from_table(get_table("vits" if name.startswith("matcha") else name.partition(",")[0]))
    known = {symbol for symbol in vocab.symbols if len(symbol) == 1 and symbol not in vocab.specials - {" "}}
    if name in SPACED:
        tokens = sorted(set(vocab.symbols) - (vocab.specials - {" "}))
        drawn = [source.choices(tokens, k=source.randrange(1, 120)) for _ in range(count)]
        return [join_symbols(_spaced_once(line) if name == "nemo-arpabet" else line) for line in drawn]
    if name in BRACES:
        phones = [symbol[1:] for symbol in vocab.symbols if symbol[0] == "@"]
        letters = sorted(known - {"_"})
        return [
            f"a{''.join(source.choices(letters, k=5))}{{{' '.join(source.choices(phones, k=20))}}}a"
            for _ in range(count)
        ]
    drawn = ["".join(source.choices(sorted(known), k=source.randrange(1, 120))) for _ in range(count)]
    drawn += ["".join(c for c in line if c in known) for line in lines]
    return ["".join(_spaced_once(list(text))) for text in drawn] if name == "nemo-ipa" else drawn


def _spaced_once(symbols: list[str]) -> list[str]:
    """Return a line without spaces at its ends, and with single ones, as NeMo's tokenizers make of any line."""
    single = [s for s, before in zip(symbols, [" ", *symbols], strict=False) if (s, before) != (" ", " ")]
    return ["a", *single, "a"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in (
        "styletts2",
        "vits",
        "matcha",
        "piper",
        "fastspeech2",
        "coqui",
        "idiap",
        "tacotron2",
        "gpt",
        "nemo",
        "f5",
        "kokoro",
        "parakeet",
        "espnet",
        "paddlespeech",
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="PATH")
    parser.add_argument("--baker", type=Path, metavar="FILE", help="with --paddlespeech")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="lines of phonemes")
    parser.add_argument("--count", type=int, default=1000, help="random strings for each table")
    options: Any = parser.parse_args()
    lines = options.texts.read_text(encoding="utf-8").splitlines() if options.texts else []
    wrong = 0
    for name in SOURCES:
        option = "idiap" if "idiap" in name else name.partition(",")[0].partition("-")[0]
        path = getattr(options, option)
        if path is None:
            continue
        texts = strings(name, lines, options.count)
        theirs, ours = source_ids(name, path.absolute(), texts, str(options.baker)), our_ids(name, texts)
        different = sum(a != b for a, b in zip(theirs, ours, strict=True))
        wrong += different
        wrong += name in FILES and files_differ(name, path.absolute())
        print(f"{name:<25}{len(texts):>6} strings {sum(map(len, theirs)):>9,} ids  {different} strings differ")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
