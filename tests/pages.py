"""Blocks of the pages of the documentation, and what each page's reader has before."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from corpora import KALDI, record, write_kaldi, write_libritts, write_vctk

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKS = {
    "": "run by both tests of pages",
    "after": "goes on in the program of the Python block before",
    "apart": "run in an environment of the page alone, by test_pages_as_written.py",
    "before": "code of others, shown for what replaces it",
    "elsewhere": "needs what no test has: a cluster, a container, an object store's own tools, weights of models",
    "served": "lines that run until Ctrl-C",
}
"""The word after a block's language; of Python also the name of the file that the page says it is in."""
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block."""

    language: str
    mark: str
    content: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [Block(m[1], m[2].strip(), m[3]) for m in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def write_as_lj_speech(corpus: Path, folder: Path, limit: int | None = None) -> Path:
    """Write a corpus of links to the demo's recordings, with ids of LJ Speech."""
    (folder / "wavs").mkdir(parents=True)
    lines = (corpus / "metadata.csv").read_text("utf-8").splitlines(keepends=True)[:limit]
    for line in lines:
        name = line.split("|")[0]
        (folder / "wavs" / f"{name.replace('DEMO-', 'LJ001-')}.wav").symlink_to(corpus / "wavs" / f"{name}.wav")
    (folder / "metadata.csv").write_text("".join(lines).replace("DEMO-", "LJ001-"), "utf-8")
    return folder


def _list(folder: Path) -> None:
    lines = (folder / "LJSpeech-1.1/metadata.csv").read_text("utf-8").splitlines()
    rows = [line.split("|") for line in lines]
    (folder / "list.txt").write_text("".join(f"LJSpeech-1.1/wavs/{id}.wav|{text}\n" for id, _, text in rows), "utf-8")


def _vctk(folder: Path) -> None:
    """Write VCTK without its speaker who has no texts, whose recording would fail."""
    shutil.rmtree(write_vctk(folder / "VCTK-Corpus-0.92") / "wav48_silence_trimmed/p315")


def _readme(folder: Path) -> None:
    _vctk(folder)
    write_libritts(folder / "LibriTTS_R")
    record(folder / "wavs/a.wav", 1.0)
    (folder / "train_list.txt").write_text("a.wav|wˈʌn tˈuː|0\n", "utf-8")
    (folder / "OOD_texts.txt").write_text("fˈɔːɹ fˈaɪv|anna\n", "utf-8")
    write_kaldi(folder / "data/train", KALDI)
    shutil.move(folder / "data/train/audio", folder / "audio")
    source = {"type": "file", "channels": [0], "source": "wavs/a.wav"}
    recording = {"id": "a", "sources": [source], "sampling_rate": 22050, "num_samples": 22050, "duration": 1.0}
    supervision = {"id": "a", "recording_id": "a", "start": 0.0, "duration": 1.0, "text": "One two."}
    cut = {"id": "a", "start": 0.0, "duration": 1.0, "channel": 0, "type": "MonoCut"}
    import gzip

    with gzip.open(folder / "cuts.jsonl.gz", "wt") as file:
        file.write(json.dumps({**cut, "supervisions": [supervision], "recording": recording}) + "\n")


def _corpora(folder: Path) -> None:
    (folder / "expresso-tokens").mkdir()
    sizes = {"a": 25, "b": 30}
    rows = (
        {"id": id, "text": "One.", "audio_codes": [list(range(8))] * n, "duration": n / 12.5} for id, n in sizes.items()
    )
    (folder / "expresso-tokens/manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    record(folder / "cv-corpus/en/clips/common_voice_en_1.mp3", 1.0)
    heads = ("client_id", "path", "sentence", "up_votes", "down_votes", "age", "gender", "accents", "locale")
    values = ("anna", "common_voice_en_1.mp3", "One two.", "2", "0", "twenties", "female", "", "en")
    (folder / "cv-corpus/en/train.tsv").write_text("\t".join(heads) + "\n" + "\t".join(values) + "\n")
    record(folder / "corpus/audio/a.flac", 1.0)
    (folder / "corpus/list.tsv").write_text("a\tanna\tOne two.\n")


def _alignments(folder: Path) -> None:
    """Write alignments as the Montreal Forced Aligner does, of phones of equal lengths."""
    import soundfile
    from textgrids import long_form

    rows = [line.split("|")[0] for line in (folder / "LJSpeech-1.1/metadata.csv").read_text("utf-8").splitlines()]
    (folder / "TextGrid").mkdir()
    phones = ("", "HH", "AH0", "L", "OW1", "sp", "W", "ER1", "L", "D", "")
    for id in rows:
        info = soundfile.info(folder / f"LJSpeech-1.1/wavs/{id}.wav")
        times = np.linspace(0, info.frames / info.samplerate, len(phones) + 1).tolist()
        intervals = list(zip(times[:-1], times[1:], phones, strict=True))
        words = [(times[0], times[-1], "hello world")]
        (folder / f"TextGrid/{id}.TextGrid").write_text(long_form({"words": words, "phones": intervals}, times[-1]))
    text = "{HH AH0 L OW1 sp W ER1 L D}"
    (folder / "list.txt").write_text("".join(f"LJSpeech-1.1/wavs/{id}.wav|{text}\n" for id in rows))


def _arrays(folder: Path) -> None:
    """Write arrays of models for the rows of the store that the page makes."""
    import h5py
    import soundfile

    from tts_prep.cli.main import main
    from tts_prep.loader import UtteranceDataset

    made = folder.parent / "store-of-arrays"
    if not made.exists():
        arguments = ["ljspeech", str(folder / "LJSpeech-1.1"), str(made), "--jobs", "1", "--quiet"]
        with pytest.raises(SystemExit, match="^0$"):
            main(arguments)
    (folder / "bert").mkdir()
    (folder / "encodec").mkdir()
    vectors = {}
    with h5py.File(folder / "codes.h5", "w") as codes:
        for utterance in UtteranceDataset(made):
            info = soundfile.info(folder / f"LJSpeech-1.1/wavs/{utterance.id}.wav")
            seconds = info.frames / info.samplerate
            vectors[utterance.id] = np.full((1, 4), seconds, np.float32)
            np.save(folder / f"bert/{utterance.id}.npy", np.zeros((len(utterance.phonemes), 8), np.float32))
            codes[utterance.id] = np.zeros(round(seconds * 50), np.int16)
            np.save(folder / f"encodec/{utterance.id}.npy", np.zeros((8, round(seconds * 75)), np.int16))
    np.savez(folder / "vectors.npz", **vectors)


def _tokenizer(folder: Path) -> None:
    from llama_tokenizer import write_tokenizer

    (folder / "Qwen3-0.6B").mkdir()
    write_tokenizer(folder / "Qwen3-0.6B/tokenizer.json")
    row = {"id": "LJ001-0001", "audio": "LJSpeech-1.1/wavs/LJ001-0001.wav", "text": "One two."}
    (folder / "train.jsonl").write_text(json.dumps(row) + "\n")


def _withdrawn(folder: Path) -> None:
    _vctk(folder)
    (folder / "decisions.csv").write_text("id,keep\np225_001,yes\np362_001,yes\n")
    (folder / "withdrawn.txt").write_text("p362_001\n")


def _decisions(folder: Path) -> None:
    (folder / "anna.csv").write_text("id,keep,text\nLJ001-0001,yes,\nLJ001-0002,no,\n")
    (folder / "ben.csv").write_text("id,keep,text\nLJ001-0001,yes,\nLJ001-0003,yes,The text that is spoken.\n")


GIVEN: dict[str, Callable[[Path], None]] = {
    "README.md": _readme,
    "cleaning.md": _list,
    "coming-from.md": _alignments,
    "corpora.md": _corpora,
    "features.md": _arrays,
    "frontends.md": _tokenizer,
    "remove.md": _withdrawn,
    "review.md": _decisions,
}
"""What the reader of a page has besides LJ Speech."""
