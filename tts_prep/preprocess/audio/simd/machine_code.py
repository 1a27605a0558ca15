"""The machine code of the kernel, in files.

numba makes it. To import numba, and to load functions from its own cache, takes half a second in a process; llvmlite
alone, with which numba makes code, loads it in a tenth of that. So numba is imported only where a file is missing.
"""

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from struct import pack
from typing import Final

import llvmlite.binding as llvm
import numpy as np

from tts_prep.compiler import is_private, listen, one_process_at_a_time
from tts_prep.errors import WriteError
from tts_prep.format.files.atomic import replacing
from tts_prep.preprocess.audio.simd.tables import GAP, LANES, Array, Tables, tables, twiddles

__all__ = ["LANES", "function", "load", "mel_name", "places", "prepare", "scratch", "tables", "twiddles"]

Place = tuple[int, int]
_TYPE: Final = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


class MachineCode:
    """A function of `kernel.compiled`."""

    def __init__(self, code: bytes) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="jitdefault")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._function = _TYPE(self._engine.get_function_address("kernel"))

    def __call__(self, arrays: Sequence[Place], integers: Sequence[int] = (), numbers: Sequence[float] = ()) -> None:
        """Call the function with the `places` of contiguous arrays of the dtypes that it expects."""
        addresses, lengths = zip(*arrays, strict=True)
        # It only reads these bytes, which are made in a third of the time of arrays of ctypes.
        packed = pack(f"{len(addresses)}P", *addresses), pack(f"{len(lengths)}q", *lengths)
        self._function(*packed, pack(f"{len(integers)}q", *integers), pack(f"{len(numbers)}d", *numbers))


def places(*arrays: Array) -> list[Place]:
    """Return the address of each array, which the caller keeps, and its number of values."""
    return [(array.ctypes.data, array.size) for array in arrays]


def mel_name(found: Tables, *, energy: bool) -> str:
    """Return the name of the kernel for a transform with these tables."""
    kind = "chirp" if found.chirp.size else "odd" if len(found.odd) else "even"
    # Few recipes have a chirp, whose kernel takes longest to make: one is enough.
    return f"mel-{kind}{'-energy' if energy or kind == 'chirp' else ''}"


def scratch(n_read: int, n_fft: int, n_mels: int, found: Tables) -> Array:
    """Return the memory that a kernel works in, which starts at a cache line.

    If it did not, every second 512-bit load and store would cross the end of one, and take 1.3 times as long.
    """
    more = 10 + 4 * len(found.wr) if found.chirp.size else 2 * max(found.odd.tolist(), default=0)
    size = LANES * (n_read // 2 * 2 + (n_fft // 2 + 2) // 2 + (n_mels + 1) // 2 + 2 + more)
    memory = np.empty(size + 2 * GAP + 8)
    skipped = -memory.ctypes.data % 64 // 8
    return memory[skipped : skipped + size + 2 * GAP]


_loaded: dict[str, MachineCode] = {}


def load(name: str) -> MachineCode | None:
    """Return a function of `kernel.compiled` that is loaded or in a file; None if it has to be made."""
    for path in () if name in _loaded else _files(name):
        with contextlib.suppress(OSError):
            content = path.read_bytes()
            # A file is half there where a disk was full.
            if hashlib.sha256(content[32:]).digest() == content[:32]:
                _loaded[name] = MachineCode(content[32:])
                break
    return _loaded.get(name)


def prepare(names: Sequence[str], note: Callable[[], object] = lambda: None) -> float:
    """Load functions of `kernel.compiled`, or make them, in one process at a time, and call ``note`` before that.

    Returns:
        The seconds that making them took; 0 if all were in files.
    """
    if all(map(load, names)):
        return 0.0
    with one_process_at_a_time():
        missing = [name for name in names if not load(name)]
        if not missing:
            return 0.0
        note()
        started = time.monotonic()
        for name in missing:
            code = _make(name)
            _loaded[name] = MachineCode(code)
            for path in _files(name):
                with contextlib.suppress(OSError, WriteError):
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    with replacing(path) as partial:
                        partial.write_bytes(hashlib.sha256(code).digest() + code)
                    break
        return time.monotonic() - started


def function(name: str) -> MachineCode:
    """Return a function of `kernel.compiled`."""
    if name not in _loaded:
        prepare([name])
    return _loaded[name]


def _make(name: str) -> bytes:
    from numba import config

    from tts_prep.preprocess.audio.simd import kernel

    listen()
    function = kernel.compiled(name)
    # What the compiler calls where a function raises an error or frees an array, which none does here, becomes a trap:
    # code in a file must not depend on where something is in this process.
    called = re.compile(r"^declare (.*@(?:numba_(?:gil|unpickle|do_raise|runtime)|NRT_|Py).*)", re.MULTILINE)
    trap = r"define private \1 {\n  call void @llvm.trap()\n  unreachable\n}"
    text = called.sub(trap, function.inspect_llvm().replace(function.native_name, "kernel"))
    text = re.sub(r"^(@Py\w+ = )external( global i8)$", r"\1private\2 0", text, flags=re.MULTILINE)
    # For the processor for which the compiler has optimized it.
    here = llvm.get_host_cpu_features()
    if not config.ENABLE_AVX:  # type: ignore[attr-defined]
        here.update((name, False) for name in here if name.startswith("avx"))
    processor, told = config.CPU_NAME or llvm.get_host_cpu_name(), config.CPU_FEATURES  # type: ignore[attr-defined]
    options = {"cpu": processor, "features": here.flatten() if told is None else told, "opt": 3, "jit": True}
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    target = triple.create_target_machine(**options, codemodel="jitdefault")
    code: bytes = target.emit_object(llvm.parse_assembly(f"{text}\ndeclare void @llvm.trap()\n"))
    return code


@lru_cache(maxsize=1)
def _made_from() -> bytes:
    """Return what the code depends on: the kernel's source, which compiler there is, and the processor."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    packages = [spec for spec in map(importlib.util.find_spec, ("llvmlite", "numba")) if spec and spec.origin]
    compilers = [(spec.origin, Path(str(spec.origin)).stat().st_mtime_ns) for spec in packages]
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return sources + repr((compilers, processor)).encode()


def _files(name: str) -> Iterator[Path]:
    """Yield where a file can be, in order: as the files of the compiler's own cache."""
    told = [os.environ.get(f"NUMBA_{option}") for option in ("CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT")]
    file = f"kernel-{name}-{hashlib.sha256(_made_from() + repr(told).encode()).hexdigest()[:24]}.o"
    given = os.environ.get("NUMBA_CACHE_DIR")
    if not given:
        # Python itself runs the files of this folder.
        yield Path(__file__).parent / "__pycache__" / file
    with contextlib.suppress(RuntimeError, OSError):
        folder = Path(given or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tts-prep")
        if is_private(folder):
            yield folder / file
