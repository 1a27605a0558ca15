r"""Compare ming024/FastSpeech2's own preprocessing and batches with a store and its recipe; print a markdown table.

    git clone https://github.com/ming024/FastSpeech2
    sed -i 's/\.cuda()//' FastSpeech2/audio/stft.py                     # without a GPU; nothing else is changed
    python conformance/fastspeech2.py --source FastSpeech2 --python OLD/bin/python \
      --lists LJSPEECH LIBRITTS AISHELL3 --textgrids FOLDER

OLD is the environment of conformance/alignments.py. Each of the lists is a folder with ``wavs/ID.wav`` at 22,050
Hz, and either ``list.txt``, with lines ``path|text|phones|speaker``, or LJ Speech's ``metadata.csv`` and, beside the
folder, ``ljspeech-mfa-phones.txt``, with lines ``ID|phones|text``. The boundaries of these phones are random. FOLDER
has recordings with their TextGrids by MFA; pauses without a label, which the source drops, become ``sp``.

The source runs ``Preprocessor.build_from_path``, ``Dataset`` and ``collate_fn`` with two of its configurations: means
by phone, normalized, and values by frame. The store is made by the command of docs/features.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import librosa
import numpy as np
import soundfile
from fastspeech2_source import FIELDS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from textgrids import long_form

from tts_prep.imports.alignment_files import read_textgrid
from tts_prep.loader import UtteranceDataset
from tts_prep.recipes import FastSpeech2Dataset

RATE: Final = 22_050
SILENCES: Final = ("sil", "sp", "spn")
# The source has no symbols for MFA's phones in IPA.
ARPABET: Final = dict(
    pair.split("=")
    for pair in "ɑ=AA1 ɒ=AA1 aj=AY1 ɚ=ER0 ə=AH0 i=IY1 ɹ=R ɫ=L tʲ=T m=M n=N l=L f=F s=S t=T".split()  # noqa: SIM905
)
CONFIGS: Final = {
    "LJSpeech": ("phoneme_level", ["--feature", "pitch:unvoiced=interpolated"]),
    "LJSpeech_paper": ("frame_level", ["--feature", "pitch"]),
}
COMMAND: Final = (
    *("--columns", "path|text|speaker|id", "--quiet"),
    *("--preset", "tacotron2", "--frontend", "phonemes", "--symbols", "fastspeech2", "--feature", "energy"),
    *("--feature", "durations:phonemes=alignment,silences=cut,surplus=cut"),
)


@dataclass(frozen=True)
class Clip:
    """A recording with phones."""

    id: str
    speaker: str
    path: Path
    text: str
    intervals: list[tuple[float, float, str]]


def with_random_boundaries(path: Path, phones: list[str], seed: int) -> list[tuple[float, float, str]]:
    """Return intervals of at least 30 ms that fill a recording, with silences at the ends, in steps of 10 ms."""
    info = soundfile.info(path)
    labels = ["sil", *phones, "sil"]
    lengths = np.random.default_rng(seed).gamma(2, 1, len(labels))
    total = info.frames / info.samplerate
    bounds = np.concatenate([[0.0], np.cumsum(0.03 + lengths / lengths.sum() * (total - 0.03 * len(labels)))])
    places = [*np.round(bounds[:-1], 2).tolist(), total]
    return list(zip(places, places[1:], labels, strict=False))


def clips_of(options: argparse.Namespace) -> Iterator[Clip]:
    """Yield the recordings of all folders."""
    for folder in options.lists:
        rows = []
        if (folder / "list.txt").exists():
            for line in (folder / "list.txt").read_text(encoding="utf-8").splitlines():
                path, text, phones, speaker = line.split("|")
                rows.append((Path(path).stem, speaker, text, phones))
        else:
            known = dict(
                line.split("|")[:2]
                for line in (folder.parent / "ljspeech-mfa-phones.txt").read_text(encoding="utf-8").splitlines()
            )
            for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines():
                uid, _, text = line.split("|")
                if uid in known:
                    rows.append((uid, "LJSpeech", text, known[uid]))
        for uid, speaker, text, phones in rows:
            path = folder / "wavs" / f"{uid}.wav"
            yield Clip(uid, speaker, path, text, with_random_boundaries(path, phones.split(), len(text)))
    for grid in sorted(options.textgrids.glob("*.TextGrid")) if options.textgrids else []:
        for path in (grid.with_suffix(".wav"), grid.with_suffix(".flac")):
            if path.exists():
                intervals = [
                    (part.start, part.end, ARPABET.get(part.label, part.label) or "sp") for part in read_textgrid(grid)
                ]
                yield Clip(grid.stem, "MFA", path, f"{grid.stem}.", intervals)


def write_corpus(clips: list[Clip], folder: Path) -> None:
    """Write the recordings as the source's prepare_align.py does, with TextGrids, and a list of them."""
    lines = []
    for clip in clips:
        raw = folder / "raw" / clip.speaker / f"{clip.id}.wav"
        raw.parent.mkdir(parents=True, exist_ok=True)
        if soundfile.info(clip.path).samplerate == RATE:
            shutil.copyfile(clip.path, raw)
        else:
            samples, _ = librosa.load(clip.path, sr=RATE)
            soundfile.write(raw, (samples / np.abs(samples).max() * 32767).astype(np.int16), RATE)
        raw.with_suffix(".lab").write_text(clip.text, encoding="utf-8")
        for name in CONFIGS:
            grid = folder / name / "TextGrid" / clip.speaker / f"{clip.id}.TextGrid"
            grid.parent.mkdir(parents=True, exist_ok=True)
            tiers = {"words": clip.intervals, "phones": clip.intervals}
            grid.write_text(long_form(tiers, clip.intervals[-1][1]), encoding="utf-8")
        lines.append(f"raw/{clip.speaker}/{clip.id}.wav|{clip.text}|{clip.speaker}|{clip.id}\n")
    (folder / "list.txt").write_text("".join(lines), encoding="utf-8")


def our_batch(folder: Path, name: str, theirs: dict[str, Any]) -> tuple[dict[str, Any], FastSpeech2Dataset]:
    """Return the batch of the store, whose utterances are in the order of the source's."""
    level, pitch = CONFIGS[name]
    store = folder / f"{name}-store"
    command = [sys.executable, "-m", "tts_prep", "filelist", str(folder / "list.txt"), str(store), *COMMAND, *pitch]
    subprocess.run([*command, "--alignments", str(folder / name / "TextGrid")], check=True)
    dataset = UtteranceDataset(store)
    places = {uid: i for i, uid in enumerate(dataset.id)}
    examples = FastSpeech2Dataset(
        dataset.select([places[uid] for uid in theirs["ids"]]),
        batch_size=1000,
        # Both sides get the recordings as they are, without prepare_align.
        settings="any",
        pitch_feature=level,
        energy_feature=level,
        pitch_normalization=level == "phoneme_level",
        energy_normalization=level == "phoneme_level",
    )
    (batch,) = examples.collate_fn([examples.get_example(i) for i in range(len(examples))])
    return dict(zip(FIELDS, batch, strict=True)), examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True, metavar="FASTSPEECH2")
    parser.add_argument("--python", type=Path, required=True, help="the interpreter for the source")
    parser.add_argument("--lists", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--textgrids", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    clips = list(clips_of(options))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_corpus(clips, folder)
        for name in CONFIGS:
            script = Path(__file__).with_name("fastspeech2_source.py")
            command = [options.python.absolute(), script, options.source.absolute(), name, folder]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
            if done.returncode:
                parser.exit(1, done.stderr)
            with np.load(folder / name / "batch.npz") as file:
                theirs = dict(file)
            report(folder, name, theirs, len(clips))


def report(folder: Path, name: str, theirs: dict[str, Any], n_clips: int) -> None:
    """Print the table of one configuration."""
    ours, examples = our_batch(folder, name, theirs)
    frames = int(theirs["mel_lens"].sum())
    empty = sum(int((row[:n] == 0).sum()) for row, n in zip(theirs["durations"], theirs["text_lens"], strict=True))
    print(f"\n{name}: {len(theirs['ids'])} of {n_clips} recordings, {frames * 256 / RATE:.0f} s")
    print(f"{theirs['text_lens'].sum():,} phones, {empty} of them without frames\n")
    print("| field | shape | source | here | largest difference |\n| --- | --- | --- | --- | --- |")
    speakers = {code: speaker for speaker, code in json.loads((folder / name / "speakers.json").read_text()).items()}
    for field in FIELDS:
        expected, found = np.asarray(theirs[field]), np.asarray(ours[field])
        assert expected.shape == found.shape, (field, expected.shape, found.shape)
        kinds = f"{expected.dtype} | {found.dtype}".replace("<U", "str")
        if field == "speakers":
            expected = np.array([speakers[code] for code in expected.tolist()])
            found = np.array([examples.store.speakers[code] for code in found.tolist()])
        if expected.dtype.kind == "U":
            difference = "equal" if (expected == found).all() else f"{(expected != found).sum()} differ"
        else:
            difference = f"{np.abs(expected.astype(np.float64) - found).max():.2g}"
        print(f"| `{field}` | {list(found.shape)} | {kinds} | {difference} |")
    stats = json.loads((folder / name / "stats.json").read_text())
    for kind in ("pitch", "energy"):
        expected, found = np.array(stats[kind]), np.array(examples.statistics[kind])
        print(f"| `stats.json`, {kind} | [4] | | | {np.abs(expected - found).max():.2g} |")


if __name__ == "__main__":
    main()
