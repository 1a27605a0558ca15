"""The record of a layout, beside the function that writes it: command, help, messages and documentation read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tts_prep.export.folder import ExportFolder
from tts_prep.loader import UtteranceDataset


@dataclass(frozen=True)
class Layout:
    """A layout of another system.

    Attributes:
        name: the name, as in ``--to``.
        write: writes a store's utterances to a folder.
        files: what is written, in Markdown.
        opened_by: what opens it, in Markdown.
        needs: what it needs besides mels and phonemes, in Markdown.
        system: the system in messages.
        takes_licence: whether it has a place for the licence of the data.
        other_names: what people type instead of the name.
    """

    name: str
    write: Callable[[UtteranceDataset, ExportFolder], None]
    files: str
    opened_by: str
    needs: str = ""
    system: str = ""
    takes_licence: bool = False
    other_names: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """What is written, what opens it, and what it needs, without marks of Markdown."""
        needs = f"; needs {self.needs}" if self.needs else ""
        return f"{self.files}; for {self.opened_by}{needs}".replace("`", "")
