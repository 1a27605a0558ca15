"""Durations as TextGrids, which Praat opens, and as CTM files, which Kaldi's tools read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tts_prep.acoustics.phones.symbols import BREAK, PAUSE, PHONE, symbol_kinds
from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import ExportFolder
from tts_prep.export.rows import export_rows
from tts_prep.format.layout import ALIGNMENT_SILENCES
from tts_prep.format.records.manifest import read_manifest
from tts_prep.loader import UtteranceDataset

_MARK = 0
"""The kind of symbols that are neither phones nor pauses."""

_STRESS = frozenset("ˈˌ'")
"""Marks that precede their phone; all other marks follow it."""


@dataclass(frozen=True)
class LabelledTime:
    """A phone, a word, or with an empty label a pause, from start to end in seconds."""

    start: float
    end: float
    label: str


def export_textgrids(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``NAME.TextGrid`` for each utterance, with the tiers ``words`` and ``phones``.

    Raises:
        ConfigurationError: the store has no durations.
    """
    for name, words, phones, end in _aligned(dataset):
        folder.write(f"{name}.TextGrid", textgrid({"words": words, "phones": phones}, end))


def export_ctm(dataset: UtteranceDataset, folder: ExportFolder) -> None:
    """Write ``phones.ctm`` and ``words.ctm``: lines ``NAME 1 start duration label``, without pauses.

    Raises:
        ConfigurationError: the store has no durations.
    """
    lines: dict[str, list[str]] = {"phones.ctm": [], "words.ctm": []}
    for name, words, phones, _ in _aligned(dataset):
        for file, times in (("phones.ctm", phones), ("words.ctm", words)):
            lines[file] += [f"{name} 1 {t.start:.4f} {t.end - t.start:.4f} {t.label}\n" for t in times if t.label]
    for file, rows in lines.items():
        folder.write(file, "".join(rows))


def textgrid(tiers: dict[str, Sequence[LabelledTime]], end: float) -> str:
    """Return tiers as a TextGrid in Praat's short text format. The times of each tier are contiguous from 0 to end."""
    lines = ['File type = "ooTextFile short"', '"TextGrid"', "", "0", f"{end:.9f}", "<exists>", str(len(tiers))]
    for name, times in tiers.items():
        lines += ['"IntervalTier"', f'"{name}"', "0", f"{end:.9f}", str(len(times))]
        for time in times:
            lines += [f"{time.start:.9f}", f"{time.end:.9f}", '"' + time.label.replace('"', '""') + '"']
    return "\n".join(lines) + "\n"


def _aligned(dataset: UtteranceDataset) -> Iterator[tuple[str, list[LabelledTime], list[LabelledTime], float]]:
    """Yield name, words, phones and length in seconds of each utterance."""
    if "durations" not in dataset.arrays:
        raise ConfigurationError(
            f"{dataset.path}: has no durations; add them with 'tts-prep add {dataset.path} --feature durations'"
        )
    kinds = symbol_kinds(dataset.symbols, dataset.pad_id).tolist()
    labels = list(dataset.symbols)
    vocabulary = read_manifest(dataset.path).vocabulary
    for number in (vocabulary.get(name) for name in ("start", "end", "unk")):
        if isinstance(number, int):
            kinds[number] = PAUSE
    for number in (dataset.pad_id, dataset.metadata.blank_id):
        kinds[number], labels[number] = _MARK, ""  # the time of a blank is that of the phone before it
    hop = dataset.hop_length / dataset.sample_rate
    for row in export_rows(dataset):
        utterance = row.utterance
        symbols = [(labels[number], kinds[number]) for number in utterance.phonemes.tolist()]
        silences = [int(utterance.meta.get(column, 0)) for column in ALIGNMENT_SILENCES]
        found = _segments(symbols, utterance.arrays["durations"].tolist(), silences, hop)
        words = [_joined([*times]) for _, times in groupby(found, lambda time: bool(time.label))]
        phones = [time for time in found if time.end > time.start]
        words = _with_text([word for word in words if word.end > word.start], utterance.text.split())
        yield row.name, words, phones, found[-1].end


def _segments(
    symbols: Sequence[tuple[str, int]], durations: Sequence[int], silences: Sequence[int], hop: float
) -> list[LabelledTime]:
    """Return the phones and pauses of an utterance, and the spaces between words, which may have no length.

    A mark is part of the label of its phone. What else is no phone, such as a symbol of start or end, is a pause.

    Args:
        symbols: symbol and kind of each phoneme.
        durations: in frames.
        silences: the frames of the first and the last symbol that are silence, and pauses of their own here.
        hop: seconds per frame.
    """
    before, after = silences
    found = [LabelledTime(0, before * hop, "")] if before else []
    own = [*durations]
    own[0] -= before
    own[-1] -= after
    prefix, frame = "", before
    for (symbol, kind), frames in zip(symbols, own, strict=True):
        start, frame = frame * hop, frame + frames
        if kind == PHONE:
            found.append(LabelledTime(start, frame * hop, prefix + symbol))
            prefix = ""
        elif kind in (BREAK, PAUSE):
            found.append(LabelledTime(start, frame * hop, ""))
        elif found and found[-1].label and symbol not in _STRESS:
            found[-1] = LabelledTime(found[-1].start, frame * hop, found[-1].label + symbol)
        else:
            prefix += symbol if symbol in _STRESS else ""
            if frames:
                found.append(LabelledTime(start, frame * hop, ""))
    return [*found, LabelledTime(frame * hop, (frame + after) * hop, "")] if after else found


def _joined(times: Sequence[LabelledTime]) -> LabelledTime:
    return LabelledTime(times[0].start, times[-1].end, "".join(time.label for time in times))


def _with_text(words: list[LabelledTime], texts: Sequence[str]) -> list[LabelledTime]:
    """Return words with the words of a text as their labels, if it has as many."""
    spoken = [word for word in words if word.label]
    if len(spoken) != len(texts):
        return words
    labels = iter(texts)
    return [LabelledTime(word.start, word.end, next(labels)) if word.label else word for word in words]
