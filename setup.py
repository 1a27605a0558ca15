"""The long description: the README with absolute links, because relative links do not work on a package index."""

import re
from pathlib import Path

from setuptools import setup

REPOSITORY = "https://github.com/tts-prep/tts-prep"


def with_addresses(text: str) -> str:
    """Replace relative links and pictures in Markdown by addresses in the repository."""
    link = r"\]\((?!https?:|#)([^)]+)\)"
    text = re.sub(rf"(!\[[^\]]*){link}", rf"\1]({REPOSITORY}/raw/main/\2)", text)
    return re.sub(link, rf"]({REPOSITORY}/blob/main/\1)", text)


readme = Path(__file__).with_name("README.md").read_text("utf-8")
setup(long_description=with_addresses(readme), long_description_content_type="text/markdown")
