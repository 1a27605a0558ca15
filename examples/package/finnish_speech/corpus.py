"""A corpus with one list: recording, speaker, room, rating and text, separated by tabs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tts_prep import CorpusError
from tts_prep.preprocess import Corpus, Failure, Option, SourceUtterance


def read_finnish(
    root: Path, rooms: Sequence[str] = (), min_rating: int = 0, report: Callable[[str], None] = lambda _: None
) -> Iterator[SourceUtterance | Failure]:
    """Yield the utterances of ``list.tsv``.

    Args:
        rooms: rooms to use; default: all.
        min_rating: the lowest rating to use.
        report: called with one line that says what is left out.
    """
    path = root / "list.tsv"
    if not path.is_file():
        raise CorpusError(f"{path}: no such file; expected one recording per line")
    rows = [(f"list.tsv:{number}", line) for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    left_out = 0
    for where, line in rows:
        fields = line.split("\t")
        if len(fields) != 5 or not fields[3].isdigit():
            reason = f"{where}: expected recording, speaker, room, rating and text, found {line[:60]!r}"
            yield Failure(fields[0], where, "corpus", reason)
            continue
        name, speaker, room, rating, text = fields
        if (rooms and room not in rooms) or int(rating) < min_rating:
            left_out += 1
            continue
        meta = {"room": room, "rating": float(rating)}
        yield SourceUtterance(name, text, f"{name}.wav", where, speaker, meta)
    if left_out:
        report(f"left out by room or rating: {left_out} of {len(rows)} rows")


CORPUS = Corpus(
    "finnish",
    read_finnish,
    r"""Make STORE of the Finnish corpus at CORPUS.

    CORPUS contains list.tsv: recording, speaker, room, rating and text, separated by tabs.

    \b
    Example:
      tts-prep finnish corpus store --room studio --min-rating 4
    """,
    options=(
        Option("rooms", "Use only this room; may be repeated.", flags=("--room",), metavar="NAME", repeated=True),
        Option("min_rating", "Leave out recordings with a lower rating.", int, metavar="N"),
    ),
    languages=("fi",),
    root="The folder of the recordings.  [default: CORPUS]",
    layout=(("list.tsv",),),
)
