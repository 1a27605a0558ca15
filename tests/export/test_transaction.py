"""An export is there completely or not at all, whatever ends it."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import run
from stores import make_rows, write_store

from tts_prep.errors import ConfigurationError, StoreError, StoreInUseError
from tts_prep.export import export
from tts_prep.export import layout as module

LAYOUTS = ("espnet", "lhotse", "webdataset")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("store") / "s", make_rows([7, 3, 9]), waveform=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def steps(monkeypatch: pytest.MonkeyPatch, at: int) -> Iterator[int]:
    """Count the steps of exports, and kill the process at one of them."""
    count = 0

    def counted(function):
        def step(*arguments):
            nonlocal count
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return step

    monkeypatch.setattr(module.ExportFolder, "file", counted(module.ExportFolder.file))
    for name in ("sync", "_rename", "_clear", "_check_empty"):
        monkeypatch.setattr(module, name, counted(getattr(module, name)))
    while True:
        yield count


def export_and_kill(store: Path, layout: str, place: Path, at: int) -> bool:
    """Export in another process that is killed at a step; return whether it came to its end first."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as monkeypatch:
                next(steps(monkeypatch, at))
                export(store, layout, place)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status == 0


# The steps are those of a folder, whose number a layout decides by its number of files.
@pytest.mark.parametrize(
    ("layout", "exists"),
    [
        *(("webdataset", exists) for exists in (False, True)),
        *(
            pytest.param(layout, exists, marks=pytest.mark.soak)
            for layout in LAYOUTS
            for exists in (False, True)
            if layout != "webdataset"
        ),
    ],
)
def test_an_export_that_is_killed_at_any_step_is_not_there_and_the_next_one_is_complete(
    store: Path, tmp_path: Path, layout: str, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("out")
    export(store, layout, place)
    expected = contents(place)
    place.rename("reference")
    killed = 0
    for at in range(1, 200):
        if exists:
            place.mkdir()
        if export_and_kill(store, layout, place, at):
            break
        killed += 1
        # After the rename, the export is complete, and only its parent may not be synced yet.
        assert not place.exists() or not any(place.iterdir()) or contents(place) == expected
        if place.exists() and any(place.iterdir()):
            place.rename("done")
        else:
            export(store, layout, place)
            place.rename("done")
        assert contents(Path("done")) == expected
        assert sorted(path.name for path in tmp_path.iterdir()) == ["done", "reference"]
        module.remove_folder(Path("done"))
    assert killed >= 6
    assert contents(place) == expected


def test_an_error_or_an_interruption_leaves_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: object, name: str) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.ExportFolder, "file", interrupt)
    status, _, err = run(capsys, "export", store, tmp_path / "out", "--to", "nemo")
    assert (status, err.lstrip("\n")) == (130, "tts-prep: error: interrupted; run the same command again\n")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named_by_its_place_in_the_export(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match=r"out.*: cannot be written \(No space left on device\); nothing was exported"):
        export(store, "nemo", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_two_exports_to_one_folder_do_not_mix(store: Path, tmp_path: Path) -> None:
    other = tmp_path / ".out.export"
    other.mkdir()
    descriptor = os.open(other, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(StoreInUseError, match="out: another export is writing to it"):
        export(store, "nemo", tmp_path / "out")
    os.close(descriptor)
    export(store, "nemo", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_an_export_to_an_empty_file_system_is_built_inside_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(store, "nemo", tmp_path / "reference")
    (tmp_path / "mount").mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "mount")
    export(store, "nemo", tmp_path / "mount")
    assert contents(tmp_path / "mount") == contents(tmp_path / "reference")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mount", "reference"]


def test_an_export_goes_where_a_link_leads(store: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    export(store, "nemo", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "manifest.json").is_file()


def test_a_file_in_the_way_of_an_export_is_left_as_it_is(store: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ConfigurationError, match="out: is no folder; use a new folder"):
        export(store, "nemo", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_link_in_the_place_of_what_an_earlier_export_left_is_not_followed(store: Path, tmp_path: Path) -> None:
    # As an archive can hold it, which somebody unpacks into the folder of the export.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine")
    (tmp_path / ".out.export").symlink_to("mine")
    with pytest.raises(StoreError, match=r"\.out\.export: unexpected link; remove it"):
        export(store, "nemo", tmp_path / "out")
    assert contents(tmp_path / "mine") == {"thesis.txt": b"mine"}
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_user_is_not_written_to(store: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to give a folder to another user")
    (tmp_path / ".out.export").mkdir(mode=0o777)
    os.chown(tmp_path / ".out.export", 12345, 12345)
    with pytest.raises(StoreError, match=r"\.out\.export: belongs to another user \(number 12345\); remove it"):
        export(store, "nemo", tmp_path / "out")
    assert not any((tmp_path / ".out.export").iterdir())
