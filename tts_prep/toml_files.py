"""Tables in files beside the code."""

import importlib.resources
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_toml(package: str, *path: str) -> dict[str, Any]:
    """Return the contents of a TOML file of a package."""
    return tomllib.loads(importlib.resources.files(package).joinpath(*path).read_text("utf-8"))
