"""What cells of a notebook show, in a kernel, as it is sent to a browser."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from corpora import write_ljspeech

nbclient: Any = pytest.importorskip("nbclient", reason="runs notebooks")
pytest.importorskip("ipykernel", reason="the kernel of notebooks")
pytest.importorskip("matplotlib", reason="draws plots")

PAGE = Path(__file__).parents[2] / "docs/python-api.md"
ONCE = ("import matplotlib.pyplot\ndataset[0].plot()", "dataset[0].plot();", "kept = dataset[0].plot()")
SHORT = (
    "dataset, dataset.metadata, dataset[0].arrays, list(read_corpus('ljspeech', root)[0])[0]",
    "from tts_prep.preprocess import PRESETS\nPRESETS['tortoise'], dataset.arrays['phonemes']",
    "from tts_prep.inference import *\nfrontend_of('tried').vocab, frontend_of('tried'), mel_of('tried')",
)


def shown_by(cells: list[str], folder: Path) -> tuple[list[list[dict[str, Any]]], Any]:
    """Run cells in a kernel, and return what each shows, and the state of widgets."""
    from nbformat import v4

    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(
        notebook, resources={"metadata": {"path": str(folder)}}, coalesce_streams=True, kernel_name="python3"
    ).execute()
    return [[dict(output) for output in cell.outputs] for cell in notebook.cells], notebook.metadata.get("widgets")


@pytest.mark.whole
def test_the_cells_of_the_page_show_one_line_of_progress_short_texts_and_each_picture_once(tmp_path: Path) -> None:
    write_ljspeech(tmp_path / "LJSpeech-1.1")
    (block,) = re.findall(r"## In a notebook\n.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    cells = block.split("\n\n")
    outputs, widgets = shown_by([*cells, *ONCE, *SHORT], tmp_path)

    (_, _, (*bar, result), (utterance,), (plotted,), (batch,)), rest = outputs[: len(cells)], outputs[len(cells) :]
    # A text, or the state of ipywidgets, where they are installed.
    assert "7/7" in f"{bar} {widgets}"
    if not widgets:
        (line,) = bar
        # A browser shows what follows the last return.
        assert line["text"].rstrip("\n").count("\n") == 0
        assert not re.search(r"\x1b|Warning", line["text"])
        assert "7/7" in line["text"].rpartition("\r")[2]
    assert "shards=1" in result["data"]["text/plain"]
    assert "<svg" in utterance["data"]["text/html"]
    assert "<audio" in utterance["data"]["text/html"]
    (again,), silent, kept = rest[: len(ONCE)]
    for picture in (plotted, again):
        assert base64.b64decode(picture["data"]["image/png"]).startswith(b"\x89PNG")
    assert not silent
    assert not kept
    texts = [output["data"]["text/plain"] for (output,) in (outputs[1], [utterance], [batch], *rest[len(ONCE) :])]
    for text in texts:
        assert len(text) < 450, text
        assert text.count("\n") < 4, text
        assert not re.search(r"object at 0x", text), text
    assert "preset='hifigan'" in texts[0]
    assert "symbols" in texts[-1]
