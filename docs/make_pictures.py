"""Make pictures of the demo: ``python docs/make_pictures.py``; needs chromium and chromedriver."""

from __future__ import annotations

import html
import io
import os
import pty
import re
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from browser import Browser  # noqa: E402

COLOURS = {"1": "font-weight:bold;color:#fff", "36": "color:#7fd1e8", "2": "opacity:.7"}


def spoken(command: str, folder: Path) -> str:
    """Run a command in a terminal of 100 columns, and return what it showed."""
    os.environ.update(COLUMNS="100", LINES="50", TERM="xterm-256color")
    shown = io.BytesIO()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 4096)
        shown.write(data)
        return data

    here = Path.cwd()
    os.chdir(folder)
    try:
        pty.spawn(["bash", "-c", f"stty cols 100 rows 50; {command}"], read)
    finally:
        os.chdir(here)
    return shown.getvalue().decode("utf-8").replace("\r\n", "\n")


def as_html(shown: str) -> str:
    """Return what a terminal shows at the end: carriage returns overwrite, escapes colour."""
    lines = [re.sub(r"\x1b\[[0-9;]*[A-HJKf]", "", line.split("\r")[-1]) for line in shown.split("\n")]
    text = html.escape("\n".join(lines))
    text = re.sub(r"\x1b\[0?m", "</span>", text)
    return re.sub(r"\x1b\[([0-9;]+)m", lambda m: f'<span style="{COLOURS.get(m[1], "")}">', text)


def shrunk(path: Path, colours: int) -> None:
    """Store a picture with a palette."""
    Image.open(path).convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)


def picture_of_a_review(store: Path, path: Path) -> None:
    """Make the picture of the page of a review: light above, dark below."""
    from tts_prep.loader import UtteranceDataset
    from tts_prep.review.decisions import Decision, DecisionFile
    from tts_prep.review.pages import Pages
    from tts_prep.review.server import ReviewServer
    from tts_prep.review.sounds import Sounds

    dataset = UtteranceDataset(store)
    decisions = DecisionFile(store.parent / "decisions.csv")
    for row, decision in ((29, Decision("no")), (0, Decision("yes")), (1, Decision("unsure"))):
        decisions.decide(dataset.id[row], decision)
    pages = Pages(dataset, decisions, Sounds(dataset))
    pages.measure()
    browser = Browser()
    try:
        with ReviewServer(pages) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            for scheme in ("light", "dark"):
                browser.go("about:blank")
                browser.show(width=1280, height=800, scheme=scheme)
                browser.go(f"{server.address}#id={dataset.id[9]}")
                browser.wait(
                    "document.querySelector('#neighbours li') && document.querySelector('#source').textContent"
                )
                browser.screenshot(store.parent / f"review-{scheme}.png")
            server.shutdown()
    finally:
        browser.close()
    halves = [Image.open(store.parent / f"review-{scheme}.png") for scheme in ("light", "dark")]
    picture = Image.new("RGB", (1280, 1616), "#8a8f99")
    for number, half in enumerate(halves):
        picture.paste(half, (0, number * 816))
    picture.save(path)


def main() -> None:
    """Make the pictures."""
    images = DOCS / "images"
    python = f"PYTHONPATH={DOCS.parent} {sys.executable} -m tts_prep"
    commands = [
        "tts-prep ljspeech demo/corpus store --waveform int16 --jobs 2",
        "tts-prep info store",
        "tts-prep plan store",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spoken(f"{python} demo demo", folder)
        parts = []
        for command in commands:
            shown = as_html(spoken(command.replace("tts-prep", python, 1), folder).rstrip())
            parts.append(f'<span style="color:#8fd18f">$</span> {html.escape(command)}\n{shown}\n')
        spoken(f"{python} add store --corpus demo/corpus --feature pitch", folder)
        spoken(f"{python} report store", folder)
        picture_of_a_review(folder / "store", images / "review.png")
        terminal = folder / "terminal.html"
        style = (
            "margin:0;padding:16px 20px;background:#16181d;color:#d7dae0;font:14px/1.45 'DejaVu Sans Mono',monospace"
        )
        body = "\n".join(parts)
        terminal.write_text(f'<meta charset="utf-8"><body style="margin:0"><pre style="{style}">{body}</pre>')
        browser = Browser()
        try:
            browser.show(width=1250, height=100)
            browser.open(terminal)
            browser.screenshot(images / "terminal.png", whole=True)
            halves = []
            for scheme, section in (("light", "overview"), ("dark", "reason-clipped")):
                browser.show(width=640, height=1000, scheme=scheme)
                browser.open(folder / "report.html")
                browser.run(f"document.querySelector('#{section}').scrollIntoView()")
                browser.screenshot(folder / f"{scheme}.png")
                halves.append(Image.open(folder / f"{scheme}.png"))
        finally:
            browser.close()
        picture = Image.new("RGB", (1280, 1000))
        picture.paste(halves[0], (0, 0))
        picture.paste(halves[1], (640, 0))
        picture.save(images / "report.png")
    shrunk(images / "terminal.png", 64)
    shrunk(images / "report.png", 128)
    shrunk(images / "review.png", 128)


if __name__ == "__main__":
    main()
