"""SpeeChain's tables of ``id value`` lines, which refer to the rows of a store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tts_prep.errors import ConfigurationError
from tts_prep.export.folder import ExportFolder
from tts_prep.export.layout import Layout
from tts_prep.format.layout import FIXED_COLUMNS
from tts_prep.loader import UtteranceDataset
from tts_prep.loader.dataset.columns import CategoryValues, TextValues
from tts_prep.recipes.kaldi_files import WAVEFORM, store_entry

_NAMES = {"speaker": "spk", "gender": "gen"}


def export_speechain(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the files of SpeeChain's recipes without arrays.

    Lines are sorted by id. The path of the store is relative to the folder, so that both can be moved together. A
    column whose file would have the name of another file, such as ``feat_len``, gets ``idx2corpus_feat_len``.

    Raises:
        ConfigurationError: an id contains white space.
    """
    ids = list(dataset.id)
    for uid in ids:
        if not uid or any(character.isspace() for character in uid):
            raise ConfigurationError(
                f"{dataset.path}: the id {uid!r} contains white space, which files of 'id value' lines do not allow"
            )
    base = Path(os.path.relpath(dataset.path, folder.place))
    entries = [store_entry(base, row) for row in range(len(ids))]
    for name, values in _tables(dataset, entries).items():
        lines = sorted(zip(ids, values, strict=True))
        folder.write(name, "".join(f"{uid} {value}\n" for uid, value in lines))


def _tables(dataset: UtteranceDataset, entries: Sequence[str]) -> dict[str, Iterable[str]]:
    """Return the values of each file.

    Args:
        entries: the place of each mel in the store.
    """
    tables: dict[str, Iterable[str]] = {
        "idx2feat": entries,
        "idx2feat_len": (str(n) for n in dataset.n_frames.tolist()),
        "idx2text": (" ".join(text.split()) for text in dataset.text),
        "idx2phoneme_text": (" ".join(text.split()) for text in dataset.phoneme_text),
    }
    if dataset.metadata.has_waveform:
        tables["idx2wav"] = (entry + WAVEFORM for entry in entries)
        tables["idx2wav_len"] = (str(n) for n in dataset.n_samples.tolist())
    columns = [name for name in dataset.columns if name == "speaker" or name not in FIXED_COLUMNS]
    # The columns with names of SpeeChain first: a column "spk" may not take the name of the speakers' file.
    for name in sorted(columns, key=lambda name: name not in _NAMES):
        table = f"idx2{_NAMES.get(name, name)}"
        while table in tables:
            table = f"idx2corpus_{table.removeprefix('idx2')}"
        tables[table] = _values(dataset, name)
    return tables


def _values(dataset: UtteranceDataset, name: str) -> Iterator[str]:
    values = dataset.column(name)
    if isinstance(values, CategoryValues | TextValues):
        return (" ".join(value.split()) for value in values)
    return (str(value) for value in values)


LAYOUT: Final = Layout(
    "speechain",
    export_speechain,
    "`idx2feat`, `idx2wav`, `idx2feat_len`, `idx2wav_len`, `idx2text`, `idx2phoneme_text`, `idx2spk`, `idx2gen`, "
    "`idx2COLUMN`; features and recordings stay in the store: a value is `STORE:ROW`",
    "SpeeChain's configurations, by `build_iterators` of `tts_prep.recipes`",
)
