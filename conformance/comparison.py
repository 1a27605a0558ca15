"""Read the cells of README's first comparison again in the code of the other tools.

    python conformance/comparison.py FOLDER

FOLDER has the unpacked packages ``espnet``, ``nemo_toolkit`` and ``lhotse``, as ``pip download --no-deps`` brings them,
in folders of these names. Each cell is held by a text that a file must have, or must not have.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple


class Cell(NamedTuple):
    """What a cell says, and the regular expression that its file has, or has not."""

    tool: str
    row: str
    says: str
    file: str
    pattern: str
    is_there: bool = True


_NO_EFFECTS = r"rir_scp|noise_scp|data_aug_effects|speech_volume_normalize"

CELLS = (
    Cell(
        "espnet", "mels are computed", "at every step", "espnet2/tts/espnet_model.py", r"self\.feats_extract\(speech, "
    ),
    Cell("espnet", "phonemes", "tokenized on loading", "espnet2/tasks/tts.py", r"CommonPreprocessor\(\s+train=train,"),
    Cell("espnet", "audio augmentation", "no", "espnet2/tasks/tts.py", _NO_EFFECTS, is_there=False),
    Cell(
        *("nemo_toolkit", "mels are computed", "at every step", "nemo/collections/tts/models/fastpitch.py"),
        r"mels, spec_len = self\.preprocessor\(input_signal=audio",
    ),
    Cell(
        *("nemo_toolkit", "phonemes", "tokenized on loading", "nemo/collections/tts/data/dataset.py"),
        r"self\.text_tokenizer\(",
    ),
    Cell(
        *("nemo_toolkit", "audio augmentation", "no", "nemo/collections/tts/models/fastpitch.py"),
        r"augment",
        is_there=False,
    ),
    Cell(
        *("nemo_toolkit", "audio augmentation", "no", "nemo/collections/tts/data/text_to_speech_dataset.py"),
        r"augment",
        is_there=False,
    ),
    Cell("lhotse", "mels are computed", "once", "lhotse/cut/set.py", r"def compute_and_store_features\("),
    Cell(
        "lhotse", "mels are computed", "or on loading", "lhotse/dataset/input_strategies.py", r"class OnTheFlyFeatures"
    ),
    Cell("lhotse", "audio augmentation", "yes", "lhotse/cut/set.py", r"def perturb_speed\("),
)


def main(folder: Path) -> int:
    """Print the cells whose file says otherwise; return their number."""
    wrong = 0
    for cell in CELLS:
        found = re.search(cell.pattern, (folder / cell.tool / cell.file).read_text(encoding="utf-8"))
        if (found is not None) != cell.is_there:
            wrong += 1
            print(f"{cell.tool}: {cell.row}: '{cell.says}' does not follow from {cell.file}")
    print(f"{len(CELLS)} cells read, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
