"""The layouts of exports by name."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tts_prep.errors import ConfigurationError
from tts_prep.export.layout import Layout, exporting
from tts_prep.export.rows import added_arrays, corpus_columns
from tts_prep.format.records.provenance import Provenance
from tts_prep.loader import UtteranceDataset
from tts_prep.toml_files import read_toml


def _layouts() -> Mapping[str, Layout]:
    """Return the layouts of ``layouts.toml``, in which each has a section with its fields."""
    sections = read_toml(__package__, "layouts.toml")
    return {name: Layout(name, **of) for name, of in sections.items()}


LAYOUTS: Mapping[str, Layout] = _layouts()
"""The layouts by name."""


def export(
    store: str | Path,
    layout: str,
    folder: str | Path,
    *,
    licence: str = "",
    report: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write a store in the layout of another system, and return the paths of the files.

    The folder appears when all of its files are complete.

    Example:
        >>> from tts_prep.export import export
        >>> sorted(path.name for path in export("other", "kaldi", "kaldi-data"))[:3]
        ['feats.ark', 'feats.scp', 'phn_text']

    Args:
        store: the store.
        layout: one of `LAYOUTS`, such as ``lhotse``.
        folder: a folder that is new or empty.
        licence: the licence of recordings and texts, for layouts that have a place for it: an identifier of the Hub
            such as ``cc-by-4.0``, or a text. That of the store if it is not given.
        report: called with a line about utterances that are left out.

    Raises:
        ConfigurationError: the layout is unknown, has no place for a licence, or needs arrays that the store lacks; the
            licence is too long, or has control characters; or the folder is not empty.
        StoreError: the store is missing or incomplete, or a file cannot be written.
    """
    found, licence = _find(layout), Provenance(licence).checked().licence
    if licence and not found.takes_licence:
        with_place = ", ".join(other.name for other in LAYOUTS.values() if other.takes_licence)
        raise ConfigurationError(f"licence: {found.name} has no place for it; {with_place} has")
    dataset = UtteranceDataset(store)
    if not len(dataset):
        raise ConfigurationError(f"{store}: has no utterances; there is nothing to export")
    if found.needs_mels and not dataset.n_mels:
        raise ConfigurationError(f"{store}: {found.name} needs mels, and the store has none; make one with mels")
    place = Path(folder)
    with exporting(place) as target:
        target.licence, target.report = licence, report
        module, _, function = found.write.partition(":")
        getattr(importlib.import_module(f"{__package__}.{module}"), function)(dataset, target)
        if left_out := _left_out(dataset, found, target.carried):
            report(f"left out: {', '.join(left_out)}; {found.name} has no place for them")
    return [place / name for name in target.files]


def _left_out(dataset: UtteranceDataset, layout: Layout, carried: set[str]) -> list[str]:
    """Return the arrays and columns that an export does not have."""
    if layout.carries == "all":
        return []
    columns = [] if layout.carries == "columns" else list(corpus_columns(dataset, ()))
    return [name for name in (*added_arrays(dataset), *columns) if name not in {*carried, *layout.carries}]


def _find(name: str) -> Layout:
    if name in LAYOUTS:
        return LAYOUTS[name]
    meant = next((layout for layout in LAYOUTS.values() if name.lower() in layout.other_names), None)
    hint = f"; the layout for {meant.system} is {meant.name!r}" if meant else ""
    raise ConfigurationError(f"to: expected one of {', '.join(LAYOUTS)}, found {name!r}{hint}")
