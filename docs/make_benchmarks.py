"""Put the results of benchmarks into docs/benchmarks.md, draw plots, and compare with the last committed results.

    python docs/make_benchmarks.py [--check PERCENT]

A table stands on the page between ``<!-- table NAME -->`` and ``<!-- end -->``; NAME is that of a file in
``benchmarks/results/``. Plots stand between ``<!-- plot NAME -->`` and ``<!-- end -->``: SVG files in docs/images/, of
all results that have their numbers. What became slower by more than so many percent is printed.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from results import FOLDER, Result, read_result  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
_PLOT = re.compile(r"(<!-- plot ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 300, 70, 48, 34, 150
COLOURS = ("#2f6f9f", "#c25b3a", "#5a8f4a", "#8a5fa8", "#8c7a3d")

STYLE = (
    "text{fill:#1a1a1a}.page{fill:#fff}.grid{stroke:#ddd}@media (prefers-color-scheme:dark)"
    "{text{fill:#e4e4e4}.page{fill:#16181d}.grid{stroke:#3d414b}}"
)
"""A picture has a background of its own: it can be read where the page is light and the reader's system dark."""

Series = Mapping[str, Sequence[tuple[float, float]]]


def read_results() -> dict[str, Result]:
    return {path.stem: read_result(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def filled(page: str, results: Mapping[str, Result]) -> str:
    """Return the page with the tables of all results that it has a place for."""

    def table(match: re.Match[str]) -> str:
        result = results.get(match[2])
        if result is None:
            return match[0]
        versions = "; ".join(result.versions)
        parts = (result.settings, result.table(), f"On {result.machine}.{f' {versions}.' if versions else ''}")
        return match[1] + "\n\n".join(parts) + "\n" + match[3]

    def picture(match: re.Match[str]) -> str:
        if not (IMAGES / f"{match[2]}.svg").exists():
            return match[0]
        return f"{match[1]}![{match[2].replace('-', ' ').capitalize()}](images/{match[2]}.svg)\n{match[3]}"

    return _PLOT.sub(picture, _TABLE.sub(table, page))


def slower(results: Mapping[str, Result], percent: float) -> Iterator[str]:
    """Yield a line for everything that takes longer than in the last commit, by more than so many percent."""
    for name, result in results.items():
        path = (FOLDER / f"{name}.json").relative_to(ROOT)
        committed = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=ROOT, capture_output=True, text=True)
        if committed.returncode:
            continue
        before = read_result(committed.stdout)
        if (before.machine, before.settings) != (result.machine, result.settings):
            yield f"{name}: not compared, measured as '{before.settings}' on {before.machine} before"
            continue
        for row, value in result.measured.items():
            change = 100 * (value / before.measured[row] - 1) if before.measured.get(row) else 0.0
            if change > percent:
                yield f"{name}: {row}: {value:.4g}, {before.measured[row]:.4g} before, {change:+.0f} %"


def beginning(title: str, height: float) -> str:
    """Return the beginning of an SVG, with its title above what follows."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{title}</title><style>{STYLE}</style><rect class="page" width="{WIDTH}" '
        f'height="{height}"/><text x="10" y="18" font-size="14">{title}</text>'
    )


def plot(title: str, x_title: str, y_title: str, series: Series) -> str:
    """Return an SVG of lines over categories that are equally far apart, with the y axis from 0."""
    places = sorted({x for points in series.values() for x, _ in points})
    top = 1.08 * max(y for points in series.values() for _, y in points)
    step = 10 ** (len(str(int(top))) - 1) / (1 if str(int(top))[0] > "3" else 2)

    def at(x: float, y: float) -> tuple[float, float]:
        along = (places.index(x) + 0.5) / len(places)
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / top * (HEIGHT - BOTTOM - TOP)

    parts = [
        beginning(title, HEIGHT),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{x_title}</text>',
        f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{y_title}</text>',
    ]
    for number in range(int(top / step) + 1):
        _, y = at(places[0], number * step)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number * step:,.0f}</text>')
    parts += [
        f'<text x="{at(x, 0)[0]:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>' for x in places
    ]
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn = [at(x, y) for x, y in sorted(points)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in drawn]
        y = TOP + 14 + 18 * number
        parts.append(f'<rect x="{WIDTH - RIGHT + 10}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 26}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def bars(title: str, x_title: str, names: Sequence[str], rows: Mapping[str, Sequence[float]]) -> str:
    """Return an SVG of bars in groups, one below another, over a logarithmic axis."""
    height, left, top = 13 * len(names) + 8, 245, TOP + 22
    low, high = (math.log10(pick(value for row in rows.values() for value in row)) for pick in (min, max))
    low = math.floor(low)
    bottom = top + height * len(rows)

    def at(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * (WIDTH - left - 50)

    parts = [
        beginning(title, bottom + 40),
        f'<text x="{(left + WIDTH) / 2}" y="{bottom + 34}" text-anchor="middle">{x_title}</text>',
    ]
    for power in range(low, math.floor(high) + 1):
        x = at(10**power)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10**power:,g}</text>')
    for number, name in enumerate(names):
        x = left + 190 * number
        parts.append(f'<rect x="{x}" y="{TOP - 6}" width="10" height="10" fill="{COLOURS[number]}"/>')
        parts.append(f'<text x="{x + 16}" y="{TOP + 3}">{name}</text>')
    for number, (name, values) in enumerate(rows.items()):
        y = top + height * number
        parts.append(f'<text x="{left - 8}" y="{y + height / 2 + 2}" text-anchor="end">{name}</text>')
        for place, value in enumerate(values):
            width = at(value) - left
            where = f'x="{left}" y="{y + 2 + 13 * place}"'
            parts.append(f'<rect {where} width="{width:.1f}" height="11" fill="{COLOURS[place]}"/>')
            parts.append(
                f'<text x="{at(value) + 4:.1f}" y="{y + 12 + 13 * place}">{value:,.{1 if value < 10 else 0}f}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def speeds(results: Mapping[str, Result], prefix: str, number: str) -> dict[str, list[tuple[float, float]]]:
    """Return contender → times real time over a number of the results whose names begin with a prefix."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, result in results.items():
        if name.startswith(prefix):
            for contender, seconds in result.measured.items():
                speed = result.numbers["hours"] * 3600 / seconds
                found.setdefault(contender.split(" ")[0], []).append((round(result.numbers[number], 2), speed))
    return {contender: points for contender, points in found.items() if len(points) > 1}


def plots(results: Mapping[str, Result]) -> dict[str, str]:
    """Return file name → SVG of every plot that there are results for."""
    made = {}
    for file, title, prefix, number, x_title in (
        ("speed-by-jobs", "Speed of the command by worker processes", "command-jobs-", "jobs", "--jobs"),
        ("speed-by-hours", "Speed of the command by length of the corpus", "command-hours-", "hours", "hours of audio"),
    ):
        if series := speeds(results, prefix, number):
            made[file] = plot(title, x_title, "times real time", series)
    if lengths := results.get("kernel-lengths"):
        made["speed-by-n-fft"] = plot(
            "Speed of the mel on one core by n_fft", "n_fft", "times real time", lengths.numbers["speeds"]
        )
    if own := results.get("own-loaders"):
        names = ("own loader, 0 or 2 workers", "recipe on a store, no workers")
        rows = own.numbers["batches a second"]
        title = "Batches a second for a training loop: a system's own loader, and its recipe"
        made["own-loaders"] = bars(title, "batches a second", names, rows)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/benchmarks.md from benchmarks/results.")
    parser.add_argument("--check", type=float, default=5.0, metavar="PERCENT", help="what counts as slower")
    options = parser.parse_args()
    results = read_results()
    before = PAGE.read_text(encoding="utf-8")
    for name, svg in plots(results).items():
        (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")
    PAGE.write_text(filled(before, results), encoding="utf-8")
    for _, name, _ in _TABLE.findall(before):
        if name not in results:
            print(f"no result yet: {name}")
    for line in slower(results, options.check):
        print(line)


if __name__ == "__main__":
    main()
