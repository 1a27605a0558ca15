"""Marks in texts that are not speech, and phones that are written in them, by one rule for all frontends."""

import html
import re
from collections.abc import Callable, Iterator
from typing import Final

from tts_prep.errors import ConfigurationError, TextError
from tts_prep.preprocess.text.frontends.frontend import MARKS, Frontend

_EVENTS: Final = (
    r"applause|background(?: noise)?|breath(?:ing|s)?|clears throat|cough(?:ing|s)?|crosstalk|inaudible|music|noise|"
    r"pause|laugh(?:ing|s|ter)?|sigh(?:ing|s)?|silence|sniff(?:s|ing)?|unintelligible|unk|s\d{1,2}|"
    r"speaker[ _]?\w{0,3}|spk\w{0,3}"
)
"""What transcripts have in square brackets that nobody says; other words in brackets are speech in many."""

_MARK: Final = re.compile(
    r"\[(?P<word>[^\[\]]{1,200})\]\((?P<link>[^()\s]{1,200})\)|\[\[(?P<phones>[^\[\]]{1,200})\]\]|"
    rf"(?P<tag></?[A-Za-z][^<>]{{0,100}}>|<\|[^<>|]{{1,100}}\|>|\[(?:(?i:{_EVENTS}))\])|"
    r"(?P<entity>&(?:[A-Za-z]{2,10}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});)|(?P<heading>^\s*#{1,6}\s+)|"
    r"(?<![\w*_])(?P<sign>\*{1,3}|_{1,3}|`{1,3})(?=[^\s*_`])(?P<stressed>[^*_`]{1,200})(?<=\S)(?P=sign)(?![\w*_])"
)
_ANY: Final = re.compile(r"[<\[&*_`#]")
_SPEECH: Final = re.compile(r"[^\W_]")


class Marks:
    """Reads texts without their marks.

    A mark that is a symbol of the table, as ``<laugh>`` or ``[S1]`` of a user's own, is that symbol. Of others,
    ``&amp;`` is its character, words in ``**`` and links are words, and the rest is left out; each is counted.

    Args:
        frontend: reads the text between marks; phones have its notation, and are in its table.
        policy: ``remove``; ``error`` lets the text fail; ``phones`` reads misaki's ``[word](/phones/)`` and Piper's
            ``[[phones]]`` as phones.
    """

    REMOVED: Final = "marks_not_spoken"

    def __init__(self, frontend: Frontend, policy: str) -> None:
        self._frontend, self._policy = frontend, policy
        self._spaced, self._separate = (bool(getattr(frontend, name, False)) for name in ("spaced", "separate"))
        own = [s for s in frontend.vocab.symbols if len(s) > 2 and s[0] + s[-1] in ("<>", "[]", "()")]
        own = [symbol for symbol in own if symbol not in frontend.vocab.specials]
        self._own = re.compile("|".join(map(re.escape, sorted(own, key=len, reverse=True)))) if own else None

    def read(
        self, text: str, read: Callable[[str], tuple[str, str, tuple[tuple[str, str], ...]]]
    ) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """Return what ``read`` returns for a text without marks: its normalized text, phonemes and remarks.

        Raises:
            TextError: as ``read``; a mark, if they are errors; or phones that the table does not have.
        """
        if not _ANY.search(text) and not self._own:
            return read(text)
        counted: list[tuple[str, str]] = []
        parts: list[list[str]] = [["", ""]]
        for written, phones in self._parts(text, counted):
            if phones:
                parts += [[written, phones], ["", ""]]
            else:
                parts[-1][0] += written
        if counted and self._policy == "error":
            raise TextError(
                f"a mark that is not speech, {counted[0][1]!r}, in {text[:60]!r}; --marks remove leaves it out"
            )
        if len(parts) == 1:
            spoken, said, remarks = read(parts[0][0])
            return spoken, said, (*counted, *remarks)
        spoken, said, ends_in_space = "", "", False
        for written, phones in parts:
            plain = written
            if not phones and _SPEECH.search(written):
                plain, phones, remarks = read(written.strip())
                counted += remarks
            elif not phones:
                # Marks of a sentence alone are nothing to speak.
                phones = "".join(sign for sign in written.strip() if sign in self._frontend.vocab)
            apart = written[:1].isspace() or ends_in_space or (self._separate and written[:1] in MARKS)
            space = " " if spoken and phones and apart else ""
            spoken += space + plain
            between = (" ▁ " if space and " " in self._frontend.vocab else " ") if self._spaced and said else space
            said += (between if phones else "") + phones
            ends_in_space = written[-1:].isspace()
        return spoken, said, tuple(counted)

    def _parts(self, text: str, counted: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield pieces of the text that are read, with "", or pieces with their phones."""
        end = 0
        for match in self._found(text):
            yield text[end : match.start()], ""
            end = match.end()
            group = match.groupdict()
            if not group:
                yield match[0], match[0]
                continue
            if self._policy == "phones" and (phones := _phones_in(group)):
                # Most runs have no phones in texts, and do without the module.
                from tts_prep.lexicon.dictionary import phones_of

                try:
                    yield group["word"] or "", phones_of(f"the mark {match[0][:60]!r}", phones, self._frontend)
                except ConfigurationError as error:
                    raise TextError(str(error)) from None
                continue
            said = html.unescape(group["entity"]) if group["entity"] else group["word"] or group["stressed"] or ""
            if said == match[0]:
                yield said, ""
                continue
            counted.append((self.REMOVED, match[0].strip()[:60]))
            yield from [(said, "")] if group["entity"] else self._parts(said, counted)
        yield text[end:], ""

    def _found(self, text: str) -> list[re.Match[str]]:
        """Return the marks of a text; those of the table go before others, and have no groups."""
        own = [*self._own.finditer(text)] if self._own else []
        inside = {place for match in own for place in range(*match.span())}
        others = [match for match in _MARK.finditer(text) if inside.isdisjoint(range(*match.span()))]
        return sorted([*own, *others], key=lambda match: match.start())


def _phones_in(group: dict[str, str | None]) -> str:
    link = group["link"] or ""
    return link[1:-1].strip() if len(link) > 2 and link[0] == link[-1] == "/" else (group["phones"] or "").strip()
