r"""Compare alignments with five systems' own code, on TextGrids as they are and on random ones; print markdown tables.

    python -m venv OLD
    OLD/bin/pip install 'numpy<2' 'librosa<0.10' 'praatio<6' 'scipy<1.12' 'matplotlib<3.9' 'setuptools<81' GPUtil \
      g2p_en h5py humanfriendly inflect pyworld-prebuilt pyyaml scikit-learn soundfile textgrid tgt torch torchaudio \
      tqdm unidecode yacs
    python conformance/alignments.py --sources CHECKOUTS --python OLD/bin/python --textgrids FOLDER

CHECKOUTS has checkouts of FastSpeech2 (ming024), speechbrain, PaddleSpeech, SpeeChain and espnet; none of them is
changed, and conformance/alignments_source.py says what of them runs. FOLDER has TextGrids: those with tiers ``words``
and ``phones`` are compared as they are; of others, each tier is copied as both, with the letters of its labels. The
random files have boundaries in full precision, at multiples of 10 ms, or at half frames, and pauses as MFA 1 writes
them (``sil`` at the ends, ``sp`` inside) or as MFA 2 does (intervals without labels). ESPnet reads MFA's JSON, which
MFA 1 does not write.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from praatio import textgrid

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from textgrids import long_form

from tts_prep.errors import AlignmentError
from tts_prep.imports.alignment import Alignment, AlignmentConfig
from tts_prep.imports.alignment_files import read_textgrid

SETTINGS: Final = ((22_050, 256), (24_000, 300))
MING024: Final = AlignmentConfig("ming024", surplus="cut", phonemes="alignment", silences="cut")
SYSTEMS: Final = {
    "ming024": MING024,
    "speechbrain": MING024,
    "paddlespeech": AlignmentConfig("paddlespeech", phonemes="alignment", silences="cut"),
    "paddlespeech-kept": AlignmentConfig("paddlespeech", phonemes="alignment"),
    "espnet": AlignmentConfig("espnet", phonemes="alignment"),
    "speechain": AlignmentConfig("speechain", phonemes="alignment", silences="cut"),
}
PAUSES: Final = {"", "sil", "sp", "spl", "spn", "<space>"}
"""The names of pauses, which differ between systems and can be set here; they are compared as one."""

COLUMNS: Final = ("readings", "refused", "phones", "other phones", "other samples", "other durations", "sum corrected")


@dataclass(frozen=True)
class Case:
    """One file for one setting."""

    path: Path
    kind: str
    rate: int
    hop: int

    @property
    def n_samples(self) -> int:
        end = textgrid.openTextgrid(str(self.path), includeEmptyIntervals=True).maxTimestamp
        return round(end * self.rate)


def random_grid(path: Path, seed: int, rate: int, hop: int) -> str:
    """Write a TextGrid with random phones and pauses; return its kind."""
    random = np.random.default_rng(seed)
    precision = ("10 ms", "full precision", "half frames")[seed % 3]
    mfa = 1 + seed // 3 % 2
    edge, inner = ("sil", "sp") if mfa == 1 else ("", "")
    n_words = random.integers(1, 12)
    words = [random.choice(["AH0", "T", "S", "IY1", "N"], random.integers(1, 6)).tolist() for _ in range(n_words)]
    labels: list[tuple[str, int]] = [(edge, -1)] if random.random() < 0.7 else []
    for number, word in enumerate(words):
        if number and random.random() < 0.3:
            labels.append((inner, -1))
        labels += [(phone, number) for phone in word]
    if random.random() < 0.7:
        labels.append((edge, -1))
    lengths = random.gamma(2, 0.05, len(labels)) + 0.011
    bounds = np.concatenate([[0.0], np.cumsum(lengths)])
    if precision == "10 ms":
        bounds = np.round(bounds, 2)
    elif precision == "half frames":
        bounds = np.round(bounds * rate / hop * 2) / 2 * hop / rate
    # The last boundary is the end of the recording, a number of samples.
    bounds[-1] = np.ceil(bounds[-1] * rate) / rate
    places = bounds.tolist()
    phones = [(places[i], places[i + 1], label) for i, (label, _) in enumerate(labels)]
    spoken: list[tuple[float, float, str]] = []
    for (start, stop, _), (_, number) in zip(phones, labels, strict=True):
        if number >= 0 and spoken and spoken[-1][2] == chr(97 + number):
            spoken[-1] = (spoken[-1][0], stop, spoken[-1][2])
        else:
            spoken.append((start, stop, chr(97 + number) if number >= 0 else ""))
    path.write_text(long_form({"words": spoken, "phones": phones}, places[-1]), encoding="utf-8")
    return f"MFA {mfa}, {precision}"


def cases_of(folder: Path, textgrids: Path | None, seeds: int) -> list[Case]:
    """Return the cases, whose random files are written into a folder."""
    cases = []
    for path in sorted(textgrids.glob("*.TextGrid")) if textgrids else []:
        grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
        paths = [path]
        if "phones" not in grid.tierNames:
            paths = []
            for name in grid.tierNames:
                intervals = [
                    (entry.start, entry.end, "".join(filter(str.isalpha, entry.label)))
                    for entry in grid.getTier(name).entries
                ]
                paths.append(folder / f"{path.stem}-{name}.TextGrid")
                tiers = {"words": intervals, "phones": intervals}
                paths[-1].write_text(long_form(tiers, grid.maxTimestamp), encoding="utf-8")
        cases += [Case(found, "given files", *setting) for found in paths for setting in SETTINGS]
    for seed in range(seeds):
        for rate, hop in SETTINGS:
            path = folder / f"{seed}-{rate}.TextGrid"
            cases.append(Case(path, random_grid(path, seed, rate, hop), rate, hop))
    return cases


def ours(case: Case, config: AlignmentConfig) -> dict[str, Any]:
    """Return phones, durations and the kept samples of a case here."""
    alignment = Alignment.of_intervals(read_textgrid(case.path), case.path.name)
    n_samples = case.n_samples
    kept = (0, n_samples)
    if config.silences == "cut":
        kept = alignment.span(config, case.rate, case.hop, n_samples)
        alignment = alignment.trimmed()
    n_frames = 1 + (kept[1] - kept[0]) // case.hop
    frames, changed = alignment.durations(config, case.rate, case.hop, n_frames)
    return {"phones": alignment.labels, "frames": frames.tolist(), "kept": list(kept), "changed": changed}


def without(phones: list[str], frames: list[int], left_out: set[str]) -> tuple[list[str], list[int]]:
    """Return phones and durations without some labels, pauses under one name."""
    pairs = [(phone, n) for phone, n in zip(phones, frames, strict=True) if phone not in left_out]
    return ["" if phone in PAUSES else phone for phone, _ in pairs], [n for _, n in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, required=True, metavar="CHECKOUTS")
    parser.add_argument("--python", type=Path, required=True, help="the interpreter for the sources")
    parser.add_argument("--textgrids", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=600, help="random files for each setting of rate and hop")
    parser.add_argument("--show", type=int, metavar="N", help="print N differences of each row")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_of(Path(folder), options.textgrids, options.seeds)
        given = [{"path": str(c.path), "rate": c.rate, "hop": c.hop, "n_samples": c.n_samples} for c in cases]
        sources = Path(__file__).with_name("alignments_source.py")
        command = [str(options.python.absolute()), str(sources), str(options.sources.absolute())]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            parser.exit(1, done.stderr)
        results = json.loads(done.stdout)
        rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        shown: dict[str, list[str]] = collections.defaultdict(list)
        for case, result in zip(cases, results, strict=True):
            for name in SYSTEMS:
                if name == "espnet" and case.kind.startswith("MFA 1"):
                    continue
                compare(case, name, result[name], rows[name], shown[name])
    print("| rounding | " + " | ".join(COLUMNS) + " |\n| --- |" + " --- |" * len(COLUMNS))
    for name, counts in rows.items():
        print(f"| `{name}` | " + " | ".join(f"{counts[column]:,}" for column in COLUMNS) + " |")
    for name, lines in shown.items():
        for line in lines[: options.show or 0]:
            print(f"{name}: {line}")


def compare(case: Case, name: str, theirs: dict[str, Any], counts: collections.Counter[str], shown: list[str]) -> None:
    """Count the differences of one case."""
    counts["readings"] += 1
    where = f"{case.path.name} {case.rate}/{case.hop} ({case.kind}, {case.n_samples} samples)"
    try:
        mine = ours(case, SYSTEMS[name])
    except AlignmentError as error:
        mine = {"error": str(error)}
    for side, found in (("there", theirs), ("here", mine)):
        if "error" in found:
            counts["refused"] += 1
            shown.append(f"{where}: refused {side}: {found['error']}")
    if "error" in theirs or "error" in mine:
        return
    # ming024's reader of TextGrids leaves out intervals without labels.
    left_out = {""} if name == "ming024" else set()
    phones, frames = without(mine["phones"], mine["frames"], left_out)
    if name == "speechbrain":
        phones = [phone.rstrip("012") for phone in phones]  # it leaves stress out
    expected, expected_frames = without(theirs["phones"], theirs["frames"], set())
    counts["phones"] += len(phones)
    counts["other samples"] += mine["kept"] != theirs["kept"]
    if mine["kept"] != theirs["kept"]:
        shown.append(f"{where}: samples {mine['kept']}, there {theirs['kept']}")
    if phones != expected:
        counts["other phones"] += 1
        shown.append(f"{where}: {' '.join(phones)}, there {' '.join(expected)}")
        return
    differing = [i for i, (a, b) in enumerate(zip(frames, expected_frames, strict=True)) if a != b]
    # SpeeChain and ESPnet do not correct sums that differ from the mel; here one phone takes the difference.
    corrected = [frames[i] - expected_frames[i] for i in differing] == [mine["changed"]]
    counts["sum corrected" if corrected else "other durations"] += len(differing)
    if differing:
        pairs = ", ".join(f"{i} of {len(frames)}: {frames[i]}, there {expected_frames[i]}" for i in differing)
        shown.append(f"{where}: {pairs}; changed by {mine['changed']}")


if __name__ == "__main__":
    main()
