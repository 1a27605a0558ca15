"""The loader, ``info`` and ``plan`` work on Windows; other commands report what they need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from corpora import TEXTS

PROGRAM = """
import importlib.abc, contextlib, io, json, mmap, os, signal, sys

class NotOnWindows(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "pwd", "grp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in {"fcntl", "resource", "termios", "pwd", "grp"} & set(sys.modules):
    del sys.modules[name]
sys.meta_path.insert(0, NotOnWindows())
LACKING = {
    os: "pread preadv pwrite pwritev fork getuid geteuid sched_getaffinity mkfifo register_at_fork "
    "O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_DIRECTORY",
    signal: "SIGHUP SIGALRM SIGKILL setitimer pthread_sigmask",
    mmap: "MADV_WILLNEED PROT_READ MAP_SHARED MAP_PRIVATE",
}
for module, names in LACKING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

from tts_prep.cli.main import main
from tts_prep.loader import DataLoader, LengthBucketBatchSampler, UtteranceDataset

store = sys.argv[1]
dataset = UtteranceDataset(store, verify=False)
sampler = LengthBucketBatchSampler(dataset.n_frames, max_frames=200)
found = {"batches": [list(batch.mel.shape) for batch in DataLoader(dataset, batch_sampler=sampler)]}
for command in ("info", "plan", "check", "verify", "reindex", "finish", "ljspeech corpus"):
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([*command.split(), store])
    except SystemExit as exit_:
        found[command] = [exit_.code, out.getvalue(), err.getvalue()]
print(json.dumps(found))
"""


def test_the_loader_info_and_plan_run_without_what_windows_lacks(store: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, store], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(shape[0] for shape in found.pop("batches")) == len(TEXTS)
    for command in ("info", "plan", "check"):
        status, out, err = found.pop(command)
        assert (status, bool(out), err) == (0, True, "")
    status, _, err = found.pop("verify")
    assert (status, err.count("\n"), "parsed on Linux and macOS only" in err) == (1, 1, True)
    for command, (status, out, err) in found.items():
        assert (status, out) == (1, ""), command
        refused = "this command needs Linux or macOS; on Windows, the loader, info, plan, check, report and export work"
        assert err == f"tts-prep: error: {refused}\n"
