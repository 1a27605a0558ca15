"""``tts-prep info``."""

from __future__ import annotations

from pathlib import Path

import click

from tts_prep.cli.options import FOLDER


@click.command()
@click.argument("store", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print everything the manifest says but the list of files.")
def info(store: Path, as_json: bool) -> None:
    r"""Show what is in STORE.

    \b
    Example:
      tts-prep info store
    """
    import json
    from dataclasses import asdict

    from tts_prep.cli.quantities import bytes_text, duration_text
    from tts_prep.format.manifest import read_manifest

    manifest = read_manifest(store)
    totals, arrays = manifest.totals, manifest.arrays
    size = sum(entry.size for entry in manifest.files)
    if as_json:
        value = {key: found for key, found in asdict(manifest).items() if key not in ("shards", "index", "failures")}
        click.echo(json.dumps({"store": str(store), "bytes": size, **value}, indent=1, ensure_ascii=False))
        return
    audio, text = manifest.configuration["audio"], manifest.configuration["text"]
    mean = totals["seconds"] / max(1, totals["utterances"])
    rows = {
        "store": f"{store}, format {manifest.version}, {bytes_text(size)} in {totals['shards']:,} shards",
        "utterances": f"{totals['utterances']:,}, {duration_text(totals['seconds'])}, {mean:.2f} s on average",
        "left out": f"{totals['failures']:,} rows" + (", see failures.jsonl" if totals["failures"] else ""),
        "speakers": f"{len(manifest.speakers):,}: {', '.join(manifest.speakers[:6])}"
        + (", …" if len(manifest.speakers) > 6 else ""),
        "mel": f"{totals['frames']:,} frames of {audio['n_mels']} bins, {arrays['mel']['dtype']}; "
        f"{audio['sample_rate']:,} Hz, n_fft {audio['n_fft']}, window {audio['win_length']}, "
        f"hop {audio['hop_length']}, {audio['fmin']:g}–{audio['fmax']:g} Hz, framing {audio['framing']}",
        "phonemes": f"{totals['phonemes']:,}; frontend {text['frontend']}, language {text['language']}, "
        f"{len(manifest.vocabulary['symbols'])} symbols",
        "made by": ", ".join(f"{name} {version}" for name, version in manifest.software.items()),
        "fingerprint": manifest.fingerprint,
    }
    for name, line in rows.items():
        click.echo(f"{click.style(f'{name:<12}', bold=True)}{line}")
