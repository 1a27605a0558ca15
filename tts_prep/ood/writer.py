"""Write the out-of-domain texts of a store."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tts_prep.format.files.atomic import replacing
from tts_prep.format.files.checksums import canonical_json
from tts_prep.format.hdf5.datasets import Array
from tts_prep.format.hdf5.writer import create_file, write_dataset, write_number, write_string, write_texts
from tts_prep.format.layout import NUMBER_DTYPES, OOD_FORMAT, version_text


def write_ood_texts(
    path: Path,
    key: str,
    texts: Sequence[str],
    phoneme_texts: Sequence[str],
    phonemes: Sequence[Array],
    failures: Sequence[Mapping[str, str]],
) -> None:
    """Write ``ood.h5`` atomically.

    Args:
        phonemes: the ids of each text, [n_phonemes].
    """
    starts = np.cumsum([0, *map(len, phonemes)])
    header = {"format": OOD_FORMAT, "version": version_text(), "key": key, "rows": len(texts)}
    with replacing(path) as partial, create_file(partial) as file:
        write_string(file, "header", canonical_json({**header, "failures": list(failures)}))
        write_dataset(file, "phonemes", np.concatenate([np.empty(0, np.int32), *phonemes]).astype("<i4"))
        columns = file.create_group("columns")
        write_texts(columns, "text", texts)
        write_texts(columns, "phoneme_text", phoneme_texts)
        write_number(columns, "phonemes_start", starts[:-1], NUMBER_DTYPES["phonemes_start"])
        write_number(columns, "n_phonemes", np.diff(starts), NUMBER_DTYPES["n_phonemes"])
