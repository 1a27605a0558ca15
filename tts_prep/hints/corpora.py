"""What a folder or file probably is, where a reader does not recognize it."""

from pathlib import Path

from tts_prep.format.files.paths import is_archive, is_store, store_around
from tts_prep.format.layout import SHARDS
from tts_prep.preprocess.corpora.registry import all_corpora, get_corpus


def likely_commands(folder: Path) -> list[str]:
    """Return the commands that match the layout of a folder; [] if it does not exist, or is a store."""
    # A store has a .jsonl file too.
    if not folder.is_dir() or (folder / SHARDS).is_dir():
        return []
    return [
        corpus.name
        for corpus in all_corpora()
        if any(all(_matches(folder, pattern) for pattern in layout) for layout in corpus.layout)
    ]


def _matches(folder: Path, pattern: str) -> bool:
    try:
        return any(folder.glob(pattern))
    except OSError:
        # A folder below that was removed, or cannot be read.
        return False


def what_it_is(reader: str, corpus: Path) -> str:
    """Return a hint about a path that a reader does not recognize, or an empty string."""
    record = get_corpus(reader)
    needs_folder = record.is_folder
    if is_store(corpus):
        return f"{corpus} is a store that tts-prep has made; give the folder of the recordings and texts"
    if store := store_around(corpus):
        return f"{corpus} is a part of the store {store}; give the folder of the recordings and texts"
    if corpus.is_file():
        if is_archive(corpus):
            return f"{corpus} is an archive: unpack it, and give the folder"
        known = needs_folder and reader in likely_commands(corpus.parent)
        return f"{corpus} is a file: give its folder {corpus.parent}" if known else ""
    if needs_folder and reader in likely_commands(corpus.absolute().parent):
        return f"give {corpus.parent}"
    commands = [command for command in likely_commands(corpus) if command != reader]
    if commands:
        return f"{corpus} looks like a corpus for 'tts-prep {commands[0]}'"
    if not needs_folder and not record.sources and corpus.is_dir():
        return (
            f"{corpus} is a folder, expected a list with one recording per line; 'tts-prep recordings' reads a folder"
        )
    return ""
