"""Score the aligner on phones of TIMIT by FA-Bench's own scorer; print a markdown table.

    python conformance/aligner_fabench.py FA-BENCH timit

FA-BENCH is a checkout of github.com/olewave/fa-bench (its license allows noncommercial use), whose reader of TIMIT and
scorer are used as they are, with the default settings. Its published numbers are for the 400 utterances of the
development set; ``timit`` are the 160 of 16 speakers of the training set that NLTK distributes, see
``aligner_speech.py``, of which the 128 without the sentences ``sa`` are scored, as there. The aligner is trained on the
160, from nothing. It is given the words, of which the frontend ``arpabet`` makes phones, as other aligners are; or the
phones of the labels, a closure and its release being one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aligner
import aligner_speech
import numpy as np

from tts_prep.acoustics.mels import decibels_of_unit
from tts_prep.acoustics.phones.symbols import PHONE
from tts_prep.aligner.model import AlignmentModel, Recording, Vocabulary
from tts_prep.english.arpabet import ArpabetFrontend
from tts_prep.preprocess.audio.mel import MelExtractor
from tts_prep.preprocess.audio.reading import read_waveform


def intervals(model: AlignmentModel, recording: Recording) -> Iterator[tuple[str, float, float]]:
    """Yield phones and silences with start and end in seconds."""
    found, vocabulary = model.align(recording), model.vocabulary
    before, after = found.silences
    durations = [before, *found.durations.tolist(), after]
    durations[1] -= before
    durations[-2] -= after
    ends = np.cumsum(durations) * aligner.HOP
    labels = ["sil", *(vocabulary.symbols[number] for number in recording.phonemes), "sil"]
    kinds = [0, *vocabulary.kinds[recording.phonemes].tolist(), 0]
    for label, kind, duration, end in zip(labels, kinds, durations, ends, strict=True):
        if duration:
            name = label.removesuffix("_x")
            yield (name if kind == PHONE else "sil"), float(end - duration * aligner.HOP), float(end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("timit", type=Path)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.benchmark))
    from fabench.dataprep.datasets.en.timit.processor import parse_utterance
    from fabench.normalize import make_canon
    from fabench.normalize.en.canonical import manner_of
    from fabench.schema import Interval, Utterance
    from fabench.score.aggregate import aggregate
    from fabench.score.core import score_pair

    decibels, extractor = decibels_of_unit(aligner.CONFIG.as_dict()), MelExtractor(aligner.CONFIG)
    assert decibels is not None
    paths = sorted(arguments.timit.rglob("*.phn"))
    golds = [parse_utterance(path, split="train", dr=path.parent.name[:3], spk=path.parent.name[4:]) for path in paths]
    mels = [extractor(read_waveform(path.with_suffix(".wav"), aligner.CONFIG.sample_rate)) for path in paths]
    frontend = ArpabetFrontend()
    texts = [path.with_suffix(".txt").read_text("utf-8").split(maxsplit=2)[2].strip() for path in paths]
    words = Vocabulary(tuple(frontend.vocab.symbols), frontend.vocab.pad)
    ids = [np.array(frontend.numericalize(frontend.phoneticize(frontend.normalize(text))), np.int32) for text in texts]
    labelled = list(aligner_speech.read_corpus(str(arguments.timit)))
    labels = aligner_speech.vocabulary_of(labelled)
    given: list[tuple[str, str, Vocabulary, list[Recording]]] = [
        ("words", "arpabet", words, [Recording(row, mel) for row, mel in zip(ids, mels, strict=True)]),
        ("phones of the labels", "timit", labels, [aligner_speech.recording_of(one, labels)[0] for one in labelled]),
    ]
    print("| given | median | within 10 ms | within 50 ms | F1 at 20 ms |\n| --- | --- | --- | --- | --- |")
    for name, source, vocabulary, recordings in given:
        model, scores = AlignmentModel.train(recordings, vocabulary, decibels, aligner.HOP), list[Any]()
        for path, gold, recording in zip(paths, golds, recordings, strict=True):
            if path.stem.startswith("sa"):
                continue
            phones = [Interval(*one) for one in intervals(model, recording)]
            known = {key: value for key, value in vars(gold).items() if key not in ("words", "phones")}
            score = score_pair(
                gold,
                Utterance(**known, words=[], phones=phones),
                condition="clean",
                aligner="tts-prep",
                mode="",
                gold_canon=make_canon("timit"),
                hyp_canon=make_canon(source),
                manner_of_canonical=manner_of,
                score_words=False,
                manner_match=True,
            )
            scores.append(score)
        ((row,), _) = aggregate(scores, ta_thresholds_s=[0.01, 0.05], bootstrap_iters=10)
        within = f"{row['ta_10ms']:.0%} | {row['ta_50ms']:.0%}"
        print(f"| {name} | {row['median_ms']:.1f} ms | {within} | {row['bnd_f1']:.3f} |")


if __name__ == "__main__":
    main()
