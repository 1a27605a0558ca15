"""Models in ``tts-prep add``: their options, and how they are called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tts_prep.cli.options import Addition
from tts_prep.cli.output import make_progress, say, say_array
from tts_prep.errors import one_line
from tts_prep.preprocess.option import OptionTable
from tts_prep.quantities import count_text

if TYPE_CHECKING:
    from tts_prep.models.function import ModelFunction
    from tts_prep.preprocess.features.feature import CorpusAlignments
    from tts_prep.preprocess.plan.planned_store import CorpusRows

OPTIONS: Final = Addition(OptionTable(__file__)["add"])


def add(
    store: Path,
    models: Iterable[ModelFunction],
    options: Mapping[str, Any],
    rows: Callable[[], CorpusRows | None],
    aligned: CorpusAlignments | None,
    jobs: int,
) -> None:
    """Call models on all utterances of a complete store, one after another, and print what was added.

    Args:
        rows: returns the rows of the corpus, which each model reads once; or None for the waveforms of the store.
    """
    from tts_prep.additions.add_arrays import ModelRun
    from tts_prep.models.add_model import add_model

    given = {one.name: options[one.name] for one in fields(ModelRun) if one.name in options}
    given["devices"] = None if given["devices"] is None else tuple(filter(None, given["devices"].split(",")))
    for model in models:
        with make_progress(sys.stderr) as progress:
            run = ModelRun(**given, progress=progress).on(jobs)
            added = add_model(store, replace(model, batch_seconds=options["batch_seconds"]), run, rows(), aligned)
        say(f"{store}: columns {', '.join(added.columns)}")
        if added.missing:
            first = "; ".join(f"{uid}: {reason}" for uid, reason in list(added.missing.items())[:3])
            more = "; …" if len(added.missing) > 3 else ""
            have = "has" if len(added.missing) == 1 else "have"
            say(one_line(f"  {count_text(len(added.missing), 'utterance')} {have} no value: {first}{more}"))
        for spec in added.arrays:
            say_array(store, spec, {})
