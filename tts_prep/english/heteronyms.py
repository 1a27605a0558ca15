"""Words with one spelling and two pronunciations, such as "record" and "read", chosen from the words around them.

No light tagger of parts of speech brings its model in a wheel, so these are rules. The word before decides for most
words: "the record" is a noun, "to record" a verb. Then the word after decides, then the more frequent reading.
"""

import importlib.resources
import re
from collections.abc import Iterator, Sequence
from typing import Final

from tts_prep.toml_files import word_tables

VERSION: Final = "1"
"""The version of the rules, which stores record. Increase it with every change."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BE: Final = _words("am is are was were be been being i'm you're we're they're")
_HAVE: Final = _words("have has had having i've you've we've they've")
_DETERMINERS: Final = _words(
    "a an the this these those my your his her its our their some any no every each another either neither whose"
    " such what many few several all both more most one two three four five six seven eight nine ten"
)
_BEFORE_BASE: Final = _words(
    "will would shall should can could may might must cannot do does did don't doesn't didn't won't wouldn't can't"
    " couldn't shouldn't i'll you'll he'll she'll we'll they'll it'll i'd you'd we'd they'd let's please"
)
_SINGULAR: Final = _words("he she it who which")
_PLURAL: Final = _words("i you we they people others")
_QUANTITIES: Final = _words("some many both most few several")
_OBJECTS: Final = _words("me him us them it you myself yourself himself herself itself themselves")
_CAUSATIVES: Final = _words("let make made help helped hear heard saw see watch watched")
_PREPOSITIONS: Final = _words(
    "of in on at by for with from about into through without under over between per as than like against during"
    " upon among near within toward towards after before"
)
_AFTER_NOUN: Final = _BE | _HAVE | _BEFORE_BASE | {"and", "or"}
_ADVERBS: Final = _words("not never always also often just only still even ever then soon already now")
_ADJECTIVES: Final = _words(
    "old new good great big small long short first last next other same own hot cold strong high low poor best"
    " worst better large little present whole public main full fresh very so too"
)
_ADJECTIVE_ENDINGS: Final = ("ful", "ous", "ive", "al", "ic", "able", "ible", "ary", "ish", "less", "est", "ed", "'s")
_NOT_ADVERBS: Final = _words("family only reply supply july italy ally assembly")
# "due to record sales": here "to" is a preposition.
_BEFORE_TO: Final = _words("due according contrary thanks next close prior access addition owing put")
_PAST: Final = _words(
    "yesterday ago last once was were had earlier previously already then before said came went took"
    " told gave found thought knew sat left made felt began"
)
_LINKS: Final = _BE | _words("seem seems seemed feel feels felt remain remained quite perfectly became become")
# The maximum number of words on each side, which limits the time for texts without punctuation.
_MAX_DISTANCE: Final = 40
_SENTENCE_ENDS: Final = frozenset(".?!;")
_ALONG: Final = _words("around round up through down along into its past between across")

# The pronunciation as a noun or an adjective, and the one as a verb.
_TABLE: Final = importlib.resources.files(__package__).joinpath("heteronyms.txt").read_text("utf-8")
HETERONYMS: Final[dict[str, tuple[str, str]]] = {
    word: (noun, verb) for word, noun, verb in re.findall(r"(\w+) ([^|\n]+)\|([^|\n]+)", _TABLE)
}
"""Word → the two pronunciations in ARPAbet, those of the CMU Pronouncing Dictionary."""
_USUALLY_VERBS: Final = _words("combine convert live permit produce refuse reject sow suspect transfer")
# "All members present" has the adjective, and houses are more often nouns behind a noun, as in "customs house".
_NOT_AFTER_PLURAL: Final = _words("content house present")

# Words in the same sentence that decide between two nouns.
_METAL: Final = _words(
    "pipe pipes paint pencil bullet bullets metal copper iron zinc tin ore ores mining pellets element pound pounds"
    " sheet molten melted poisoning roof"
)
_BENDING: Final = _words(
    "ship ships boat boats vessel vessels deck stern starboard torpedo torpedoed port hull took take deep low gave"
    " made audience"
)
_FISH: Final = _words("fish fishing fished caught catch river lake sea boat grilled fried")
_WEEPING: Final = _words("eye eyes cheek cheeks")
_INJURY: Final = _words("acl injury knee ligament muscle wear")
_PLACES: Final = _words("here there alone next nearby upstairs downstairs together")
_ON_AIR: Final = _words(
    "album albums broadcast concert concerts music television band audience performance performances show shows"
    " recording recordings version wire ammunition performed streamed"
)
_SMALL: Final = _words("detail details particles amounts amount quantities quantity traces fragments")


def choose_pronunciations(tokens: Sequence[str]) -> dict[int, str]:
    """Return index → pronunciation of the words of `HETERONYMS` in a text.

    Args:
        tokens: the words and marks of the text in lower case.
    """
    chosen = {}
    for i in [i for i, token in enumerate(tokens) if token in HETERONYMS]:
        first, last = max(0, i - _MAX_DISTANCE), min(len(tokens), i + _MAX_DISTANCE)
        start = next((j + 1 for j in range(i - 1, first - 1, -1) if tokens[j] in _SENTENCE_ENDS), first)
        end = next((j for j in range(i, last) if tokens[j] in _SENTENCE_ENDS), last)
        chosen[i] = _pronounce(tokens[start:end], i - start)
    return chosen


_WORD, _ASCII_WORD = re.compile(r"\w+"), re.compile(r"(?a:\w+)")
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s\"'()]")

_TABLES: Final = word_tables(__package__)
# What espeak-ng reads with a pronunciation at the end, if not "the" and a noun, "to" and a verb, "he" and a verb with
# "s"; behind it what is replaced there: espeak-ng has no noun "advocate", for example.
_FIRST: Final = _TABLES["heteronyms_first"]
_SECOND: Final = _TABLES["heteronyms_second"]


def spellings(text: str) -> Iterator[tuple[int, int, tuple[str, str], int]]:
    """Yield start and stop of each of these words in a text, texts that end with its pronunciations, and which holds.

    Behind a text may be ``/OLD/NEW``, a part of its phonemes that is replaced, with ties. The texts are for espeak-ng,
    whose phonemes depend on the language, such as British English.
    """
    text = text.lower().replace("’", "'")
    if HETERONYMS.keys().isdisjoint((_ASCII_WORD if text.isascii() else _WORD).findall(text)):
        return
    tokens = [*_TOKEN.finditer(text)]
    for i, phones in choose_pronunciations([token[0] for token in tokens]).items():
        word = tokens[i][0]
        verb = f"he {word}" if word.endswith("s") and not word.endswith("ss") else f"to {word}"
        both = _FIRST.get(word, f"the {word}"), _SECOND.get(word, verb)
        yield *tokens[i].span(), both, HETERONYMS[word].index(phones)


def _pronounce(tokens: Sequence[str], i: int) -> str:
    word = tokens[i]
    noun, verb = HETERONYMS[word]
    return verb if _is_second(word, _Context(tokens, i)) else noun


class _Context:
    """The context of a word."""

    def __init__(self, tokens: Sequence[str], i: int) -> None:
        self.tokens = tokens
        self.words = frozenset(tokens)
        self.next = tokens[i + 1] if i + 1 < len(tokens) else ""
        at = i - 1
        while at >= 0 and (
            _is_adverb(tokens[at]) or (at > 0 and tokens[at] in ("all", "both", "each") and tokens[at - 1] in _PLURAL)
        ):
            at -= 1
        self.after_adverb = at < i - 1
        self.at, self.before = at, tokens[at] if at >= 0 else ""
        self.starts = not self.before[:1].isalnum()
        self.form = self._form(tokens[i])

    def _form(self, word: str) -> str:
        """Return ``noun``, ``base`` (an infinitive), ``finite``, ``participle``, ``noun?``, or nothing."""
        before, plural = self.before, _is_plural(word)
        second = self.tokens[self.at - 1] if self.at > 0 else ""
        verb_follows = word != "house" and (self.next in _DETERMINERS or self.next in _OBJECTS)
        if self.starts:
            return "base" if verb_follows and not plural else ""
        if before == "to":
            return "noun" if plural or second in _BEFORE_TO else "base"
        if before in _BEFORE_BASE and not plural:
            return "base"
        if before in _SINGULAR or before in _PLURAL:
            return "base" if second in _BEFORE_BASE or second in _CAUSATIVES else "finite"
        if before in ("her", "him", "them", "us", "me") and second in _CAUSATIVES:
            return "base"
        if before in ("and", "or") and self.at > 1 and not plural:
            third = self.tokens[self.at - 2]
            if third == "to" or third in _BEFORE_BASE:
                return "base"
        if before in _QUANTITIES and verb_follows:
            return "finite"
        if before == "that" and word in _USUALLY_VERBS:
            return ""
        if before == "that":
            return "finite" if verb_follows or self.next in _PREPOSITIONS or self.next == "to" else "noun"
        if before in _HAVE or before in _BE:
            return "participle"
        if before in _DETERMINERS or before in _PREPOSITIONS or before in _ADJECTIVES:
            return "noun"
        if verb_follows:
            return "finite"
        if before.endswith(_ADJECTIVE_ENDINGS):
            return "noun"
        if _is_plural(before) and not plural and word not in _NOT_AFTER_PLURAL:
            return "" if self.next in _AFTER_NOUN else "finite"
        return "noun?" if second in _DETERMINERS or self.tokens[max(0, self.at - 2)] in _DETERMINERS else ""


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s"))


def _is_adverb(token: str) -> bool:
    return token in _ADVERBS or (len(token) > 4 and token.endswith("ly") and token not in _NOT_ADVERBS)


def _is_second(word: str, context: _Context) -> bool:
    """Return whether the second pronunciation of a word applies."""
    form, following = context.form, context.next
    verb = form in ("base", "finite")
    if word == "read":
        return _is_present(context)
    if word == "wound":
        return form in ("finite", "participle") or (form != "noun" and following in _ALONG)
    if word == "dove":
        return form == "finite" or following in ("into", "under", "down", "off", "in")
    if word == "bass":
        return not context.words.isdisjoint(_FISH)
    if word == "bow":
        return verb or not context.words.isdisjoint(_BENDING)
    if word == "minute":
        if context.before == "of" and following[:1].isalnum() and following not in _PREPOSITIONS:
            return True
        return following in _SMALL or (form == "participle" and not following[:1].isalnum())
    if word == "content":
        return verb or context.before in _LINKS or following in ("with", "to")
    if word == "lead":
        if following in ("role", "roles", "guitar", "vocals", "singer", "actor"):
            return True
        return verb or (context.before not in _PREPOSITIONS and context.words.isdisjoint(_METAL))
    if word == "subject" and following == "to":
        return form == "base"
    if word == "tear" and not context.words.isdisjoint(_INJURY):
        return True
    if word == "tear":
        return verb or (
            following in ("in", "up", "out", "down", "apart", "gas", "off") and context.words.isdisjoint(_WEEPING)
        )
    if word == "lives":
        return verb or (form != "noun" and (following in _PREPOSITIONS or following in _PLACES))
    if word == "uses":
        return verb or (form != "noun" and following[:1].isalnum() and following not in _PREPOSITIONS | _AFTER_NOUN)
    if word == "live":
        return verb or (form not in ("noun", "participle") and context.words.isdisjoint(_ON_AIR))
    if word == "close" and following in ("to", "by"):
        return form == "base"
    if word in ("wind", "winds") and following in _ALONG:
        return form != "noun" or word == "winds"
    return verb or (not form and word in _USUALLY_VERBS)


def _is_present(context: _Context) -> bool:
    """Return whether "read" is the present tense, the infinitive or a noun."""
    if context.starts:
        # "Read the letter", but "Read by the light" and "he came in, read the letter and left".
        return context.at < 0 and context.next not in ("by", "in", "at", "")
    if context.form == "base":
        return True
    if context.form == "noun":
        return context.before in _DETERMINERS and not context.after_adverb
    past = bool(context.words & _PAST) or any(len(token) > 4 and token.endswith("ed") for token in context.tokens)
    plural = context.before in _PLURAL or _is_plural(context.before)
    return context.form != "participle" and plural and not past
