"""The options of the settings: name, type and help, once, in ``options.json``.

Commands, the groups of their help, and the settings that `configure` takes from them follow from this table. It imports
none of the records, because they import NumPy, which a help text does not need; a test compares it with them.
"""

from collections.abc import Iterable

from tts_prep.preprocess.option import OptionTable

SETTINGS = OptionTable(__file__)
"""The options by the table of their settings in a configuration file; other settings have no option."""


def preset_names() -> Iterable[str]:
    """Return the presets, for the completion of a shell."""
    from tts_prep.preprocess.audio.presets import PRESETS

    return PRESETS


def symbol_tables() -> Iterable[str]:
    """Return the symbol tables, for the completion of a shell."""
    from tts_prep.preprocess.text.symbols import AUTO, TABLES

    return (*TABLES, AUTO)
