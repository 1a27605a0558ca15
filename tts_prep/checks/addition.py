"""``tts-prep add --measures``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tts_prep.cli.additions import Addition
from tts_prep.cli.verbosity import say
from tts_prep.preprocess.option import Option


def _add_measures(store: Path, _: Mapping[str, Any]) -> None:
    from tts_prep.checks.index_columns import ARRAY, measures_spec, measures_table
    from tts_prep.checks.measuring import measure
    from tts_prep.cli.progress import make_progress
    from tts_prep.loader import UtteranceDataset
    from tts_prep.preprocess.add.add_columns import add_index_array

    with make_progress(sys.stderr) as progress:

        def values() -> Any:
            return measures_table(measure(UtteranceDataset(store), use_stored=False, progress=progress))

        manifest = add_index_array(store, measures_spec, values, progress)
    names = manifest.specs[ARRAY].index_columns
    say(f"{store}: {len(names)} columns of measures: {', '.join(names)}")


MEASURES: Final = Addition(
    (Option("measures", "Add the measures of 'tts-prep check' as columns of the index.", bool, default=False),),
    _add_measures,
)
