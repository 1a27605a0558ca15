"""Files of settings, symbols and alignments that nobody would write by hand: one line, and little memory."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textgrids import long_form

from tts_prep.corpora.folder import read_text
from tts_prep.errors import AlignmentError, ConfigurationError, TtsPrepError
from tts_prep.format.records.failures import Failure
from tts_prep.imports.alignment import AlignmentFolder
from tts_prep.imports.arrays import ArrayFileError, read_npy
from tts_prep.preprocess.configuration.settings import read_config_file
from tts_prep.preprocess.corpora.lines import read_lines
from tts_prep.preprocess.text.symbols import choose_symbols
from tts_prep.recipes.speechain.configuration import read_yaml
from tts_prep.vocoders.systems import read_vocoder_config

SIZE = 3 << 30
READERS: dict[str, Callable[[Path], object]] = {
    "a.toml": read_config_file,
    "config.json": read_vocoder_config,
    "voice.json": lambda path: choose_symbols(str(path)),
    "tokens.txt": lambda path: choose_symbols(str(path)),
    "conf.yaml": read_yaml,
    "a.ctm": lambda path: AlignmentFolder.open(path).read("a", "", None),
    "a.TextGrid": lambda path: AlignmentFolder.open(path.parent).read("a", "", None),
    "a.dur": lambda path: AlignmentFolder.open(path.parent).read("a", "", None),
    "a.npy": read_npy,
    "list.txt": lambda path: [row for _, row in read_lines(path)],
    "a.lab": lambda path: read_text(path.parent, path.name, "a"),
    "a.json": lambda path: read_text(path.parent, path.name, "a"),
}


@contextmanager
def little_memory(more: int) -> Iterator[None]:
    """Limit the memory of this process to this many bytes more than it has."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("looks for its memory in /proc")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", list(READERS))
def test_a_file_of_gigabytes_that_takes_no_space_is_refused_with_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    start = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (700000000,), }"
    path.write_bytes(start.ljust(127) + b"\n" if name == "a.npy" else b"")
    with path.open("r+b") as file:
        # As long as the longest list that is read.
        file.truncate((1 << 29) - 1 if name == "list.txt" else SIZE)
    with little_memory(300 << 20):
        try:
            found = READERS[name](path)
        except (TtsPrepError, ArrayFileError) as error:
            found = str(error)
    # A row, or one line.
    failures = found if isinstance(found, list) else [found]
    assert all(isinstance(row, Failure | str) and len(str(row)) < 1000 for row in failures), str(found)[:300]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["a.toml", "config.json", "voice.json", "tokens.txt", "conf.yaml", "a.ctm", "a.dur"])
def test_a_named_pipe_in_the_place_of_a_file_blocks_nothing(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(TtsPrepError, match=r"named pipe|no such"):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("name", ["a.toml", "config.json", "voice.json", "tokens.txt", "conf.yaml", "a.dur"])
def test_a_number_of_thousands_of_digits_is_one_line(tmp_path: Path, name: str, digits: int) -> None:
    number = "9" * digits
    texts = {
        "a.toml": f"[audio]\nn_mels = {number}\n",
        "config.json": f'{{"sampling_rate": {number}}}',
        "voice.json": f'{{"phoneme_id_map": {{"a": [{number}]}}}}',
        "tokens.txt": f"a 0\nb {number}\n",
        "conf.yaml": f"train: {number}\n",
        "a.dur": f"1 2 {number}\n",
    }
    (tmp_path / name).write_text(texts[name])
    with pytest.raises(TtsPrepError) as raised:
        # Settings are checked when they are applied.
        found = READERS[name](tmp_path / name)
        assert name in ("a.toml", "conf.yaml"), found
        raise TtsPrepError("read")
    assert len(" ".join(str(raised.value).split())) < 1000


@pytest.mark.parametrize("durations", ["1e308 1e308", "0.5 1e200", f"{1 << 62} {1 << 62} {1 << 62} {1 << 62} 44"])
def test_durations_beyond_all_recordings_are_one_line(tmp_path: Path, durations: str) -> None:
    (tmp_path / "a.dur").write_text(durations)
    with pytest.raises(AlignmentError, match=r"a\.dur: .*(more than the maximum|not finite)"):
        AlignmentFolder.open(tmp_path).read("a", "", None)


def test_a_label_of_megabytes_is_not_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "a.ctm").write_text(f"a 1 -1 0.5 {'x' * 60_000}\n")
    with pytest.raises(AlignmentError) as raised:
        AlignmentFolder.open(tmp_path / "a.ctm").read("a", "", None)
    assert len(str(raised.value)) <= 4000


@pytest.mark.parametrize("ends", [(-1.0, 0.5), (0.0, 2e9)])
def test_a_grid_that_ends_beyond_all_recordings_is_one_line(tmp_path: Path, ends: tuple[float, float]) -> None:
    text = long_form({"phones": [(0.0, 0.25, "a"), (0.25, 0.5, "b")]}, ends[1])
    (tmp_path / "a.TextGrid").write_text(text.replace("xmin = 0 \nxmax", f"xmin = {ends[0]} \nxmax", 1))
    with pytest.raises(AlignmentError, match=r"expected times from 0 to 1e\+09"):
        AlignmentFolder.open(tmp_path).read("a", "", None)


@pytest.mark.whole
@pytest.mark.parametrize("text", ['{"vocab": {}}', '{"phoneme_id_map": {}, "vocab": []}'])
def test_a_voice_without_symbols_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigurationError, match="expected the configuration of a voice"):
        choose_symbols(str(tmp_path / "config.json"))


@pytest.mark.parametrize("key", ["sampling_rate", "fmin", "fmax", "n_fft"])
def test_a_vocoder_with_a_number_beyond_all_floats_is_one_line(tmp_path: Path, key: str) -> None:
    values = dict.fromkeys(("sampling_rate", "n_fft", "win_size", "hop_size", "num_mels", "fmin", "fmax"), 80)
    values |= {"upsample_rates": 1, "resblock_kernel_sizes": 1}
    (tmp_path / "config.json").write_text(json.dumps({**values, key: 10**400}))
    with pytest.raises(
        ConfigurationError, match=rf"config\.json: a file of HiFi-GAN: '{key}': a number of 1329 bits is too large"
    ):
        read_vocoder_config(tmp_path / "config.json")


def _doubling(line: str, n: int = 60) -> str:
    return "".join(line.format(this=i, last=i - 1) for i in range(1, n))


# Texts whose time or memory would grow faster than they do: as the square, or doubled by every line.
PILED: dict[str, Callable[[int], str]] = {
    "a.toml: a name of many parts": lambda n: "a." * n + "a=1",
    "b.toml: a table of many parts": lambda n: "[" + "a." * n + "a]\nb=1",
    "c.toml: names below it": lambda n: "[" + "a." * (n // 4) + "a]\n" + "".join(f"b{i}=1\n" for i in range(n // 8)),
    "d.toml: names in quotes": lambda n: '"a".' * n + "a=1",
    "a.json: comments without an end": lambda n: "/*" * n,
    "b.json: texts without an end": lambda n: '"' + '\\"' * n,
    "a.yaml: merges": lambda _: "a0: &a0 {x: 1, y: 2}\n" + _doubling("a{this}: &a{this}\n  <<: [*a{last}, *a{last}]\n"),
    "b.yaml: merges of many": lambda n: "a: &a {x: 1}\nb:\n  <<: [" + "*a, " * n + "*a]\n",
    "c.yaml: references": lambda _: (
        "a0: &a0 [x]\n" + _doubling("a{this}: &a{this} [*a{last}, *a{last}]\n") + "sample_rate: *a59\nn_fft: *a58\n"
    ),
    "d.yaml: a number in base 60": lambda n: "sampling_rate: " + "1:" * n + "1",
}


@pytest.mark.parametrize("name", list(PILED))
def test_the_cost_of_a_file_is_in_proportion_to_its_length(tmp_path: Path, name: str) -> None:
    # Each took from 20 seconds to the age of the universe; a tenth of a second is left for each of 50,000 characters.
    path = tmp_path / name.partition(":")[0]
    path.write_text(PILED[name](50_000), encoding="utf-8")
    started = time.process_time()
    with pytest.raises(ConfigurationError) as refused:
        (read_config_file if path.suffix == ".toml" else read_vocoder_config)(path)
    assert time.process_time() - started < 10
    assert len(str(refused.value)) < 1000


def test_names_in_texts_and_comments_of_settings_may_have_any_number_of_dots(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    dots = "." * 100
    path.write_text(
        f"# {dots}\npreset = \"hifigan\" # {dots}\na = \"{dots}\"\nb = '''{dots}\n{dots}'''\n", encoding="utf-8"
    )
    assert read_config_file(path).tables["b"] == f"{dots}\n{dots}"
