"""Small additions to a copy of the package, each where docs/architecture.md says: a new file, and a line elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stores import make_rows, write_store

from tts_prep.compiler import one_process_at_a_time

ROOT = Path(__file__).parents[2]


def added(path: Path, before: str, line: str) -> None:
    """Insert a line before the first line that starts with a text, as an author of the component would."""
    text = path.read_text(encoding="utf-8")
    assert f"\n{before}" in text, f"{path}: no {before!r}"
    path.write_text(text.replace(f"\n{before}", f"\n{line}\n{before}", 1), encoding="utf-8")


def changed(path: Path, old: str, new: str) -> None:
    """Replace a text that is there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path}: {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def a_corpus(package: Path) -> str:
    with (package / "corpora" / "corpora.toml").open("a") as file:
        file.write("[scratch]\nhelp = 'Make STORE of the scratch corpus at CORPUS.'\n")
        file.write("[scratch.layout]\nlists = '{speaker}.txt'\nlines = '{id} {text}'\naudio = '{id}.wav'\n")
    return (
        "from pathlib import Path; from tts_prep.preprocess import read_corpus\n"
        "Path('scratch').mkdir(); Path('scratch/me.txt').write_text('a A text.')\n"
        "rows, _ = read_corpus('scratch', Path('scratch')); [row] = rows\n"
        "assert (row.id, row.text, row.audio, row.speaker) == ('a', 'A text.', 'a.wav', 'me')\n"
        "from tts_prep.cli.main import cli; assert 'scratch corpus' in cli.commands['scratch'].help\n"
    )


def a_frontend(package: Path) -> str:
    package.joinpath("languages", "scratch.py").write_text(
        "from tts_prep.preprocess.text.frontends.plain import CharactersFrontend\n"
        "class ScratchFrontend(CharactersFrontend):\n    '''Letters.'''\n"
    )
    added(
        package / "languages" / "room.json",
        '      "mandarin-pinyin"',
        '      "scratch": {"place": "scratch:ScratchFrontend", "about": "letters"},',
    )
    return "from tts_prep.preprocess import get_frontend; assert get_frontend('scratch').phoneticize('ab') == 'ab'"


def a_symbol_table(package: Path) -> str:
    folder = package / "preprocess" / "text" / "symbols"
    folder.joinpath("tables", "scratch.txt").write_text("_\na\nb\n")
    with (folder / "tables.toml").open("a", encoding="utf-8") as rows:
        rows.write('[scratch]\nmade_for = "a test"\nsource = "here"\nlicence = "MIT"\npad = "_"\n')
    return (
        "from tts_prep.preprocess import get_frontend\n"
        "assert len(get_frontend('characters', symbols='scratch').vocab) == 3\n"
    )


def figures_of_a_language(package: Path) -> str:
    folder = package / "figures"
    shutil.copy(folder / "languages" / "nl.toml", folder / "languages" / "af.toml")
    added(folder / "room.json", '      "ar"', '      "af": ":af",')
    return (
        "from tts_prep.preprocess.text.language_codes import normalize\n"
        "assert normalize('5 km', 'af').endswith(' kilometer')\n"
    )


def a_preset(package: Path) -> str:
    folder = package / "preprocess" / "audio"
    line = '  "scratch": {"source": "Scratch: here", "audio": {"win_length": 512, "window": "ones"}},'
    added(folder / "presets.json", '  "parakeet": {', line)
    changed(folder / "config.py", '"hann", ', '"ones", "hann", ')
    added(
        folder / "mel.py",
        '    if config.window == "hamming"',
        '    if config.window == "ones":\n        return np.ones(length)',
    )
    return (
        "from tts_prep.preprocess import PRESETS; from tts_prep.preprocess.audio.mel import window_of\n"
        "assert window_of(PRESETS['scratch']).tolist() == [1.0] * 512\n"
    )


def a_measure(package: Path) -> str:
    row = '[scratch]\nunit = "s"\nof = "store"\nmeaning = "Twice the length."\n'
    added(package / "checks" / "measures.toml", "[phones]", row)
    added(package / "checks" / "catalogue.py", '    "phones": ', '    "scratch": lambda found: 2 * found.seconds,')
    return (
        "from tts_prep.checks import measure; from tts_prep.loader import UtteranceDataset\n"
        "dataset = UtteranceDataset('store'); values = measure(dataset).columns['scratch']\n"
        "assert (values == 2 * dataset.seconds).all()\n"
    )


def an_export_layout(package: Path) -> str:
    folder = package / "export"
    folder.joinpath("scratch.py").write_text(
        "def export_scratch(dataset, folder):\n    folder.write('ids', '\\n'.join(dataset.id).encode())\n"
    )
    path = folder / "layouts.toml"
    added(
        path,
        "[webdataset]",
        '[scratch]\nwrite = "scratch:export_scratch"\nfiles = "`ids`"\nopened_by = "everyone"\nsystem = "Scratch"\n'
        'other_names = ["itch"]\n',
    )
    return (
        "from tts_prep.export import export; from tts_prep import ConfigurationError\n"
        "assert [path.name for path in export('store', 'scratch', 'new')] == ['ids']\n"
        "from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "assert 'ids; for everyone' in CliRunner().invoke(cli, ['export', '--help']).output\n"
        "try:\n    export('store', 'itch', 'other')\n"
        "except ConfigurationError as error:\n    assert \"the layout for Scratch is 'scratch'\" in str(error)\n"
        "else:\n    raise AssertionError\n"
    )


def a_recipe(package: Path) -> str:
    folder = package / "recipes"
    folder.joinpath("scratch.py").write_text("class ScratchDataset:\n    '''Examples.'''\n")
    line = "    from tts_prep.recipes.scratch import ScratchDataset as ScratchDataset"
    added(folder / "__init__.py", "    from tts_prep.recipes.bigvgan", line)
    return "from tts_prep.recipes import ScratchDataset"


def a_command(package: Path) -> str:
    package.joinpath("checks", "scratch.py").write_text(
        "import click\n@click.command('scratch-word')\ndef scratch():\n    '''Print.'''\n    click.echo('word')\n"
    )
    row = '      "scratch-word": {"place": "scratch:scratch", "group": "Inspect a store"},'
    added(package / "checks" / "room.json", '      "check": {', row)
    return "import sys; sys.argv = ['tts-prep', 'scratch-word', '--help']; from tts_prep.__main__ import main; main()"


def a_feature(package: Path) -> str:
    folder = package / "preprocess" / "features"
    folder.joinpath("scratch.py").write_text(
        "import numpy as np\n"
        "from tts_prep.preprocess.features.feature import FeatureValues\n"
        "from tts_prep.preprocess.features.kinds import FeatureKind\n"
        "from tts_prep.format.records.arrays import ArraySpec\n"
        "class ScratchFeature:\n"
        "    specs = (ArraySpec('scratch', 'float32', (), 'frame'),)\n"
        "    def source(self, utterance_id, speaker):\n        return None\n"
        "    def compute(self, utterance):\n"
        "        return FeatureValues({'scratch': np.zeros(utterance.n_frames, np.float32)})\n"
        "KIND = FeatureKind('scratch', 'zeros', lambda recipe, settings: ScratchFeature())\n"
    )
    added(package / "core.json", '      "energy"', '      "scratch": "preprocess.features.scratch:KIND",')
    return (
        "from tts_prep.preprocess import PRESETS, make_feature\n"
        "feature = make_feature('scratch', {}, PRESETS['parakeet'])\n"
        "assert [spec.name for spec in feature.specs] == ['scratch']\n"
        "from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "assert 'scratch' in CliRunner().invoke(cli, ['features']).output\n"
    )


def a_step_of_cleaning(package: Path) -> str:
    config = package / "preprocess" / "audio" / "cleaning.py"
    changed(config, '"loudness", "limiter")', '"loudness", "limiter", "polarity")')
    changed(
        config,
        "    limiter: float | None = None\n",
        "    limiter: float | None = None\n    polarity: float | None = None\n",
    )
    added(
        package / "signals" / "cleaner.py",
        "    if config.limiter is not None:",
        "    waveform = waveform * (config.polarity or 1)",
    )
    options = package / "preprocess" / "configuration" / "options.json"
    added(
        options,
        '    "highpass"',
        '    "polarity": {"help": "Multiply by this.", "kind": "float", "group": "Cleaning"},',
    )
    return (
        "from pathlib import Path; from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "from tts_prep.cli.preparing import chosen_settings\n"
        "context = cli.commands['ljspeech'].make_context('ljspeech', ['corpus', 'store', '--polarity', '-1'])\n"
        "config = chosen_settings('ljspeech', Path('corpus'), context.params).config\n"
        "assert config.as_dict()['cleaning'] == {'polarity': -1.0}\n"
        "import numpy as np; from tts_prep.signals.cleaner import adjust_level\n"
        "assert adjust_level(np.ones(9, np.float32), 22050, config.cleaning).waveform[0] == -1\n"
    )


def a_step_of_a_run(package: Path) -> str:
    folder = package / "preprocess" / "make"
    folder.joinpath("scratch.py").write_text(
        "from tts_prep.errors import CorpusError\n"
        "def check_scratch(planned):\n    raise CorpusError(f'scratch: {planned.n_rows} rows are planned')\n"
    )
    path = folder.parent / "run.py"
    added(path, "from tts_prep.preprocess.make.shards", "from tts_prep.preprocess.make.scratch import check_scratch")
    added(path, "    recipe = planned.recipe\n    specs", "    check_scratch(planned)")
    return (
        "from pathlib import Path; from tts_prep import CorpusError\n"
        "from tts_prep.preprocess import SourceUtterance, configure, prepare\n"
        "Path('a.wav').write_bytes(b''); rows = [SourceUtterance('a', 'A text.', 'a.wav', 'here', 'someone')]\n"
        "settings = {'text': {'frontend': 'characters'}}\n"
        "try:\n    prepare(rows, Path('.'), Path('new-store'), configure('filelist', settings=settings))\n"
        "except CorpusError as error:\n    assert str(error) == 'scratch: 1 rows are planned'\n"
        "else:\n    raise AssertionError\n"
    )


def a_backend(package: Path) -> str:
    folder = package / "cluster"
    folder.joinpath("scratch_backend.py").write_text(
        "import joblib; from joblib.parallel import ThreadingBackend\n"
        "class ScratchBackend(ThreadingBackend):\n    pass\n"
        "joblib.register_parallel_backend('scratch', ScratchBackend)\n"
    )
    line = "    import tts_prep.cluster.scratch_backend"
    added(folder / "__init__.py", "    with environment(SAFE_PATH), _options", line)
    return (
        "from tts_prep.preprocess import Backend; from tts_prep.cluster import run_on_cluster\n"
        "assert sorted(run_on_cluster(abs, [-1, -2], 1, Backend('scratch'))) == [1, 2]\n"
    )


def in_the_loader(package: Path, module: str, name: str) -> None:
    """Name a class or function of a new module in ``loader/__init__.py``."""
    path = package / "loader" / "__init__.py"
    added(path, "    from tts_prep.batches.alignment", f"    from tts_prep.{module} import {name} as {name}")


def a_dataset(package: Path) -> str:
    package.joinpath("batches", "scratch_dataset.py").write_text(
        "from tts_prep.batches.composition import DatasetMixin\n"
        "class ReversedDataset(DatasetMixin):\n"
        "    def __init__(self, dataset):\n        self.dataset = dataset\n"
        "    def __len__(self):\n        return len(self.dataset)\n"
        "    def get_example(self, i):\n        return self.dataset[len(self) - 1 - i]\n"
    )
    in_the_loader(package, "batches.scratch_dataset", "ReversedDataset")
    return (
        "from tts_prep.loader import DataLoader, ReversedDataset, UtteranceDataset\n"
        "dataset = UtteranceDataset('store'); backwards = ReversedDataset(dataset)\n"
        "batches = list(DataLoader(backwards, batch_size=2))\n"
        "assert [uid for batch in batches for uid in batch.ids] == list(dataset.id)[::-1]\n"
    )


def a_sampler(package: Path) -> str:
    package.joinpath("batches", "scratch_sampler.py").write_text(
        "from tts_prep.loader.samplers.base import Sampler\n"
        "class EvenSampler(Sampler[int]):\n"
        "    def __init__(self, data_source):\n        super().__init__(); self._n = len(data_source)\n"
        "    @property\n    def size(self):\n        return self._n\n"
        "    def settings(self):\n        return {'size': self._n}\n"
        "    def order(self, epoch):\n        return iter(range(0, self._n, 2))\n"
        "    def _order_size(self, epoch):\n        return -(-self._n // 2)\n"
    )
    in_the_loader(package, "batches.scratch_sampler", "EvenSampler")
    return (
        "from tts_prep.loader import DataLoader, EvenSampler, UtteranceDataset\n"
        "dataset = UtteranceDataset('store'); loader = DataLoader(dataset, sampler=EvenSampler(dataset))\n"
        "assert [batch.ids for batch in loader] == [[dataset.id[0]]]\n"
        "assert loader.state_dict()['sampler']['epoch'] == 1\n"
    )


def a_collate_function(package: Path) -> str:
    package.joinpath("loader", "batching", "scratch.py").write_text(
        "from tts_prep.loader.batching.padding import pad_sequences\n"
        "def collate_phonemes(utterances):\n"
        "    return pad_sequences([utterance.phonemes for utterance in utterances], 0, 'int64')\n"
    )
    in_the_loader(package, "loader.batching.scratch", "collate_phonemes")
    return (
        "from tts_prep.loader import DataLoader, UtteranceDataset, collate_phonemes\n"
        "dataset = UtteranceDataset('store')\n"
        "[(ids, lengths)] = DataLoader(dataset, batch_size=2, collate_fn=collate_phonemes)\n"
        "assert lengths.tolist() == dataset.n_phonemes.tolist() and ids.shape == (2, lengths.max())\n"
    )


def a_chart(package: Path) -> str:
    folder = package / "report"
    added(folder / "charts.py", "def ranges(", "def scratch(title):\n    return drawing.Drawing(title, 9, 9)\n\n")
    page = folder / "page.py"
    changed(page, "mel_bins, ranges\n", "mel_bins, ranges, scratch\n")
    added(page, '        "mel_chart": ', '        "scratch_chart": scratch("A scratch chart"),')
    added(folder / "page.html.j2", "{% if mel_chart %}", "{{ draw(scratch_chart) }}")
    return (
        "from pathlib import Path; from tts_prep.report.page import report_html\n"
        "from tts_prep.report.summary import summarise\n"
        "assert 'A scratch chart' in report_html(summarise(Path('store')))\n"
    )


def a_panel(package: Path) -> str:
    path = package / "pictures" / "figure.py"
    added(path, "def _energy(", "def _scratch(axes, clip, texts):\n    axes.set_ylabel('scratch')\n\n")
    added(path, "    if clip.energy is not None:\n        panels", "    panels.append((_scratch, 1.0))")
    return (
        "from tts_prep.loader import UtteranceDataset\n"
        "axes = UtteranceDataset('store')[0].plot().axes\n"
        "assert 'scratch' in [panel.get_ylabel() for panel in axes]\n"
    )


def an_argument_of_a_function(package: Path) -> str:
    path = package / "models" / "inputs.py"
    changed(path, '"mels", "phonemes", *TEXTS', '"mels", "phonemes", "scratches", *TEXTS')
    added(
        path,
        '        if name == "mels":',
        '        if name == "scratches":\n            return [len(text) for text in self._stored.texts("text")]',
    )
    return (
        "from pathlib import Path; from tts_prep.preprocess import Configuration; from tts_prep.loader import *\n"
        "from tts_prep.models.inputs import ShardInputs, Source\n"
        "source = Source(Path('store'), Configuration(), None); assert 'scratches' in source.names\n"
        "text = UtteranceDataset('store')[0].text\n"
        "assert ShardInputs(source, 0, None).value('scratches', 0, None) == len(text)\n"
    )


def a_scheme(package: Path) -> str:
    added(package / "remote" / "server.py", '    "s3": "s3fs",', '    "memory": "fsspec",')
    return (
        "import importlib.util, sys\n"
        "if not importlib.util.find_spec('fsspec'): sys.exit()\n"
        "import fsspec; from tts_prep.loader import UtteranceDataset\n"
        "fsspec.filesystem('memory').put('store', '/voice', recursive=True)\n"
        "assert len(UtteranceDataset('memory://voice', cache='cache')) == 2\n"
    )


def an_option_of_a_setting(package: Path) -> str:
    folder = package / "preprocess" / "configuration"
    option = '    "scratch": {"help": "A scratch setting.", "kind": "int", "metavar": "N", "group": "The store"},'
    added(folder / "options.json", '    "mel_dtype"', option)
    added(folder / "records.py", '    mel_dtype: str = "float32"', "    scratch: int = 3")
    return (
        "from pathlib import Path; from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "from tts_prep.cli.preparing import chosen_settings\n"
        "command = cli.commands['ljspeech']\n"
        "context = command.make_context('ljspeech', ['corpus', 'store', '--scratch', '5'])\n"
        "assert 'A scratch setting.' in CliRunner().invoke(command, ['--help', 'all']).output\n"
        "config = chosen_settings('ljspeech', Path('corpus'), context.params).config\n"
        "assert config.as_dict()['store']['scratch'] == 5\n"
    )


def an_option_of_all_corpora(package: Path) -> str:
    path = package / "cli" / "options.json"
    added(path, '    "limit"', '    "scratch_rows": {"help": "A scratch option.", "kind": "int", "metavar": "N"},')
    return (
        "from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "for name in ('ljspeech', 'folder', 'manifest'):\n"
        "    context = cli.commands[name].make_context(name, ['corpus', 'store', '--scratch-rows', '5'])\n"
        "    assert context.params['scratch_rows'] == 5, name\n"
        "    assert 'A scratch option.' in CliRunner().invoke(cli.commands[name], ['--help', 'all']).output\n"
    )


def an_option_of_a_run(package: Path) -> str:
    row = '    "scratch_tries": {"help": "A scratch way.", "kind": "int", "default": 2, "metavar": "N"},'
    added(package / "cli" / "options.json", '    "overwrite"', row)
    path = package / "preprocess" / "make" / "asked.py"
    added(path, "        part: make only", "        scratch_tries: a scratch way.")
    added(path, "    part: Part | None", "    scratch_tries: int = 2")
    return (
        "import inspect; from pathlib import Path; from tts_prep.preprocess import prepare\n"
        "assert inspect.signature(prepare).parameters['scratch_tries'].default == 2\n"
        "assert '    scratch_tries: a scratch way.' in prepare.__doc__\n"
        "from click.testing import CliRunner; from tts_prep.cli.main import cli; from tts_prep.cli import preparing\n"
        "assert 'A scratch way.' in CliRunner().invoke(cli.commands['ljspeech'], ['--help', 'all']).output\n"
        "asked = []\n"
        "def begin(store, change, of):\n    asked.append(of.scratch_tries)\n    raise SystemExit(0)\n"
        "from tts_prep.preprocess.make.transaction import StoreTransaction; StoreTransaction.begin = begin\n"
        "from corpora import write_ljspeech; write_ljspeech(Path('scratch-lj'))\n"
        "options = ['--frontend', 'characters', '--unknown', 'drop', '--update', '--scratch-tries', '5', '-j', '1']\n"
        "CliRunner().invoke(cli.commands['ljspeech'], ['scratch-lj', 'scratch-store', *options])\n"
        "assert asked == [5], asked\n"
    )


def an_option_of_a_model(package: Path) -> str:
    row = '    "scratch_seconds": {"help": "A scratch wait.", "kind": "float", "default": 2.0, "metavar": "S"},'
    added(package / "models" / "options.json", '    "timeout"', row)
    path = package / "additions" / "add_arrays.py"
    added(path, "        timeout: seconds", "        scratch_seconds: a scratch wait.")
    added(path, "    timeout: float", "    scratch_seconds: float = 2.0")
    return (
        "import inspect; from tts_prep.preprocess import add_array\n"
        "assert inspect.signature(add_array).parameters['scratch_seconds'].default == 2\n"
        "assert '    scratch_seconds: a scratch wait.' in add_array.__doc__\n"
        "from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "assert 'A scratch wait.' in CliRunner().invoke(cli.commands['add'], ['--help']).output\n"
        "import tts_prep.models.add_model as models; from tts_prep.models.addition import add\n"
        "asked = []\n"
        "def add_model(store, model, run, *_):\n    asked.append(run.scratch_seconds)\n    raise SystemExit(0)\n"
        "models.add_model = add_model\n"
        "given = cli.commands['add'].make_context('add', ['store', '--scratch-seconds', '5']).params\n"
        "try:\n    add('store', [models.ModelFunction('tokens', str, {})], given, lambda: None, None, 1)\n"
        "except SystemExit:\n    pass\n"
        "assert asked == [5], asked\n"
    )


def a_number_of_plan(package: Path) -> str:
    path = package / "report" / "policies.py"
    added(path, "    batches: int", "    scratch: int")
    added(path, "        batches=", "        scratch=len(dataset) + 70,")
    added(package / "report" / "command.py", '    "batches": ', '    "scratch": lambda cost: f"{cost.scratch} tries",')
    return (
        "import json; from click.testing import CliRunner; from tts_prep.cli.main import cli\n"
        "head, *policies = CliRunner().invoke(cli, ['plan', 'store']).output.split('\\n\\n')[1].splitlines()\n"
        "assert 'scratch' in head and policies and all('72 tries' in line for line in policies), policies\n"
        "shown = json.loads(CliRunner().invoke(cli, ['plan', 'store', '--json']).output)['policies']\n"
        "assert [policy['scratch'] for policy in shown] == [72] * len(policies)\n"
    )


def a_column_of_the_review(package: Path) -> str:
    path = package / "review" / "table.py"
    column = '        yield Column("scratch", "Scratch", "", "number", "The place from the end.")'
    added(path, "        for name in self.dataset.columns:", column)
    value = '        if key == "scratch":\n            return np.arange(len(self), 0.0, -1.0)'
    added(path, '        if key == "keep":\n            return', value)
    return (
        "from pathlib import Path; from tts_prep.loader import UtteranceDataset\n"
        "from tts_prep.review.decisions import DecisionFile; from tts_prep.review.table import Query, Table\n"
        "table = Table(UtteranceDataset('store'), DecisionFile(Path('decisions.csv')))\n"
        "assert 'Scratch' in [column.label for column in table.columns]\n"
        "assert table.rows(Query(sort='scratch')).tolist() == [1, 0]\n"
        "assert table.rows(Query(filter='scratch > 1')).tolist() == [0]\n"
    )


def what_a_download_is_given_up_for(package: Path) -> str:
    changed(
        package / "remote" / "server.py",
        "isinstance(error, FileNotFoundError) or is_",
        "isinstance(error, OSError) or is_",
    )
    return (
        "import importlib.util, socket, sys\n"
        "if not importlib.util.find_spec('fsspec') or not importlib.util.find_spec('aiohttp'): sys.exit()\n"
        "from tts_prep.errors import CannotReadError; from tts_prep.loader import UtteranceDataset\n"
        "with socket.socket() as unused:\n"
        "    unused.bind(('127.0.0.1', 0)); url = f'http://127.0.0.1:{unused.getsockname()[1]}/store'\n"
        "    try:\n        UtteranceDataset(url, cache='scratch-cache')\n"
        "    except CannotReadError as error:\n        assert 'in 1 attempt (' in str(error), error\n"
        "    else:\n        raise AssertionError(url)\n"
    )


def a_phone_set_of_the_aligner(package: Path) -> str:
    path = package / "acoustics" / "phones" / "symbols.py"
    changed(path, '"pau", ', '"pau", "scratch", ')
    return (
        "from tts_prep.aligner.model import Vocabulary; from tts_prep.acoustics.phones.symbols import PAUSE, PHONE\n"
        "assert Vocabulary(('_', 'a', 'scratch'), 0).kinds.tolist() == [0, PHONE, PAUSE]\n"
    )


ADDITIONS = {
    "a corpus": a_corpus,
    "a text frontend": a_frontend,
    "a symbol table": a_symbol_table,
    "figures of a language": figures_of_a_language,
    "a mel preset": a_preset,
    "a step of cleaning": a_step_of_cleaning,
    "a feature": a_feature,
    "a step of a run": a_step_of_a_run,
    "a backend for jobs": a_backend,
    "a dataset": a_dataset,
    "a sampler": a_sampler,
    "padding, collating": a_collate_function,
    "another system's batch": a_recipe,
    "a measure of utterances, a reason to suspect them": a_measure,
    "a chart of the report": a_chart,
    "a panel of an utterance's plot": a_panel,
    "an export layout": an_export_layout,
    "a command": a_command,
    "an argument of a model's function": an_argument_of_a_function,
    "a scheme of URLs": a_scheme,
    "an option of a setting": an_option_of_a_setting,
    "another option of all corpora": an_option_of_all_corpora,
    "an option of a run, such as --update": an_option_of_a_run,
    "an option of a model": an_option_of_a_model,
    "a number of `plan`": a_number_of_plan,
    "a column of the review": a_column_of_the_review,
    "what a download is tried again for": what_a_download_is_given_up_for,
    "a phone set of the aligner": a_phone_set_of_the_aligner,
}
"""An addition for each row of the table."""


RUN = """
import json, sys, traceback

sys.path.insert(0, ".")
failed = {}
for name, code in json.load(sys.stdin).items():
    try:
        exec(code, {})
    except SystemExit as end:
        if end.code:
            failed[name] = f"exit status {end.code}"
    except Exception:
        failed[name] = traceback.format_exc()
json.dump(failed, open("failed.json", "w"))
"""


@pytest.fixture(scope="module")
def failed(made_once: Callable[[str, Callable[[Path], object]], Path]) -> dict[str, str]:
    """Return what was raised by each addition that failed, all of them in one copy of the package and one process."""
    return dict(json.loads((made_once("scratch", try_additions) / "failed.json").read_text()))


def try_additions(folder: Path) -> None:
    """Try all additions in a copy of the package in a folder, and write what failed there."""
    folder.mkdir()
    # With what is compiled, but for the files that another process is writing, which have one more suffix.
    with one_process_at_a_time():
        ignored = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
        shutil.copytree(ROOT / "tts_prep", folder / "tts_prep", ignore=ignored)
    write_store(folder / "store", make_rows([5, 6]))
    codes = {name: add(folder / "tts_prep") for name, add in ADDITIONS.items()}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "tests")])},
        input=json.dumps(codes),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_where_the_architecture_says_is_complete(failed: dict[str, str], name: str) -> None:
    assert failed.get(name) is None


def test_every_row_of_the_table_is_tried() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| component |") : page.index("Where something is:")]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert [row for row in rows if not row.startswith("---")] == list(ADDITIONS)


def test_the_files_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = ((ROOT / "tts_prep").rglob("*"), (ROOT / "docs").glob("*.py"))
    paths = [f"/{path.relative_to(ROOT).as_posix()}" for found in places for path in found if path.name != "NAME.txt"]
    folders = re.findall(r"^\| [^|]+ \| `([\w/]+)/`", page, re.MULTILINE)
    named = re.findall(r"`([\w/]+\.(?:py|json))`", page)
    outside = [name for name in named if name.startswith(("docs/", "tests/"))]
    files = [name for name in named if name not in outside]
    assert [name for name in outside if not (ROOT / name).is_file()] == []
    assert len(folders) > 10
    assert len(files) > 20
    assert [name for name in (*folders, *files) if not any(path.endswith(f"/{name}") for path in paths)] == []
