"""Write the symbol table ``espeak``: every character that espeak-ng gives for any phoneme of any of its voices.

    python conformance/espeak_symbols.py [--words ESPEAK_NG_CHECKOUT] [--write]

Each voice speaks every phoneme of espeak-ng's compiled phoneme tables, alone and before and after a vowel, and the IPA
that it gives is collected. With a checkout of espeak-ng, every voice also speaks the words of its own word list. The
table is StyleTTS2's 178 symbols, so that their ids stay, and then all others in the order of their code points.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import tempfile
import unicodedata
from collections import defaultdict
from pathlib import Path

from tts_prep.preprocess.text.frontends.espeak import espeak_library
from tts_prep.preprocess.text.symbols import get_table

TABLE = Path(__file__).parents[1] / "tts_prep" / "preprocess" / "text" / "symbols" / "tables" / "espeak.txt"

AUDIO_OUTPUT_SYNCHRONOUS = 2
DONT_EXIT = 0x8000
UTF8_AND_PHONEMES = 1 | 0x100
IPA = 2


class Voice(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_char_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


class Espeak:
    """espeak-ng's library, with a trace of the phonemes that it speaks."""

    def __init__(self, trace: Path) -> None:
        library, self.data = espeak_library()
        self.library = ctypes.CDLL(str(library))
        self.library.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, str(self.data).encode(), DONT_EXIT)
        self.library.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(Voice))
        self.library.espeak_SetPhonemeTrace.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.library.espeak_Synth.argtypes = [
            *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint, ctypes.c_uint),
            *(ctypes.c_void_p, ctypes.c_void_p),
        ]
        self.library.espeak_TextToPhonemes.restype = ctypes.c_char_p
        self.c = ctypes.CDLL(None)
        self.c.fopen.restype = ctypes.c_void_p
        self.c.fflush.argtypes = [ctypes.c_void_p]
        self.trace = trace
        self.file = self.c.fopen(str(trace).encode(), b"w")
        self.library.espeak_SetPhonemeTrace(IPA, self.file)

    def voices(self) -> dict[str, tuple[str, str, str]]:
        """Return the language of every voice → its voice, and the names of its phoneme table and dictionary."""
        voices = self.library.espeak_ListVoices(None)
        names = {}
        number = 0
        while voices[number]:
            identifier = voices[number].contents.identifier.decode()
            path = self.data / "lang" / identifier
            language = voices[number].contents.languages[1:].split(b"\0")[0].decode()
            number += 1
            if not path.is_file():
                continue
            lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            settings = {line[0]: line[1] for line in reversed(lines) if len(line) > 1}
            name = settings.get("phonemes", language.split("-")[0])
            names[language] = (identifier, name, settings.get("dictionary", language.split("-")[0]))
        return dict(sorted(names.items()))

    def phoneme_tables(self) -> dict[str, list[str]]:
        """Return the name of every phoneme table → the names of its phonemes, and of those of the tables it includes.

        The file phontab has 36 bytes for a table (number of phonemes, number of the included table from 1 on, name),
        and 16 for a phoneme, its name first.
        """
        content = (self.data / "phontab").read_bytes()
        tables: list[tuple[str, list[str]]] = []
        position = 4
        for _ in range(content[0]):
            n_phonemes, included = content[position], content[position + 1]
            name = content[position + 4 : position + 36].split(b"\0")[0].decode()
            position += 36
            found = list(tables[included - 1][1]) if included else []
            for _ in range(n_phonemes):
                found.append(content[position : position + 4].rstrip(b"\0").decode("latin-1"))
                position += 16
            tables.append((name, found))
        return {
            name: sorted(
                {phoneme for phoneme in found if phoneme.isprintable() and phoneme.strip() and "]]" not in phoneme}
            )
            for name, found in tables
        }

    def speak_phonemes(self, text: str) -> None:
        content = f"[[{text}]]".encode()
        self.library.espeak_Synth(content, len(content) + 1, 0, 1, 0, UTF8_AND_PHONEMES, None, None)

    def ipa(self, text: str) -> str:
        pointer = ctypes.c_char_p(text.encode())
        found = []
        while pointer.value:
            found.append(self.library.espeak_TextToPhonemes(ctypes.byref(pointer), 1, IPA).decode())
        return " ".join(found)

    def traced(self) -> str:
        self.c.fflush(self.file)
        return self.trace.read_text(encoding="utf-8", errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=Path, metavar="CHECKOUT", help="of espeak-ng; its word lists are spoken too")
    parser.add_argument("--write", action="store_true", help="write the table; else say what it lacks")
    options = parser.parse_args()
    found: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        espeak = Espeak(Path(folder) / "trace")
        tables = espeak.phoneme_tables()
        voices = espeak.voices()
        before = n_phonemes = 0
        for voice, (identifier, table, dictionary) in voices.items():
            if espeak.library.espeak_SetVoiceByName(identifier.encode()):
                print(f"espeak-ng lists the voice {voice} and cannot load it")
                continue
            for name in tables.get(table) or tables[table.split("-")[0]]:
                n_phonemes += 1
                espeak.speak_phonemes(f"{name} a{name}a")
            trace = espeak.traced()
            collect(found, trace[before:], f"phonemes of {voice}")
            before = len(trace)
            if options.words:
                collect(found, speak_words(espeak, words(options.words, dictionary)), f"words of {voice}")
    public = get_table("styletts2").symbols
    others = sorted(set(found) - set(public) - {"\n", "\x01"})
    for character in others:
        where = sorted(found[character])
        print(f"U+{ord(character):04X} {character!r} {unicodedata.name(character, '?')}: {len(where)}, {where[0]}")
    print(f"{len(voices)} voices, {n_phonemes:,} phonemes, {len(public)} + {len(others)} symbols")
    if options.write:
        TABLE.write_text("\n".join([*public, *others]) + "\n", encoding="utf-8")
    else:
        print("missing in the table:", sorted(set(others) - set(get_table("espeak").symbols)))


def collect(found: dict[str, set[str]], text: str, where: str) -> None:
    for character in set(text):
        found[character].add(where)


def speak_words(espeak: Espeak, texts: list[str]) -> str:
    """Return all characters of the IPA of texts, spoken in child processes: some words end espeak-ng in a crash."""
    characters: set[str] = set()
    for start in range(0, len(texts), 200):
        with tempfile.TemporaryFile() as file:
            child = os.fork()
            if not child:
                for text in texts[start : start + 200]:
                    os.write(file.fileno(), re.sub(r"\([a-z-]+\)", "", espeak.ipa(text)).encode())
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                print(f"espeak-ng crashed among {texts[start]} to {texts[start : start + 200][-1]}")
            file.seek(0)
            characters.update(file.read().decode(errors="replace"))
    return "".join(characters)


def words(checkout: Path, dictionary: str) -> list[str]:
    """Return the words of the lists that a dictionary of espeak-ng is made of."""
    lists = [checkout / "dictsource" / f"{dictionary}_{kind}" for kind in ("list", "listx", "extra", "emoji")]
    found = []
    for path in lists:
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                word = line.partition("//")[0].split("\t")[0].strip()
                if word and not word.startswith(("$", "?", "(")):
                    found.append(word.split(" ")[0])
    return found


if __name__ == "__main__":
    main()
