"""What is asked of a run, in one record: of it come the keywords of `prepare`, and the options of commands by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tts_prep.errors import ConfigurationError
from tts_prep.format.records.provenance import Provenance
from tts_prep.preprocess.plan.planned_store import Corrected
from tts_prep.preprocess.workers.pool import Backend
from tts_prep.progress import ShowProgress, in_notebooks

if TYPE_CHECKING:
    from tts_prep.preprocess.features.feature import CorpusAlignments, Feature


@dataclass(frozen=True)
class Part:
    """Part ``number`` of ``count``, counted from 1.

    Example:
        >>> from tts_prep.preprocess import Part
        >>> Part.parse("3/16")
        Part(number=3, count=16)
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Parse ``"3/16"``.

        Raises:
            ConfigurationError: the text is malformed.
        """
        number, slash, count = text.partition("/")
        digits = number.isascii() and number.isdecimal() and count.isascii() and count.isdecimal() and len(text) < 20
        if not (slash and digits and 1 <= int(number) <= int(count)):
            raise ConfigurationError(f"part: expected K/N with K from 1 to N, such as 3/16, found {text!r}")
        return cls(int(number), int(count))


_HERE: Final = Backend()
_UNSAID: Final = Provenance()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a run, besides the rows and the settings of a store.

    An option of all corpora whose name is that of a field needs no other line: the command passes it on.

    Attributes:
        existing: ``"resume"`` continues an unfinished store, and refuses one with other settings or rows;
            ``"overwrite"`` replaces it; ``"update"`` replaces it, and takes over what has the same rows and settings.
            A complete store is never modified in place: the new one is made beside it, and replaces it atomically.
        part: make only the shards of this part, in any order, also at the same time on several machines;
            `tts_prep.preprocess.finish_store` finishes the store.
        jobs: the number of worker processes.
        backend: where the worker processes run.
        max_failures: the maximum number of rows that may fail, or their share (``"1%"``, rounded down).
        progress: called with the number of finished rows; see `tts_prep.preprocess.ProgressBar`.
        features: the features of added arrays; see `tts_prep.preprocess.make_feature`.
        alignments: the alignments, if the configuration says that they change shards.
        corrections: the corrected rows that the rows are, or are made of; the store records what was corrected.
        provenance: licence and origin of recordings and texts; what it leaves out stays as it is in the store.
        rereads: read all recordings of a complete store again, not only those whose size or time has changed.
    """

    existing: Literal["resume", "update", "overwrite"] = "resume"
    part: Part | None = None
    jobs: int = 1
    backend: Backend = _HERE
    max_failures: str | int = "1%"
    progress: ShowProgress = in_notebooks
    features: Sequence[Feature] = ()
    alignments: CorpusAlignments | None = None
    corrections: Corrected | None = None
    provenance: Provenance = _UNSAID
    rereads: bool = False

    def __post_init__(self) -> None:
        if self.features:
            from tts_prep.preprocess.features.feature import specs_of

            specs_of(self.features)
