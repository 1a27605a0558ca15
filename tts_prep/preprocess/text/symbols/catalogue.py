"""The named symbol tables, with their systems and sources, and the choice among them, a file and `auto`."""

from __future__ import annotations

import difflib
import importlib.resources
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.symbols.file import check_unique, parse_symbols, read_symbols
from tts_prep.preprocess.text.symbols.preparation import AS_READ, COQUI, KOKORO, PIPER, Preparation
from tts_prep.preprocess.text.symbols.voice import Blanks, VoiceTable


@dataclass(frozen=True)
class SymbolTable:
    """A public symbol table. The symbols are in ``tables/NAME.txt``, in the order of their ids.

    Attributes:
        name: the name for ``--symbols``.
        made_for: the systems whose models use these ids.
        source: the publication of the ids.
        licence: the licence of the source.
        pad: the padding symbol.
        unk, start, end, blank: the symbols for unknown symbols, for the ends of utterances, and for blanks.
        ends: whether the system adds the start and end symbols to every utterance.
        blanks: the system's placement of blanks, or None.
        characters: texts are split into single characters, although the table has longer symbols.
        decomposed: the system decomposes texts (NFD) before lookup.
        heteronyms: the system reads words with two pronunciations by the words around them.
        preparation: what the system does to espeak-ng's phones before it looks up ids.
    """

    name: str
    made_for: str
    source: str
    licence: str
    pad: str
    unk: str | None = None
    start: str | None = None
    end: str | None = None
    blank: str | None = None
    ends: bool = False
    blanks: Blanks | None = None
    characters: bool = False
    decomposed: bool = False
    heteronyms: bool = False
    preparation: Preparation = AS_READ

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols, in the order of their ids."""
        file = importlib.resources.files(__package__).joinpath("tables", f"{self.name}.txt")
        return parse_symbols(file.read_bytes(), f"{self.name}.txt")


def _as_parakeet(name: str, made_for: str, source: str, licence: str) -> SymbolTable:
    """Return a table with Parakeet's symbols for padding, unknown symbols and the ends of utterances."""
    return SymbolTable(name, made_for, source, licence, pad="<pad>", unk="<unk>", start="<s>", end="</s>")


_TABLES: Final = (
    SymbolTable(
        "styletts2",
        "StyleTTS2; the default for English",
        "https://github.com/yl4579/StyleTTS2 5cedc71, text_utils.py",
        "MIT",
        pad="$",
    ),
    SymbolTable(
        "espeak",
        "every language of espeak-ng; StyleTTS2's 178 symbols first",
        "conformance/espeak_symbols.py, from the phoneme tables of espeak-ng 1.52.0",
        "Apache-2.0",
        pad="$",
        heteronyms=True,
    ),
    SymbolTable(
        "vits",
        "VITS, Matcha-TTS",
        "https://github.com/jaywalnut310/vits 2e561ba, text/symbols.py; "
        "https://github.com/shivammehta25/Matcha-TTS 108906c",
        "MIT",
        pad="_",
        blank="_",
        blanks="around",
    ),
    SymbolTable(
        "piper",
        "Piper; characters are decomposed (NFD)",
        "https://github.com/OHF-Voice/piper1-gpl b275826, src/piper/phoneme_ids.py",
        "GPL-3.0-or-later (the program)",
        pad="_",
        start="^",
        end="$",
        blank="_",
        ends=True,
        blanks="between",
        characters=True,
        decomposed=True,
        preparation=PIPER,
    ),
    SymbolTable(
        "kokoro",
        "Kokoro-82M; ids that it does not use are <unused-N>",
        "https://huggingface.co/hexgrad/Kokoro-82M, config.json, as in kokoro-onnx 0.6.1",
        "Apache-2.0",
        pad="$",
        start="$",
        end="$",
        ends=True,
        heteronyms=True,
        preparation=KOKORO,
    ),
    SymbolTable(
        "coqui",
        "Coqui TTS to 0.22: models of IPA phonemes",
        "https://github.com/coqui-ai/TTS 0.22.0 (dbf1a08), TTS/tts/utils/text/characters.py (IPAPhonemes)",
        "MPL-2.0",
        pad="<PAD>",
        start="<BOS>",
        end="<EOS>",
        blank="<BLNK>",
        preparation=COQUI,
    ),
    SymbolTable(
        "coqui-vits",
        "Coqui TTS to 0.22: VITS",
        "https://github.com/coqui-ai/TTS 0.22.0 (dbf1a08), TTS/tts/models/vits.py (VitsCharacters)",
        "MPL-2.0",
        pad="<PAD>",
        blank="<BLNK>",
        blanks="around",
        preparation=COQUI,
    ),
    SymbolTable(
        "coqui-idiap",
        "Coqui TTS as Idiap maintains it, with one symbol more since November 2024: models of IPA phonemes",
        "https://github.com/idiap/coqui-ai-TTS 0.27.2, TTS/tts/utils/text/characters.py (IPAPhonemes)",
        "MPL-2.0",
        pad="<PAD>",
        start="<BOS>",
        end="<EOS>",
        blank="<BLNK>",
        preparation=COQUI,
    ),
    SymbolTable(
        "coqui-idiap-vits",
        "Coqui TTS as Idiap maintains it, with one symbol more since November 2024: VITS",
        "https://github.com/idiap/coqui-ai-TTS 0.27.2, TTS/tts/models/vits.py (VitsCharacters)",
        "MPL-2.0",
        pad="<PAD>",
        blank="<BLNK>",
        blanks="around",
        preparation=COQUI,
    ),
    SymbolTable(
        "tacotron2",
        "NVIDIA's Tacotron 2: characters, and ARPAbet with @",
        "https://github.com/NVIDIA/tacotron2 185cd24, text/symbols.py",
        "BSD-3-Clause",
        pad="_",
    ),
    SymbolTable(
        "gpt-sovits",
        "GPT-SoVITS v1: ARPAbet, pinyin initials and finals, Japanese phones",
        "https://github.com/RVC-Boss/GPT-SoVITS 48b1a01, GPT_SoVITS/text/symbols.py",
        "MIT",
        pad="_",
        unk="UNK",
    ),
    SymbolTable(
        "gpt-sovits-v2",
        "GPT-SoVITS v2 to v4: the same, Korean jamo and Cantonese",
        "https://github.com/RVC-Boss/GPT-SoVITS 48b1a01, GPT_SoVITS/text/symbols2.py",
        "MIT",
        pad="_",
        unk="UNK",
    ),
    SymbolTable(
        "nemo-arpabet",
        "NeMo's FastPitch in English: EnglishPhonemesTokenizer with stresses and characters",
        "https://github.com/NVIDIA/NeMo 8cfedd7, text_to_speech/tts_tokenizers.py, fastpitch_align_v1.05.yaml",
        "Apache-2.0",
        pad="<pad>",
        unk="<oov>",
        start=" ",
        end=" ",
        ends=True,
    ),
    SymbolTable(
        "nemo-ipa",
        "NeMo's FastPitch and VITS in English: IPATokenizer with ipa_cmudict-0.7b_nv23.01",
        "https://github.com/NVIDIA/NeMo 8cfedd7, text_to_speech/tts_tokenizers.py, fastpitch_align_ipa.yaml, vits.yaml",
        "Apache-2.0",
        pad="<pad>",
        unk="<oov>",
        start=" ",
        end=" ",
    ),
    SymbolTable(
        "f5",
        "F5-TTS: characters and pinyin with tone (Emilia_ZH_EN_pinyin)",
        "https://github.com/SWivid/F5-TTS 2ae2c9b (1.1.20), data/Emilia_ZH_EN_pinyin/vocab.txt",
        "MIT",
        pad=" ",
        unk=" ",
    ),
    SymbolTable(
        "fastspeech2",
        "ming024/FastSpeech2: characters, and ARPAbet and pinyin with @",
        "https://github.com/ming024/FastSpeech2 d4e79eb, text/symbols.py",
        "MIT",
        pad="_",
    ),
    _as_parakeet(
        "parakeet",
        "Parakeet's English: ARPAbet with stress; the default of the frontend arpabet",
        "https://github.com/PaddlePaddle/Parakeet 8705a2a, parakeet/frontend/phonectic.py (English)",
        "Apache-2.0",
    ),
    _as_parakeet(
        "parakeet-characters",
        "Parakeet's EnglishCharacter; the default of the frontend characters",
        "https://github.com/PaddlePaddle/Parakeet 8705a2a, parakeet/frontend/phonectic.py (EnglishCharacter)",
        "Apache-2.0",
    ),
    _as_parakeet(
        "mandarin",
        "Mandarin initials and finals with tone, as in AISHELL-3; the default of the frontend mandarin",
        "https://github.com/ming024/FastSpeech2 d4e79eb, text/pinyin.py, without ids of its own; in its order",
        "MIT",
    ),
    _as_parakeet(
        "mandarin-prosody",
        "the same, and the prosody marks #1 to #4 of Baker's corpus",
        "https://github.com/ming024/FastSpeech2 d4e79eb, text/pinyin.py, without ids of its own; in its order",
        "MIT",
    ),
    _as_parakeet(
        "mandarin-pinyin",
        "Mandarin syllables with tone; the default of the frontend mandarin-pinyin",
        "https://github.com/ming024/FastSpeech2 d4e79eb, lexicon/pinyin-lexicon-r.txt, without ids of its own; sorted",
        "MIT",
    ),
    _as_parakeet(
        "japanese",
        "Open JTalk's phones and marks; the default of the frontend japanese",
        "https://open-jtalk.sourceforge.net, phones of pyopenjtalk-plus 0.4.1's labels, without ids of its own; sorted",
        "BSD-3-Clause",
    ),
    SymbolTable(
        "japanese-prosody",
        "the same phones with ESPnet's prosody marks; the default of the frontend japanese-prosody",
        "https://github.com/espnet/espnet 202412, pyopenjtalk_prosody, whose ids each recipe counts anew; sorted",
        "Apache-2.0",
        pad="<pad>",
        unk="<unk>",
    ),
    _as_parakeet(
        "korean",
        "Hangul decomposed into jamo, and marks; the default of the frontend korean",
        "https://www.unicode.org/charts/PDF/U1100.pdf, as in Unicode 5.2 to 16, without ids; in its order",
        "Unicode-3.0",
    ),
    SymbolTable(
        "paddlespeech-zh",
        "PaddleSpeech: FastSpeech 2 on Baker (CSMSC); without y and w before finals, and with erhua in the final",
        "https://github.com/PaddlePaddle/PaddleSpeech 969f339, examples/other/mfa, get_input_token; on Baker's pinyin",
        "Apache-2.0",
        pad="<pad>",
        unk="<unk>",
        end="<eos>",
    ),
    SymbolTable(
        "mfa-arpa",
        "phones of the Montreal Forced Aligner's english_us_arpa; it has no ids, so they are in sorted order",
        "https://mfa-models.readthedocs.io, dictionary English (US) ARPA v3.0.0",
        "CC BY 4.0",
        pad="<pad>",
    ),
    SymbolTable(
        "espnet-g2p",
        "ESPnet: LJ Speech with g2p_en_no_space (JETS)",
        "https://huggingface.co/imdanboy/jets, token_list of config.yaml (ESPnet 202204)",
        "CC BY 4.0",
        pad="<blank>",
        unk="<unk>",
        start="<sos/eos>",
        end="<sos/eos>",
    ),
)
TABLES: Final[Mapping[str, SymbolTable]] = {table.name: table for table in _TABLES}
"""The named tables."""


def get_table(name: str) -> SymbolTable:
    """Return a named table.

    Raises:
        ConfigurationError: there is no table of that name.
    """
    if name not in TABLES:
        raise ConfigurationError(f"symbols: expected one of {', '.join(TABLES)}, found {name!r}")
    return TABLES[name]


def tables_with(symbols: Iterable[str]) -> list[str]:
    """Return the names of the tables that contain all of these symbols."""
    required = set(symbols)
    return [table.name for table in _TABLES if required.issubset(table.symbols)]


AUTO: Final = "auto"
"""The value for collecting the symbols of the corpus."""


def choose_symbols(value: str, folder: Path = Path()) -> str | tuple[str, ...] | VoiceTable:
    """Return the name of a table or ``"auto"`` unchanged, and the symbols or the voice's table in a file otherwise.

    Use ``./NAME`` for a file that has the name of a table.

    Args:
        folder: the folder of a relative path.

    Raises:
        ConfigurationError: the value is neither a table nor a file, or the file is not a table.
    """
    if value == AUTO or value in TABLES:
        return value
    path = folder / value
    if not os.path.exists(path):  # noqa: PTH110 (Path.exists raises for a name that is too long)
        near = difflib.get_close_matches(value.lower(), (*TABLES, AUTO), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the tables are {', '.join(TABLES)}"
        raise ConfigurationError(f"symbols: {value}: not a table, a file or 'auto'; {hint}")
    symbols = read_symbols(path)
    if isinstance(symbols, VoiceTable):
        return symbols
    if path.suffix == ".py":
        # A system's own list: a repeated symbol has its later id there too, and without one all ids behind it shift.
        return symbols
    # StyleTTS2's and VITS's tables contain the apostrophe twice, which is allowed in copies of them.
    public = (table.symbols for table in TABLES.values())
    n_public = max((len(table) for table in public if symbols[: len(table)] == table), default=0)
    check_unique(symbols, path.name, n_public)
    return symbols
