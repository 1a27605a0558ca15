"""``tts-prep fetch``."""

import sys
from pathlib import Path

import click

from tts_prep.cli.options import OUTPUT_FOLDER
from tts_prep.cli.output import make_progress, quiet_option, say
from tts_prep.format.files.paths import is_url
from tts_prep.quantities import bytes_text


@click.command()
@click.argument("url")
@click.argument("folder", type=OUTPUT_FOLDER)
@quiet_option
def fetch(url: str, folder: Path) -> None:
    r"""Download the store at URL into FOLDER.

    URL starts with s3://, gs://, az://, hf://, http://, https:// or file://; credentials are those of fsspec. Every
    file is compared with the size and checksum in the manifest, which is written last. Run the same command again after
    an interruption: it goes on where it ended. Training can also read the store at URL directly, through a cache.

    \b
    Examples:
      tts-prep fetch s3://bucket/store store
      tts-prep fetch https://example.org/store store
    """
    from tts_prep.remote.fetching import fetch_store

    if not is_url(url):
        raise click.BadParameter(f"expected a URL such as s3://bucket/store, found '{url}'", param_hint="URL")
    with make_progress(sys.stderr) as progress:
        fetched = fetch_store(url, folder, progress)
    here = f"; {bytes_text(fetched.kept)} were there" if fetched.kept else ""
    count = len(fetched.manifest.files) + 1
    say(f"{folder}: {count} files, {bytes_text(fetched.downloaded)} downloaded{here}, all intact")
