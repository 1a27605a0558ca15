"""Make pictures of the demo: ``python docs/make_pictures.py [NAME...]``; needs chromium and chromedriver."""

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
from PIL.PngImagePlugin import PngInfo

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from browser import Browser  # noqa: E402

COMMANDS = (
    "ljspeech demo/corpus store --preset hifigan --waveform int16 --jobs 2",
    "info store",
    "plan store",
)
"""What the picture of a terminal shows, on the folder ``demo`` of ``tts-prep demo demo``."""

COLOURS = {"1": "font-weight:bold;color:#fff", "32": "color:#8fd18f", "36": "color:#7fd1e8", "2": "opacity:.7"}


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


def at_the_end(shown: str) -> str:
    """Return what a terminal shows at the end: carriage returns overwrite; escapes that colour are kept."""
    return "\n".join(re.sub(r"\x1b\[[0-9;]*[A-HJKf]", "", line.split("\r")[-1]) for line in shown.split("\n"))


def as_html(text: str) -> str:
    """Return a text with escapes that colour as HTML."""
    text = re.sub(r"^\$", "\x1b[32m$\x1b[0m", html.escape(text), flags=re.MULTILINE)
    text = re.sub(r"\x1b\[0?m", "</span>", text)
    return re.sub(r"\x1b\[([0-9;]+)m", lambda m: f'<span style="{COLOURS.get(m[1], "")}">', text)


def shrunk(path: Path, colours: int, text: str = "") -> None:
    """Store a picture with a palette, and with its text, which a test compares with what commands print."""
    about = PngInfo()
    if text:
        about.add_itxt("Description", text, zip=True)
    picture = Image.open(path).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    picture.save(path, optimize=True, pnginfo=about)


def picture_of_a_review(store: Path, path: Path) -> None:
    """Make the picture of the page of a review: light above, dark below."""
    from tts_prep.loader import UtteranceDataset
    from tts_prep.review.decisions import Decision, DecisionFile
    from tts_prep.review.pages import Pages
    from tts_prep.review.server import ReviewServer
    from tts_prep.review.sounds import Sounds

    dataset = UtteranceDataset(store)
    decisions = DecisionFile(store.parent / "decisions.csv")
    trimmed = Decision(regions=f"0.250000-{dataset.seconds[9] - 0.4:.6f}")
    for row, decision in ((29, Decision("no")), (0, Decision("yes")), (1, Decision("unsure")), (9, trimmed)):
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
                for selector in ("#neighbours li", "#parts canvas"):
                    browser.wait(
                        f"document.querySelector('{selector}') && document.querySelector('#source').textContent"
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


def picture_of_a_terminal(shown: str, folder: Path, path: Path) -> None:
    """Make the picture of what commands print."""
    style = "margin:0;padding:16px 20px;background:#16181d;color:#d7dae0;font:14px/1.45 'DejaVu Sans Mono',monospace"
    page = folder / "terminal.html"
    page.write_text(f'<meta charset="utf-8"><body style="margin:0"><pre style="{style}">{shown}</pre>')
    browser = Browser()
    try:
        browser.show(width=1250, height=100)
        browser.open(page)
        browser.screenshot(path, whole=True)
    finally:
        browser.close()


def picture_of_a_report(report: Path, path: Path) -> None:
    """Make the picture of a report: its start, light, and the suspects of a reason, dark."""
    picture = Image.new("RGB", (1280, 1000))
    browser = Browser()
    try:
        for number, (scheme, section) in enumerate((("light", "overview"), ("dark", "reason-clipped"))):
            browser.show(width=640, height=1000, scheme=scheme)
            browser.open(report)
            browser.run(f"document.querySelector('#{section}').scrollIntoView()")
            browser.screenshot(report.parent / f"{scheme}.png")
            picture.paste(Image.open(report.parent / f"{scheme}.png"), (640 * number, 0))
    finally:
        browser.close()
    picture.save(path)


def main(names: list[str]) -> None:
    """Make the pictures, or some of them by name."""
    python = f"PYTHONPATH={DOCS.parent} {sys.executable} -m tts_prep"
    colours = {"terminal": 64, "report": 128, "review": 128}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spoken(f"{python} demo demo", folder)
        shown = [at_the_end(spoken(f"{python} {command}", folder)).strip("\n") for command in COMMANDS]
        text = "\n\n".join(f"$ tts-prep {command}\n{printed}" for command, printed in zip(COMMANDS, shown, strict=True))
        spoken(f"{python} add store --corpus demo/corpus --feature pitch", folder)
        spoken(f"{python} report store", folder)
        for name in names or colours:
            path = DOCS / "images" / f"{name}.png"
            if name == "terminal":
                picture_of_a_terminal(as_html(text), folder, path)
            elif name == "report":
                picture_of_a_report(folder / "report.html", path)
            else:
                picture_of_a_review(folder / "store", path)
            shrunk(path, colours[name], re.sub(r"\x1b\[[0-9;]*m", "", text) if name == "terminal" else "")


if __name__ == "__main__":
    main(sys.argv[1:])
