"""The folder of GPT-SoVITS's preparation, from which both of its stages are trained."""

import io
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError, MissingPackageError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import export_rows, int16, require_array, wav_bytes
from tts_prep.loader import UtteranceDataset

TOKENS: Final = "semantic_tokens"
WORDS: Final = "word2ph"
_RATE: Final = 32_000

_TENSORS: Final = {
    "bert": ("phoneme", "3-bert", (1, 0)),
    "ssl": ("own", "4-cnhubert", (None, 1, 0)),
    "speaker_vector": ("utterance", "7-sv_cn", (None, 0)),
}
"""Array → axis, folder, and the axes of the tensor: None is one of length 1."""


def export_gpt_sovits(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write the files of the scripts in ``GPT_SoVITS/prepare_datasets``, named after recordings, with ``.wav``.

    Arrays are ``word2ph`` and ``semantic_tokens`` [n] int, ``bert`` [n_phonemes, 1024], ``ssl`` [n, 768] and
    ``speaker_vector`` [20480] float; ``5-wav32k/`` has recordings if the store has waveforms of 32 kHz.

    Raises:
        ConfigurationError: the store has neither ``semantic_tokens`` nor ``ssl``, an array has another shape, or a
            symbol has white space.
        MissingPackageError: torch is not installed, and the store has arrays that are tensors.
    """
    tensors = [name for name in _TENSORS if name in dataset.arrays]
    lists = [name for name in (TOKENS, WORDS) if name in dataset.arrays or (name == TOKENS and "ssl" not in tensors)]
    for name in lists:
        require_array(dataset, "GPT-SoVITS", name, "own", "iu", 0)
    for name in tensors:
        require_array(dataset, "GPT-SoVITS", name, _TENSORS[name][0], "f", 1)
    folder.carried.update(tensors, lists)
    has_recordings = dataset.metadata.has_waveform and dataset.sample_rate == _RATE
    if not has_recordings:
        folder.report("5-wav32k left out, which stage 2 reads: it needs --sample-rate 32000 --waveform int16")
    texts, semantic = [], ["item_name\tsemantic_audio\n"]
    for row in export_rows(dataset):
        utterance, name, arrays = row.utterance, f"{row.name}.wav", row.arrays
        phones = [dataset.symbols[i] for i in utterance.phonemes.tolist()]
        if spaces := [phone for phone in phones if phone != "".join(phone.split())]:
            raise ConfigurationError(
                f"{dataset.path}: GPT-SoVITS's lists hold phones separated by spaces, and the symbol {spaces[0]!r} "
                "cannot be one; make the store with --frontend arpabet --symbols gpt-sovits-v2 --unknown drop"
            )
        words = arrays[WORDS].tolist() if WORDS in arrays else None
        texts.append(f"{name}\t{' '.join(phones)}\t{words}\t{' '.join(utterance.text.split())}\n")
        if TOKENS in arrays:
            semantic.append(f"{name}\t{' '.join(map(str, arrays[TOKENS].tolist()))}\n")
        for array, (_, place, axes) in _TENSORS.items():
            if array in arrays:
                folder.write(f"{place}/{name}.pt", _tensor_bytes(arrays[array], axes))
        if has_recordings and utterance.waveform is not None:
            folder.write(f"5-wav32k/{name}", wav_bytes(int16(utterance.waveform), _RATE))
    folder.write("2-name2text.txt", "".join(texts))
    if TOKENS in lists:
        folder.write("6-name2semantic.tsv", "".join(semantic))
        if left_out := len(dataset) - len(semantic) + 1:
            folder.report(f"{left_out:,} of {len(dataset):,} utterances have no {TOKENS}, and are not in stage 1")


def _tensor_bytes(values: npt.NDArray[Any], axes: tuple[int | None, ...]) -> bytes:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "GPT-SoVITS's .pt files need torch, which is not installed: pip install torch"
        ) from error
    found = values.transpose([axis for axis in axes if axis is not None])
    file = io.BytesIO()
    torch.save(torch.from_numpy(np.array(found[None] if None in axes else found, order="C")), file)
    return file.getvalue()
