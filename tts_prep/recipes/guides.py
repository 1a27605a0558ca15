"""What to run for each system, from raw recordings to a batch, a command and a few lines of Python, or to its files.

The commands come from the records of what recipes accept, so that they say what messages and pages say. Systems are in
``guides/guides.toml``, the code in ``guides/NAME.txt``; it reads the store ``store``, and makes ``batch``.
"""

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tts_prep.recipes import accepted
from tts_prep.recipes.accepted import Recipe
from tts_prep.toml_files import read_toml


@dataclass(frozen=True)
class Guide:
    """What to run for a system.

    Attributes:
        name: the name for ``tts-prep recipes``.
        recipe: what its recipe accepts, or the name of a system that is trained on files.
        trains: what is trained, in some words.
        more: options that the system's own configuration needs besides those of its recipe, or that save time.
        layout: that of the files; empty for a recipe.
        then: what the system does with the files.
        install: the packages that the commands and the code import.
    """

    name: str
    recipe: Recipe | str
    trains: str
    more: str = ""
    layout: str = ""
    then: str = ""
    install: str = "'tts-prep[prepare]' torch"

    @property
    def system(self) -> str:
        """The name of the system."""
        return self.recipe if isinstance(self.recipe, str) else self.recipe.system

    @property
    def command(self) -> str:
        """The command that makes the store of a corpus, and for files that which writes them."""
        command, export = "tts-prep ljspeech CORPUS store", f"tts-prep export store files --to {self.layout}"
        if isinstance(self.recipe, str):
            return f"{command} {self.more}\n{export}"
        options = (*self.recipe.options({}), *self.recipe.options_of_ids, *(need.option for need in self.recipe.needs))
        return " ".join((command, *options, self.more)).rstrip()

    @property
    def code(self) -> str:
        """Python that makes the first batch of the store, or what is done with the files."""
        if self.then:
            return f"# {self.then}\n"
        return importlib.resources.files(__package__).joinpath("guides", f"{self.name}.txt").read_text("utf-8")


_SECTIONS: Final = read_toml(__package__, "guides", "guides.toml")
PLACES: Final[Mapping[str, str]] = MappingProxyType(_SECTIONS.pop("places"))
"""What stands for the words of commands that the user replaces."""
GUIDES: Final[Mapping[str, Guide]] = MappingProxyType(
    {name: Guide(name, vars(accepted).get(of["recipe"], of.pop("recipe")), **of) for name, of in _SECTIONS.items()}
)
"""The systems by name."""
