"""Configuration of the documentation site: ``make docs``."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import index
from sphinx.application import Sphinx

from tts_prep import __version__

project = "tts-prep"
author = "The tts-prep developers"
copyright = author  # noqa: A001
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tts-prep {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(Path(__file__).with_name("search-scores.js"))

# The pages are read on their own too: plain Markdown, with links between headings as code hosts make them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "inherited-members": False}
add_module_names = False
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = True
# `name` in a docstring is code.
default_role = "literal"


WORDS = re.findall(
    r"^\| (.+) \| \[.+\]\((.+)\.md(?:#(.+))?\) \|$",
    Path(__file__).with_name("words.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""Words, the page and the heading where they are."""


def add_words(app: Sphinx, page: nodes.document) -> None:
    """Give a page the words by which the search finds it first."""
    found = [(word, anchor) for words, name, anchor in WORDS if name == app.env.docname for word in words.split(", ")]
    page.insert(0, index(entries=[("single", word, anchor, "main", None) for word, anchor in found]))


def setup(app: Sphinx) -> None:
    """Add the words of `words.md` to the search.

    The list of source code has no link to the module of `Option.kind`, a type of Python without a page.
    """
    app.connect("doctree-read", add_words)
    app.connect("viewcode-follow-imported", lambda _, module, name: module if name == "Option.kind" else None)
