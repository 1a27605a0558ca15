"""Apply alignments to utterances: replace phonemes, cut silences, cut mels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tts_prep.errors import AlignmentError
from tts_prep.format.records.failures import Failure
from tts_prep.preprocess.audio.cleaning.trimming import Cut
from tts_prep.preprocess.audio.framing import Waveform
from tts_prep.preprocess.features.alignments.alignment import Alignment, AlignmentConfig, AlignmentFolder
from tts_prep.preprocess.source_utterance import SourceUtterance


@dataclass(frozen=True)
class CorpusAlignments:
    """The alignments of a corpus, and their settings."""

    folder: AlignmentFolder
    settings: AlignmentConfig

    def read(self, utterance: SourceUtterance) -> AlignedUtterance:
        """Read the alignment of an utterance.

        Raises:
            AlignmentError: the alignment is missing or broken.
        """
        return AlignedUtterance(self.folder.read(utterance.id, utterance.speaker, self.settings.tier), self.settings)

    def with_checksums(self, items: Iterable[SourceUtterance | Failure]) -> Iterator[SourceUtterance | Failure]:
        """Yield the rows of a corpus with the checksums of their alignments, which become part of shard keys."""
        for item in items:
            if isinstance(item, SourceUtterance):
                yield replace(item, alignment=self.folder.sha256(item.id, item.speaker) or "")
            else:
                yield item


@dataclass(frozen=True)
class AlignedUtterance:
    """The alignment of one utterance, to be applied to its recording and phonemes."""

    alignment: Alignment
    settings: AlignmentConfig

    @property
    def _phones(self) -> Alignment:
        return self.alignment.trimmed() if self.settings.silences == "cut" else self.alignment

    @property
    def phonemes(self) -> tuple[str, ...] | None:
        """The labels of phones as symbols; None if the frontend's phonemes are kept.

        Raises:
            AlignmentError: the file has no labels.
        """
        return self._phones.symbols(self.settings) if self.settings.phonemes == "alignment" else None

    def within(self, cut: Cut, sample_rate: int, hop_length: int) -> AlignedUtterance:
        """Return the alignment of what trimming kept of the recording.

        Raises:
            AlignmentError: trimming cuts phones off, or the alignment does not fit the recording.
        """
        return replace(self, alignment=self.alignment.within(cut, self.settings, sample_rate, hop_length))

    def cut(self, waveform: Waveform, sample_rate: int, hop_length: int) -> Waveform:
        """Return a recording without the silences at its ends, if they are to be cut.

        Raises:
            AlignmentError: nothing is left of the recording.
        """
        if self.settings.silences != "cut":
            return waveform
        start, stop = self.alignment.span(self.settings, sample_rate, hop_length, len(waveform))
        if stop <= start:
            raise AlignmentError(
                f"{self.alignment.where}: the phones are from sample {start:,} to {stop:,}, but the recording has "
                f"{len(waveform):,}: is it the alignment of another recording?"
            )
        return waveform[start:stop]

    def n_frames(self, sample_rate: int, hop_length: int, n_frames: int) -> int:
        """Return the number of mel frames to keep.

        Raises:
            AlignmentError: the durations differ from the mel by more than two frames.
        """
        durations, _ = self._phones.durations(self.settings, sample_rate, hop_length, n_frames)
        return int(durations.sum())
