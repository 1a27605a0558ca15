"""The files that ming024/FastSpeech2's ``preprocess.py`` writes and its ``Dataset`` reads."""

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import export_rows, npy_bytes, unique_names
from tts_prep.loader import UtteranceDataset
from tts_prep.recipes.fastspeech2 import FastSpeech2Dataset

_SPLIT = "split"
_VALIDATION = re.compile(r"val|dev|test", re.IGNORECASE)
_MAX_VALIDATION = 512
"""ming024's ``val_size``."""
_NOT_IN_BRACES = re.compile(r"[\s{}|]")


def export_fastspeech2(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``mel/``, ``pitch/``, ``energy/``, ``duration/``, and the lists.

    Arrays are ``{speaker}-{mel|pitch|energy|duration}-{name}.npy``: mel [n_frames, n_mels] float32; pitch [n_phonemes]
    float64 and energy [n_phonemes] float32, means over phones, standardized by the statistics of the store; durations
    [n_phonemes] int64.
    ``train.txt`` and ``val.txt`` have lines ``name|speaker|{phones}|text``, without the ``@`` of phones in the table.
    ``val.txt`` has the rows with a validation ``split``; without such a column, a random 5 %, at most 512.

    Raises:
        ConfigurationError: the store lacks pitch, energy or durations, or a symbol is not allowed in braces.
    """
    examples = FastSpeech2Dataset(dataset, settings="any")
    phones = _phones(dataset)
    names = dict(zip(dataset.speakers, unique_names(dataset.speakers, max_bytes=40), strict=True))
    is_validation = _validation(dataset)
    lines: dict[str, list[str]] = {"train.txt": [], "val.txt": []}
    # Dataset finds files by the name in the list, but preprocess.py truncates names at the first dot.
    for position, row in enumerate(export_rows(dataset, dots=False)):
        example = examples.get_example(position)
        speaker = names[row.utterance.speaker]
        for kind in ("mel", "pitch", "energy", "duration"):
            folder.write(f"{kind}/{speaker}-{kind}-{row.name}.npy", npy_bytes(example[kind]))
        spoken = " ".join(phones[i] for i in example["text"].tolist())
        text = " ".join(row.utterance.text.replace("|", " ").split())
        file = "val.txt" if is_validation[position] else "train.txt"
        lines[file].append(f"{row.name}|{speaker}|{{{spoken}}}|{text}\n")
    contents = {name: "".join(rows) for name, rows in lines.items()}
    contents["speakers.json"] = json.dumps({names[speaker]: code for code, speaker in enumerate(dataset.speakers)})
    contents["stats.json"] = json.dumps({name: list(found) for name, found in examples.statistics.items()})
    for name, content in contents.items():
        folder.write(name, content)


def _phones(dataset: UtteranceDataset) -> dict[int, str]:
    """Return id → phone in braces, for the symbols that occur."""
    used = np.unique(np.concatenate([utterance.phonemes for utterance in dataset])).tolist()
    phones = {i: dataset.symbols[i].removeprefix("@") for i in used}
    for phone in phones.values():
        if not phone or _NOT_IN_BRACES.search(phone):
            raise ConfigurationError(
                f"{dataset.path}: FastSpeech2's lists hold phones separated by spaces, and the symbol {phone!r} cannot "
                "be one; make the store with --symbols fastspeech2 and --frontend arpabet, or phones of an alignment"
            )
    return phones


def _validation(dataset: UtteranceDataset) -> npt.NDArray[np.bool_]:
    """Return the mask of validation utterances, [n]."""
    if _SPLIT in dataset.columns:
        values: Any = dataset.columns[_SPLIT]
        # A column that was added can hold numbers.
        found = np.array([bool(_VALIDATION.match(str(value))) for value in values])
        if found.any():
            return found
    size = min(_MAX_VALIDATION, len(dataset) // 20)
    chosen = np.zeros(len(dataset), np.bool_)
    chosen[dataset.split(size, seed=0)[0].indices] = True
    return chosen
