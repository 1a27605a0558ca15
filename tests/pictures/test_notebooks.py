"""What cells of a notebook show, in a kernel, as it is sent to a browser."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from corpora import write_ljspeech

nbclient: Any = pytest.importorskip("nbclient", reason="runs notebooks")
pytest.importorskip("ipykernel", reason="the kernel of notebooks")

_PREPARE = """
from pathlib import Path
from tts_prep import loader, preprocess as p
rows, root = p.read_corpus("ljspeech", Path("corpus").absolute())
config = p.configure("ljspeech", preset="hifigan", settings={"text": {"frontend": "characters"}})
p.prepare(rows, root, Path("store").absolute(), config, jobs=1);
"""


def test_a_cell_shows_how_far_a_run_is_and_the_plot_of_an_utterance(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="draws plots")
    from nbformat import v4

    write_ljspeech(tmp_path / "corpus")
    cells = [v4.new_code_cell(text) for text in (_PREPARE, "loader.UtteranceDataset('store')[0].plot()")]
    notebook = v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    prepared, plotted = ([dict(output) for output in cell.outputs] for cell in notebook.cells)
    # A text, or the state of ipywidgets, where they are installed.
    assert prepared
    assert "7/7" in f"{prepared} {notebook.metadata.get('widgets')}"
    (shown,) = plotted
    assert base64.b64decode(shown["data"]["image/png"]).startswith(b"\x89PNG")
