"""The configuration of a voice, of Piper or Kokoro, as a symbol table, and what systems do to texts and phones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, get_args

from tts_prep.errors import ConfigurationError
from tts_prep.preprocess.text.symbols import Blanks, Preparation, RecordedTable, Steps, Table

_MOST_IDS: Final = 100_000
_LONGEST_SYMBOL: Final = 100
"""The bounds of a table: the greatest id, and the characters of a symbol."""

_BEGIN, _END, _PAD = "^", "$", "_"
"""Piper's symbols for the ends and for padding and blanks, as in ``const.py`` of OHF-Voice/piper1-gpl b275826."""

_PINYIN: Final = "pinyin"
_PHONEME_TYPES: Final = ("espeak", "text", _PINYIN, "hebrew", "japanese", "thai")
_DECOMPOSED: Final = ("espeak", "text")
"""Piper's kinds of phonemes, and those that it decomposes (NFD)."""

_GROUP_ENDS: Final = (*"12345", *"。？！.?!—…、，：；,:; ")
"""The symbols of pinyin after which Piper puts a blank: ``GROUP_END_PHONEMES`` of its ``phonemize_chinese.py``."""


@dataclass(frozen=True)
class VoiceTable(Table, RecordedTable):
    """The table of a voice, with what its system does around the ids.

    Attributes:
        symbols: the symbols in the order of ids; ids without a symbol are ``<unused-N>``.
        pad, start, end, blank: special symbols; None if the system has none.
        ends, blanks: whether the system adds start and end symbols, and where it puts blanks.
        decomposed: the system decomposes texts (NFD) before lookup.
        characters: texts are split into single characters, except ``clusters``.
        clusters: symbols of several characters that are found in texts all the same.
        aliases: pairs of another symbol for an id, and the one in ``symbols``.
        group_ends: the symbols after which blanks come with ``blanks="groups"``.
    """

    symbols: tuple[str, ...]
    pad: str
    start: str | None = None
    end: str | None = None
    blank: str | None = None
    ends: bool = False
    blanks: Blanks | None = None
    decomposed: bool = False
    characters: bool = True
    clusters: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    group_ends: tuple[str, ...] = ()

    unk = None

    @property
    def heteronyms(self) -> bool:
        """Whether the system chooses between two pronunciations: Kokoro does, Piper, which has blanks, does not."""
        return self.blank is None

    @property
    def preparation(self) -> Preparation:
        """What its system does to espeak-ng's phones."""
        return KOKORO if self.blank is None else PIPER

    def as_dict(self) -> dict[str, Any]:
        """Return the table as in the configuration of a store."""
        return {
            name: [list(item) if isinstance(item, tuple) else item for item in value]
            if isinstance(value, tuple)
            else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> VoiceTable:
        """Parse the result of `as_dict`.

        Raises:
            TypeError, ValueError: it is something else.
        """
        if not {field.name for field in fields(cls)} >= set(value):
            raise ValueError(f"unknown settings of a table: {', '.join(map(str, value))[:100]}")
        lists = {"symbols": tuple, "clusters": tuple, "group_ends": tuple}
        made: dict[str, Any] = {**value, **{name: kind(value.get(name, ())) for name, kind in lists.items()}}
        made["aliases"] = tuple((str(a), str(b)) for a, b in value.get("aliases", ()))
        if made.get("blanks") not in (None, *get_args(Blanks)):
            raise ValueError(f"unknown placement of blanks: {made['blanks']!r}")
        return cls(**made)


def read_voice(content: bytes, name: str) -> VoiceTable:
    """Parse the configuration of a voice: Piper's, with ``phoneme_id_map``, or Kokoro's, with ``vocab``.

    Args:
        name: the name of the file, for messages.

    Raises:
        ConfigurationError: it is not one, or has ids that no table can have.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = content.decode("utf-8-sig")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Errors of JSON, and integers of thousands of digits.
        raise ConfigurationError(f"symbols: {name}: not JSON ({error})") from error
    tables: Mapping[str, Any] = value if isinstance(value, dict) else {}
    for key, made in (("phoneme_id_map", _of_piper), ("vocab", _of_kokoro)):
        table = tables.get(key)
        if isinstance(table, dict) and table:
            return made(tables, *_by_id(table, name), name)
    raise ConfigurationError(
        f"symbols: {name}: expected the configuration of a voice, with 'phoneme_id_map' (Piper) or 'vocab' (Kokoro)"
    )


def _by_id(table: Mapping[str, object], name: str) -> tuple[dict[int, str], tuple[tuple[str, str], ...]]:
    """Return the first symbol of each id, and the other symbols with the first one of their id."""
    ids: dict[int, str] = {}
    aliases: list[tuple[str, str]] = []
    for symbol, number in table.items():
        # Piper has lists of one id.
        only = number[0] if isinstance(number, list) and len(number) == 1 else number
        if type(only) is not int or not 0 <= only < _MOST_IDS or not 0 < len(symbol) <= _LONGEST_SYMBOL:
            expected = f"expected one id below {_MOST_IDS:,}, found {str(number)[:20]}"
            raise ConfigurationError(f"symbols: {name}: {symbol[:20]!r}: {expected}")
        if only in ids:
            aliases.append((symbol, ids[only]))
        else:
            ids[only] = symbol
    return ids, tuple(aliases)


def _symbols(ids: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(ids.get(number, f"<unused-{number}>") for number in range(max(ids) + 1))


def _of_piper(
    voice: Mapping[str, Any], ids: Mapping[int, str], aliases: tuple[tuple[str, str], ...], name: str
) -> VoiceTable:
    """Return the table of a voice of Piper, whose ids are those of its ``phonemes_to_ids``."""
    kind = voice.get("phoneme_type", "espeak")
    if kind not in _PHONEME_TYPES:
        raise ConfigurationError(
            f"symbols: {name}: phoneme_type: expected one of {', '.join(_PHONEME_TYPES)}, found {str(kind)[:40]!r}"
        )
    symbols = _symbols(ids)
    known = {*symbols, *(alias for alias, _ in aliases)}
    missing = [symbol for symbol in (_PAD, _BEGIN, _END) if symbol not in known]
    if missing:
        raise ConfigurationError(
            f"symbols: {name}: phoneme_id_map: expected {_PAD!r}, {_BEGIN!r} and {_END!r}, {missing[0]!r} is missing"
        )
    is_pinyin = kind == _PINYIN
    clusters = _clusters(voice.get("vowel_clusters") or [], known, name)
    return VoiceTable(
        symbols,
        pad=_PAD,
        start=_BEGIN,
        end=_END,
        blank=_PAD,
        ends=True,
        blanks="groups" if is_pinyin else "between",
        decomposed=kind in _DECOMPOSED,
        characters=not is_pinyin,
        clusters=clusters,
        aliases=aliases,
        group_ends=tuple(symbol for symbol in _GROUP_ENDS if symbol in known) if is_pinyin else (),
    )


def _clusters(value: object, known: set[str], name: str) -> tuple[str, ...]:
    """Return the diphthongs that Piper joins, which are pairs and longer lists of its symbols."""
    where = f"symbols: {name}: vowel_clusters"
    if not isinstance(value, list) or not all(isinstance(item, list) for item in value):
        raise ConfigurationError(f"{where}: expected a list of lists of symbols, found {str(value)[:40]}")
    found = []
    for item in value:
        joined = "".join(part for part in item if isinstance(part, str))
        if joined not in known or len(item) < 2:
            raise ConfigurationError(f"{where}: {str(item)[:40]} is no symbol of phoneme_id_map")
        found.append(joined)
    return tuple(dict.fromkeys(found))


def _of_kokoro(
    _voice: Mapping[str, Any], ids: Mapping[int, str], aliases: tuple[tuple[str, str], ...], _name: str
) -> VoiceTable:
    """Return the table of a voice of Kokoro, which has the id 0 at both ends (``forward`` of its ``KModel``)."""
    symbols = _symbols(ids)
    return VoiceTable(symbols, pad=symbols[0], start=symbols[0], end=symbols[0], ends=True, aliases=aliases)


def _steps(*pairs: tuple[str, str], words: str = "") -> Steps:
    """Return replacements, one after another: expressions, then pairs of words OLD=NEW."""
    plain = (word.partition("=") for word in words.split())
    return tuple((re.compile(old), new) for old, new in (*pairs, *((re.escape(old), new) for old, _, new in plain)))


# EspeakFallback and EspeakG2P of misaki/espeak.py (fba1236), in their order; its "^" is the tie here.
_MISAKI_ENGLISH: Final = (
    *_steps(
        words="ʔˌn\u0329=ʔn ʔn\u0329=ʔn a͡ɪ=I a͡ʊ=W d͡ʒ=ʤ e͡ɪ=A t͡ʃ=ʧ ɔ͡ɪ=Y ə͡l=ᵊl ʲo=jo ʲə=jə e=A ʲ= ɚ=əɹ r=ɹ "
        "x=k ç=k ɐ=ə ɬ=l \u0303="
    ),
    *_steps((r"(\S)\u0329", r"ᵊ\1"), ("\u0329", "")),
)
_MISAKI_LAST: Final = _steps(words="o=ɔ ɾ=T ʔ=t «=( »=)")
# It writes brackets as these while espeak-ng reads.
_MISAKI_BRACKETS: Final = _steps(words="«=“ »=” (=« )=»")

KOKORO: Final = Preparation(
    about="misaki's replacements of espeak-ng's phones (`EspeakFallback`, and `EspeakG2P` for other languages than "
    "English, Japanese and Chinese); round brackets are kept",
    ours="misaki reads English by its dictionary and a tagger, and word by word what is not in it; here espeak-ng "
    "reads all words, in their sentences, and straight quotes stay straight",
    text=_MISAKI_BRACKETS,
    phones={
        "en": (*_MISAKI_ENGLISH, *_steps(words="o͡ʊ=O ɜːɹ=ɜɹ ɜː=ɜɹ ɪə=iə ː="), *_MISAKI_LAST),
        # Its e͡ə=ɛː is found in no text, because the e is A by then.
        "en-gb": (*_MISAKI_ENGLISH, *_steps(words="iə=ɪə ə͡ʊ=Q"), *_MISAKI_LAST),
        "ja": (),
        "cmn": (),
        "": _steps(words="a͡ɪ=I a͡ʊ=W d͡z=ʣ d͡ʒ=ʤ e͡ɪ=A o͡ʊ=O s͡s=S t͡s=ʦ t͡ʃ=ʧ ɔ͡ɪ=Y ə͡ʊ=Q -= «=( »=)"),
    },
    tied=True,
)
PIPER: Final = Preparation(
    about="of marks, `. , : ; ! ?` are left, as espeak-ng's ends of clauses; a dash between spaces is `;`",
    ours="Piper's build of espeak-ng is a later one, which writes ʲ between vowels; it reads clause by clause, and "
    "names no mark in an abbreviation",
    text=_steps(('["«»“”¡¿]', "")),
    phones={"": _steps((r"(?<=[.,:;!?]) — | — (?=[.,:;!?]|$)", " "), (" — ", "; "), (" *[—…] *", " "))},
)
COQUI: Final = Preparation(
    about='`; :` become commas, a hyphen a space, and `< > ( ) [ ] "` are removed (`replace_symbols` and '
    "`remove_aux_symbols` of all its cleaners for phonemes)",
    ours="numbers and abbreviations; cleaners that lower the case are not followed",
    text=_steps(("[;:]", ","), ("-", " "), (r'[<>()\[\]"]+', ""), (r"\s+", " ")),
)
