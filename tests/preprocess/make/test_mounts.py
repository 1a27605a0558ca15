"""Runs on full and read-only file systems, mounted in a separate namespace."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import LIGHT, light
from corpora import TEXTS, write_ljspeech
from killing import contents

import tts_prep
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.corpora.ljspeech import read_ljspeech
from tts_prep.preprocess.run import prepare

IN_NAMESPACE = ("unshare", "--map-root-user", "--mount")


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    mount = (*IN_NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt")
    return subprocess.run(mount, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="mounts file systems: Linux with user namespaces")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ljspeech(tmp_path_factory.mktemp("mounts") / "lj", TEXTS)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> dict[str, bytes]:
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    prepare(read_ljspeech(corpus), corpus, store, Configuration(store=StoreConfig(shard_utterances=2)))
    return contents(store)


def command(corpus: Path, store: Path, *options: str) -> str:
    more = shlex.join(options)
    return f"'{sys.executable}' -m tts_prep ljspeech '{corpus}' '{store}' --jobs 2 --shard-utterances 2 {more}"


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands in a separate mount namespace."""
    return subprocess.run(
        [*IN_NAMESPACE, "sh", "-e", "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


def without_shared_memory(mount: str, corpus: Path, folder: Path, *options: str) -> str:
    """Return a script that mounts a file system on ``/dev/shm``, and prepares a store in a folder.

    The folders of tests can lie in ``/dev/shm``, so that they are mounted elsewhere, too.
    """
    binds = f"mount --bind '{corpus}' /mnt; mount --bind '{folder}' /media"
    return f"{binds}; {mount}; {command(Path('/mnt'), Path('/media/store'), *options)}"


def test_a_full_shared_memory_is_no_trouble(corpus: Path, tmp_path: Path) -> None:
    fill = "mount -t tmpfs -o size=4k none /dev/shm; head -c 4096 /dev/zero > /dev/shm/full"
    done = run(without_shared_memory(fill, corpus, tmp_path, *LIGHT))
    assert done.returncode == 0, done.stderr
    prepare(read_ljspeech(corpus), corpus, tmp_path / "undisturbed", light(2))
    assert contents(tmp_path / "store") == contents(tmp_path / "undisturbed")


@pytest.mark.soak
def test_no_shared_memory_is_no_trouble(corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    done = run(without_shared_memory("mount -t tmpfs -o ro none /dev/shm", corpus, tmp_path))
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "store") == undisturbed


@pytest.mark.soak
def test_a_read_only_installation_without_a_home_folder_makes_the_store(
    corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(tts_prep.__file__).parent, tmp_path / "installed/tts_prep", ignore=ignored)
    (tmp_path / "stores").mkdir()
    read_only = (
        f"mount --bind '{tmp_path}/installed' '{tmp_path}/installed'; mount -o remount,ro,bind '{tmp_path}/installed'"
    )
    done = run(
        f"{read_only}; cd /; unset HOME XDG_CACHE_HOME NUMBA_CACHE_DIR; {command(corpus, tmp_path / 'stores/store')}",
        PYTHONPATH=str(tmp_path / "installed"),
    )
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "stores/store") == undisturbed
    assert not list((tmp_path / "installed").rglob("kernel-*.o"))


@pytest.mark.soak
@pytest.mark.parametrize("size", ["16k", "64k", "128k", "200k"])
def test_a_run_that_fills_the_disk_says_so_and_goes_on_when_there_is_room(
    corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes], size: str
) -> None:
    (tmp_path / "disk").mkdir()
    again = command(corpus, tmp_path / "disk/store")
    done = run(
        f"mount -t tmpfs -o size={size} none '{tmp_path}/disk'\n"
        f"if {again} 2> '{tmp_path}/message'; then exit 9; fi\n"
        f"mount -o remount,size=64m '{tmp_path}/disk'; {again}; cp -r '{tmp_path}/disk/store' '{tmp_path}/store'"
    )
    assert done.returncode == 0, done.stderr
    message = (tmp_path / "message").read_text()
    assert "No space left on device" in message, message
    assert "Traceback" not in message
    assert contents(tmp_path / "store") == undisturbed


@pytest.mark.soak
def test_a_full_folder_for_temporary_files_is_no_trouble_where_there_is_another(
    corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    (tmp_path / "tmp").mkdir()
    fill = f"mount -t tmpfs -o size=4k none '{tmp_path}/tmp'; head -c 4096 /dev/zero > '{tmp_path}/tmp/full'"
    done = run(f"{fill}; {command(corpus, tmp_path / 'store')}", TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "store") == undisturbed


@pytest.mark.soak
def test_a_folder_for_temporary_files_without_room_for_espeak_is_one_line(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    script = f"mount -t tmpfs -o size=64k none '{tmp_path}/tmp'; {command(corpus, tmp_path / 'store')}"
    done = run(script, TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "TMPDIR" in done.stderr
