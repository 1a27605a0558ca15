"""``tts-prep info``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tts_prep.cli.options import FOLDER

if TYPE_CHECKING:
    from tts_prep.format.arrays import ArraySpec
    from tts_prep.format.manifest import Manifest


@click.command()
@click.argument("store", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print everything the manifest says but the list of files.")
def info(store: Path, as_json: bool) -> None:
    r"""Show what is in STORE.

    \b
    Examples:
      tts-prep info store
      tts-prep info store --json
    """
    import json

    from tts_prep.errors import CorruptStoreError, one_line
    from tts_prep.format.layout import MANIFEST
    from tts_prep.format.manifest import manifest_json, read_manifest

    manifest = read_manifest(store)
    size = sum(entry.size for entry in manifest.files)
    if as_json:
        left_out = ("shards", "index", "failures", "plan_file", "ood_texts", "array_files", "datasets")
        value = {key: found for key, found in manifest_json(manifest).items() if key not in left_out}
        text = json.dumps({"store": str(store), "bytes": size, **value}, indent=1, ensure_ascii=False)
        # What a terminal would act on is escaped: it can only be in a string.
        click.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))
        return
    try:
        rows = _rows(store, manifest, size)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CorruptStoreError(
            f"{store / MANIFEST}: a key is missing or has the wrong type ({error!r}); run 'tts-prep reindex {store}'"
        ) from error
    for name, line in rows.items():
        # The texts are the store's: what a terminal would act on is shown, not sent.
        click.echo("\n".join(_folded(name, one_line(line, 10_000))))


def _rows(store: Path, manifest: Manifest, size: int) -> dict[str, str]:
    from tts_prep.quantities import bytes_text, count_text, duration_text

    totals, arrays = manifest.totals, manifest.arrays
    audio, text = manifest.configuration["audio"], manifest.configuration["text"]
    preset = manifest.configuration.get("preset")
    remarks = [f"{found['count']:,} {kind.replace('_', ' ')}" for kind, found in manifest.remarks.items()]
    mean = totals["seconds"] / max(1, totals["utterances"])
    return {
        "store": f"{store}, format {manifest.version}, {bytes_text(size)} in {count_text(totals['shards'], 'shard')}",
        "utterances": f"{totals['utterances']:,}, {duration_text(totals['seconds'])}, {mean:.2f} s on average",
        "left out": f"{count_text(totals['failures'], 'row')}, see failures.jsonl" if totals["failures"] else "nothing",
        "speakers": f"{len(manifest.speakers):,}: {', '.join(manifest.speakers[:6])}"
        + (", …" if len(manifest.speakers) > 6 else ""),
        **({"preset": f"{preset}; 'tts-prep presets {preset}' prints its settings"} if preset else {}),
        "mel": f"{totals['frames']:,} frames of {audio['n_mels']} bins, {arrays['mel']['dtype']}; "
        f"{audio['sample_rate']:,} Hz, n_fft {audio['n_fft']}, window {audio['win_length']}, "
        f"hop {audio['hop_length']}, {audio['fmin']:g}–{audio['fmax']:g} Hz, framing {audio['framing']}",
        "phonemes": f"{totals['phonemes']:,}; frontend {text['frontend']}, language {text['language']}, "
        f"{len(manifest.vocabulary['symbols'])} symbols",
        "waveform": f"kept, {arrays['waveform']['dtype']}" if "waveform" in arrays else "not kept",
        **{name: _array_text(spec, arrays[name]) for name, spec in manifest.specs.items() if spec.added},
        **(
            {"other texts": f"{manifest.ood_texts.rows:,}, without recordings, out of domain"}
            if manifest.ood_texts
            else {}
        ),
        **({"remarks": ", ".join(remarks)} if remarks else {}),
        "made by": ", ".join(f"{name} {version}" for name, version in manifest.software.items()),
        "fingerprint": manifest.fingerprint,
    }


def _array_text(spec: ArraySpec, entry: Mapping[str, Any]) -> str:
    """Return one line on an added array."""
    shape = "".join(f" × {n}" for n in spec.row_shape)
    rate = f" at {spec.rate:g} Hz" if spec.rate else ""
    text = f"{spec.dtype}{shape} by {spec.axis}{rate}, {entry['statistics']['count']:,} rows counted"
    if spec.row_shape or not entry["statistics"]["count"]:
        return text
    mean, std, low, high = (entry["statistics"][key][0] for key in ("mean", "std", "min", "max"))
    return f"{text}, mean {mean:.4g}, deviation {std:.4g}, from {low:.4g} to {high:.4g}"


def _folded(name: str, line: str) -> list[str]:
    """Return a subject and its line, folded to the width of a terminal; a pipe gets one line."""
    import shutil
    import textwrap

    title = click.style(f"{name:<12}", bold=True)
    if not sys.stdout.isatty():
        return [title + line]
    width = max(30, min(100, shutil.get_terminal_size().columns) - 12)
    first, *rest = textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    return [title + first, *(" " * 12 + part for part in rest)]
