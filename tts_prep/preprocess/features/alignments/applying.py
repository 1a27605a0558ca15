"""Alignments that change what a store holds: phones in the place of the frontend's, silences cut, mels cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tts_prep.errors import AlignmentError
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.corpora.utterance import Failure, Utterance
from tts_prep.preprocess.features.alignments.alignment import Alignment, AlignmentConfig, AlignmentFolder


@dataclass(frozen=True)
class Alignments:
    """The alignments of a corpus, and what becomes of them."""

    folder: AlignmentFolder
    settings: AlignmentConfig

    def read(self, utterance: Utterance) -> AlignedUtterance:
        """Read the alignment of an utterance.

        Raises:
            AlignmentError: it is missing or broken, or holds no labels where they are needed.
        """
        return AlignedUtterance(self.folder.read(utterance.id, utterance.speaker, self.settings.tier), self.settings)

    def marked(self, items: Iterable[Utterance | Failure]) -> Iterator[Utterance | Failure]:
        """Yield the rows of a corpus with the checksums of their alignments, which their shards depend on."""
        for item in items:
            if isinstance(item, Utterance):
                yield replace(item, alignment=self.folder.sha256(item.id, item.speaker) or "")
            else:
                yield item


@dataclass(frozen=True)
class AlignedUtterance:
    """One utterance's alignment, applied to its recording and its phonemes."""

    alignment: Alignment
    settings: AlignmentConfig

    @property
    def _phones(self) -> Alignment:
        return self.alignment.trimmed() if self.settings.silences == "cut" else self.alignment

    @property
    def phonemes(self) -> tuple[str, ...] | None:
        """The labels of the phones, mapped by the table of the settings; None where the frontend's phonemes are kept.

        Raises:
            AlignmentError: the file holds no labels.
        """
        return self._phones.symbols(self.settings) if self.settings.phonemes == "alignment" else None

    def cut(self, waveform: Waveform, sample_rate: int, hop_length: int) -> Waveform:
        """Return a recording without the silences at its ends, where they are to be cut.

        Raises:
            AlignmentError: the phones end after the recording, or nothing is left of it.
        """
        if self.settings.silences != "cut":
            return waveform
        start, stop = self.alignment.span(self.settings, sample_rate, hop_length, len(waveform))
        if stop <= start:
            raise AlignmentError(
                f"{self.alignment.where}: the phones lie from sample {start:,} to {stop:,}, the recording has "
                f"{len(waveform):,}: is it the alignment of another recording?"
            )
        return waveform[start:stop]

    def n_frames(self, sample_rate: int, hop_length: int, n_frames: int) -> int:
        """Return how many frames of the mel are kept.

        Raises:
            AlignmentError: the durations differ from the mel by more than rounding does.
        """
        durations, _ = self._phones.durations(self.settings, sample_rate, hop_length, n_frames)
        return int(durations.sum())
