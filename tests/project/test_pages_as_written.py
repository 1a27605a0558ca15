"""Run all blocks of each page as they are written, in order, in one folder and one terminal.

The environment is new, and has what the page's own lines install, with the package of this checkout where ``pip`` looks
for tts-prep. Nothing of the checkout can be imported otherwise. It takes 20 minutes: it is part of ``make soak``, and
``make pages`` runs it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pages import GIVEN, PAGES, ROOT, Block, blocks, write_as_lj_speech

pytestmark = pytest.mark.soak

SHELL = "set -euo pipefail\n"
# These are what .ci/run begins with, in a clone with nothing else.
TARGETS = ("make demo", "make test")


def installs(page: Path) -> tuple[str, ...]:
    """Return the lines of a page that install something."""
    lines = (line for block in blocks(page) if block.mark != "elsewhere" for line in block.content.splitlines())
    return tuple(dict.fromkeys(line.split("  #")[0] for line in lines if line.startswith("pip install ")))


def runs(block: Block) -> bool:
    """Return whether a block is one that a page's reader types."""
    known = block.language in ("sh", "python") and block.mark not in ("before", "elsewhere")
    return known and not block.content.startswith(TARGETS)


PAGES_WITH_BLOCKS = sorted((page for page in PAGES if any(map(runs, blocks(page)))), key=installs)


def script(page: Path) -> str:
    """Return a page as what is typed in one terminal."""
    lines, program, number = [SHELL], "", 0
    for block in blocks(page):
        if not runs(block):
            continue
        number += 1
        lines.append(f"echo {shlex.quote(f'== block {number}: {block.content.splitlines()[0]}')}")
        if block.language == "python":
            program = program + "\n" + block.content if block.mark == "after" else block.content
            name = block.mark if block.mark.endswith(".py") else f"block_{number}.py"
            lines.append(f"cat > {name} <<'END OF BLOCK'\n{program}END OF BLOCK\npython {name}")
        elif block.mark == "served":
            # Ctrl-C after the page was served for a while.
            stop = "timeout --preserve-status --signal INT 15 bash -c"
            lines.extend(f"{stop} {shlex.quote('exec ' + line)}" for line in block.content.splitlines())
        else:
            lines.append(block.content)
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES_WITH_BLOCKS, ids=lambda page: page.name)
def test_every_block_of_a_page_runs_as_written(
    page: Path,
    terminal: Callable[[tuple[str, ...]], dict[str, str]],
    demo_corpus: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> None:
    wanted = installs(page)
    assert wanted, "the page does not say what to install"
    folder = tmp_path_factory.mktemp(page.stem) / "folder"
    if any("'.[" in line or "--no-deps ." in line for line in wanted):
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    folder.mkdir(exist_ok=True)
    write_as_lj_speech(demo_corpus, folder / "LJSpeech-1.1")
    if page.name in GIVEN:
        GIVEN[page.name](folder)
    values = terminal(wanted)
    if page.name == "remote.md":
        values |= request.getfixturevalue("object_store")
    run = subprocess.run(["bash", "-c", script(page)], cwd=folder, env=values, capture_output=True, text=True)
    assert run.returncode == 0, f"{page.name}:\n{run.stdout[-4000:]}\n{run.stderr[-4000:]}"
    print(f"{page.name}: {len(re.findall('^== block', run.stdout, re.MULTILINE))} blocks")
    shutil.rmtree(folder)


@pytest.fixture
def object_store(demo_corpus: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield what the environment of a reader of ``s3://bucket/store`` has."""
    pytest.importorskip("moto.server")
    import boto3
    from moto.server import ThreadedMotoServer

    from tts_prep.cli.main import main

    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    client = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
    )
    client.create_bucket(Bucket="bucket")
    store = tmp_path / "store"
    arguments = ["ljspeech", str(demo_corpus), str(store), "--shard-utterances", "6", "--jobs", "1", "--quiet"]
    with pytest.raises(SystemExit, match="^0$"):
        main(arguments)
    for path in store.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), "bucket", f"store/{path.relative_to(store)}")
    yield {**keys, "AWS_ENDPOINT_URL": address}
    server.stop()
