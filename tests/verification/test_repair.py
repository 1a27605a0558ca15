"""Stores of all corpus commands are repaired to the same bytes, given their source files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run
from corpora import record, write_kaldi, write_libritts, write_ljspeech, write_text, write_vctk
from killing import contents
from plugins import install

from tts_prep.cli.main import main
from tts_prep.format.files.checksums import digest_file, file_sha256
from tts_prep.format.hdf5.reader import read_locations

Arguments = tuple[object, ...]

VALID = "S-0001\nS-0003\n"
OOD_TEXTS = "A text.\nAnother text.\n"


def ljspeech(folder: Path) -> tuple[Arguments, Arguments]:
    """Write a corpus; return the arguments of the command without the store, and of the repair without the corpus."""
    return ("ljspeech", write_ljspeech(folder / "lj"), "--limit", 5), ()


def vctk(folder: Path) -> tuple[Arguments, Arguments]:
    return ("vctk", write_vctk(folder / "vctk"), "--mic", "mic2"), ()


def libritts(folder: Path) -> tuple[Arguments, Arguments]:
    subsets = ("--subset", "train-clean-100", "--subset", "dev-clean")
    return ("libritts", write_libritts(folder / "libritts"), *subsets), ()


def filelist(folder: Path) -> tuple[Arguments, Arguments]:
    for name in ("x/0", "x/1", "2"):
        record(folder / f"audio/{name}.wav")
    write_text(folder / "list.txt", f"Nought.|x/0.wav|a\nOne.|x/1.wav|b\nTwo.|{folder}/audio/2.wav|a\n")
    root = ("--root", folder / "audio")
    return ("filelist", folder / "list.txt", *root, "--columns", "text|path|mood"), root


def kaldi(folder: Path) -> tuple[Arguments, Arguments]:
    files = {
        "wav.scp": "a audio/a.wav\nb audio/b.wav\n",
        "segments": "u1 a 0 0.4\nu2 a 0.5 0.9\nu3 b 0 -1\n",
        "text": "u1 One.\nu2 Two.\nu3 Three.\n",
    }
    data = write_kaldi(folder / "data", files)
    (data / "audio").rename(folder / "audio")
    return ("kaldi", data, "--root", folder), ("--root", folder)


def mine(folder: Path) -> tuple[Arguments, Arguments]:
    return ("mine", write_ljspeech(folder / "lj")), ()


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {"tts_prep.corpora": {"mine": "tts_prep.preprocess.corpora.ljspeech:read_ljspeech"}}
    install(monkeypatch, tmp_path / "site", "mine", points)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Return a file of out-of-domain texts."""
    write_text(tmp_path / "ood.txt", OOD_TEXTS)
    return tmp_path / "ood.txt"


@pytest.fixture(scope="module")
def store_with_lists(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a split and out-of-domain texts."""
    folder = tmp_path_factory.mktemp("lists")
    write_text(folder / "valid.txt", VALID)
    write_text(folder / "ood.txt", OOD_TEXTS)
    options = ("--split", f"valid={folder / 'valid.txt'}", "--ood-texts", folder / "ood.txt", "--shard-utterances", 3)
    with pytest.raises(SystemExit) as exit_:
        main(["ljspeech", *map(str, (corpus, folder / "store", *options)), "--jobs", "1"])
    assert not exit_.value.code
    return folder / "store"


@pytest.fixture
def made(store_with_lists: Path, texts: Path, tmp_path: Path) -> Path:
    """Return a copy of the store with lists, which are beside it."""
    write_text(tmp_path / "valid.txt", VALID)
    return Path(shutil.copytree(store_with_lists, tmp_path / "store"))


def first_id(store: Path) -> str:
    from tts_prep.loader import UtteranceDataset

    return str(UtteranceDataset(store)[0].id)


def flip(path: Path) -> None:
    """Flip a bit, of the phonemes if the file has any."""
    data = bytearray(path.read_bytes())
    place = len(data) // 2
    if path.suffix == ".h5":
        place = read_locations(path)["phonemes"].offset
    data[place] ^= 1
    path.write_bytes(data)


FIRST = {ljspeech: "S-0000", mine: "S-0000", vctk: "p225_001", filelist: "x/0", kaldi: "u1"}
FIRST[libritts] = "84_121123_000007_000001"
"""The first id of each corpus."""


# A list and texts are more to do for a reader, never less: without them, one reader is enough.
@pytest.mark.whole
@pytest.mark.parametrize(
    ("write", "lists"),
    [
        *((write, True) for write in (ljspeech, vctk, libritts, filelist, kaldi, mine)),
        (ljspeech, False),
        *(pytest.param(write, False, marks=pytest.mark.soak) for write in (vctk, libritts, filelist, kaldi, mine)),
    ],
)
def test_a_store_of_every_command_is_repaired_to_the_same_bytes_and_what_is_whole_is_kept(
    capsys, registered: None, texts: Path, tmp_path: Path, write: Callable, lists: bool
) -> None:
    command, repair = write(tmp_path)
    fixed = ("--frontend", "characters", "--unknown", "unk", "--shard-utterances", 1, "--max-failures", "50%")
    made = [*command[:2], tmp_path / "store", *command[2:], *fixed, "--jobs", 1]
    more: Arguments = ()
    if lists:
        write_text(tmp_path / "valid.txt", f"{FIRST[write]}\n")
        more = ("--split", f"valid={tmp_path / 'valid.txt'}", "--ood-texts", texts)
    assert run(capsys, *made, *more)[0] == 0
    assert first_id(tmp_path / "store") == FIRST[write]
    before = contents(tmp_path / "store")
    everything = ["shards/00001.h5", "manifest.json", *(["ood.h5"] if lists else [])]
    # With a manifest, whether a shard alone is broken is the same for all readers.
    for broken in [["shards/00001.h5"], everything] if write is ljspeech else [everything]:
        for name in broken:
            flip(tmp_path / "store" / name)
        shards = (tmp_path / "store/shards").iterdir()
        kept = {path: path.stat().st_mtime_ns for path in shards if path.name != "00001.h5"}
        status, out, err = run(
            capsys, "verify", tmp_path / "store", "--jobs", 1, "--repair", command[1], *repair, *more
        )
        assert (status, err) == (0, "")
        assert set(out.split(": ")[1].removesuffix(" broken; made again, with 1 shard\n").split(", ")) == set(broken)
        assert contents(tmp_path / "store") == before
        assert kept == {path: path.stat().st_mtime_ns for path in kept}


@pytest.mark.whole
@pytest.mark.parametrize("how", ["gone", "flipped", "no HDF5"])
@pytest.mark.parametrize("manifest", [True, False], ids=["with a manifest", "without"])
def test_broken_texts_are_made_again_from_their_file_and_nothing_else_is(
    capsys, made: Path, corpus: Path, texts: Path, tmp_path: Path, how: str, manifest: bool
) -> None:
    before = contents(made)
    if how == "gone":
        (made / "ood.h5").unlink()
    elif how == "flipped":
        flip(made / "ood.h5")
    else:
        (made / "ood.h5").write_bytes(b"broken")
    if not manifest:
        (made / "manifest.json").unlink()
    repair = ("verify", made, "--jobs", 1, "--repair", corpus, "--split", f"valid={tmp_path / 'valid.txt'}")
    assert run(capsys, *repair, "--ood-texts", texts)[0] == 0
    assert contents(made) == before


@pytest.mark.whole
@pytest.mark.parametrize("manifest", [True, False], ids=["with a manifest", "without"])
def test_broken_texts_need_their_file_and_no_other(
    capsys, made: Path, corpus: Path, tmp_path: Path, manifest: bool
) -> None:
    flip(made / "ood.h5")
    if not manifest:
        (made / "manifest.json").unlink()
    broken = contents(made)
    lists = ("--split", f"valid={tmp_path / 'valid.txt'}")
    repair = ("verify", made, "--jobs", 1, "--repair", corpus, *lists)
    status, _, err = run(capsys, *repair)
    assert (status, "ood.h5 is broken; give the file that it was made from with --ood-texts FILE" in err) == (2, True)
    write_text(tmp_path / "other.txt", "Another text.\nA text.\n")
    status, _, err = run(capsys, *repair, "--ood-texts", tmp_path / "other.txt")
    assert (status, "other.txt: SHA-256 " in err) == (2, True)
    assert contents(made) == broken


@pytest.mark.whole
@pytest.mark.parametrize("manifest", [True, False], ids=["with a manifest", "without"])
def test_without_the_lists_that_it_was_made_with_a_store_is_left_as_it_is(
    capsys, made: Path, corpus: Path, tmp_path: Path, manifest: bool
) -> None:
    (made / "shards/00001.h5").unlink()
    if not manifest:
        (made / "manifest.json").unlink()
    before = contents(made)
    status, _, err = run(capsys, "verify", made, "--jobs", 1, "--repair", corpus)
    assert (status, "made with a list of ids for 'valid'; give --split valid=FILE" in err) == (2, True)
    write_text(tmp_path / "other.txt", "S-0001\nS-0002\n")
    status, _, err = run(
        capsys, "verify", made, "--jobs", 1, "--repair", corpus, "--split", f"valid={tmp_path / 'other.txt'}"
    )
    assert (status, "other.txt: SHA-256 " in err) == (2, True)
    lists = ("--split", f"valid={tmp_path / 'valid.txt'}", "--split", f"test={tmp_path / 'valid.txt'}")
    assert run(capsys, "verify", made, "--jobs", 1, "--repair", corpus, *lists)[0] == 2
    assert contents(made) == before


@pytest.mark.parametrize("old", ['"limit": null', '"n_mels": 80', '"plan": "', '"rows": 3'])
def test_a_manifest_that_can_be_read_and_is_wrong_is_not_believed(
    capsys, store: Path, corpus: Path, tmp_path: Path, old: str
) -> None:
    copy = Path(shutil.copytree(store, tmp_path / "copy"))
    text = (copy / "manifest.json").read_text(encoding="utf-8")
    new = {'"limit": null': '"limit": 3', '"n_mels": 80': '"n_mels": 81', '"rows": 3': '"rows": 3 '}.get(old, old + "0")
    (copy / "manifest.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    flip(copy / "shards/00001.h5")
    status, out, _ = run(capsys, "verify", copy, "--jobs", 1, "--repair", corpus)
    assert (status, "manifest.json, shards/00001.h5 broken; made again, with 1 shard\n" in out) == (0, True)
    assert contents(copy) == contents(store)


@pytest.mark.whole
@pytest.mark.parametrize("write", [filelist, kaldi])
@pytest.mark.parametrize("manifest", [True, False], ids=["with a manifest", "without"])
def test_without_the_root_that_it_was_made_with_a_store_is_left_as_it_is(
    capsys, tmp_path: Path, write: Callable, manifest: bool
) -> None:
    command, _ = write(tmp_path)
    store = tmp_path / "store"
    status, _, err = run(capsys, *command[:2], store, *command[2:], "--shard-utterances", 1, "--jobs", 1)
    assert (status, err) == (0, "")
    (store / "shards/00001.h5").unlink()
    if not manifest:
        (store / "manifest.json").unlink()
    before = contents(store)
    status, _, err = run(capsys, "verify", store, "--jobs", 1, "--repair", command[1])
    assert (status, "not made from the rows and recordings of" in err) == (1, True)
    assert contents(store) == before


@pytest.mark.parametrize("change", ["another last text", "no last row"])
def test_without_a_manifest_all_whole_shards_have_to_be_those_of_the_corpus(
    capsys, store: Path, own_corpus: Path, tmp_path: Path, change: str
) -> None:
    copy = Path(shutil.copytree(store, tmp_path / "copy"))
    for name in ("manifest.json", "shards/00001.h5"):
        (copy / name).unlink()
    before = contents(copy)
    metadata = own_corpus / "metadata.csv"
    *lines, last = metadata.read_text(encoding="utf-8").splitlines(keepends=True)
    # The first shard, of three rows, stays that of the corpus; the last, of one row, does not.
    metadata.write_text("".join([*lines, last.replace("Yes.", "No.")] if change[0] == "a" else lines), "utf-8")
    status, _, err = run(capsys, "verify", copy, "--jobs", 1, "--repair", own_corpus)
    assert (status, "not made from the rows and recordings of" in err) == (1, True)
    assert contents(copy) == before


@pytest.mark.whole
def test_a_begun_store_whose_texts_rotted_makes_them_again(capsys, made: Path, corpus: Path, texts: Path) -> None:
    before = contents(made)
    (made / "manifest.json").unlink()
    flip(made / "ood.h5")
    options = ("--split", f"valid={made.parent / 'valid.txt'}", "--ood-texts", texts, "--shard-utterances", 3)
    assert run(capsys, "ljspeech", corpus, made, *options, "--jobs", 1)[0] == 0
    assert contents(made) == before


@pytest.mark.whole
def test_a_store_that_was_made_with_another_list_is_refused(capsys, made: Path, corpus: Path, texts: Path) -> None:
    write_text(made.parent / "valid.txt", "S-0001\n")
    options = ("--split", f"valid={made.parent / 'valid.txt'}", "--ood-texts", texts, "--shard-utterances", 3)
    status, _, err = run(capsys, "ljspeech", corpus, made, *options, "--jobs", 1)
    assert (status, "made with other settings: corpus.splits.valid is " in err) == (1, True)


@pytest.mark.whole
def test_a_repair_reads_a_whole_shard_twice(
    capsys, store: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(store, tmp_path / "copy"))
    flip(copy / "shards/00001.h5")
    read: list[str] = []

    def counted(path: Path, *arguments: object) -> object:
        read.append(path.name)
        return digest_file(path, *arguments)

    for module in ("format.contents.shard", "verification.files"):
        monkeypatch.setattr(f"tts_prep.{module}.digest_file", counted)
    monkeypatch.setattr(
        "tts_prep.format.assembly.file_sha256", lambda path: read.append(path.name) or file_sha256(path)
    )
    assert run(capsys, "verify", copy, "--repair", corpus, "--jobs", 1)[0] == 0
    # Once to find out what is broken, once when it is taken over.
    assert read.count("00000.h5") == 2
