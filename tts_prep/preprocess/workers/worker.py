"""The main loop of a worker process, which receives jobs and sends results through a pipe.

The module imports only the standard library, exceptions and progress, so that errors of other imports are sent back.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import threading
import traceback
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from tts_prep.errors import ConfigurationError, WorkerError, described
from tts_prep.progress import now_and_then

NOTE = "note"
READY = "ready"
UNREADY = "unready"
STEP = "step"
ADVANCE = "advance"
COMPILING = "compiling"
DONE = "done"
FAILED = "failed"


def work(connection: Connection[Any, Any], folder: str | None) -> None:
    """Run jobs until the pipe is closed.

    The first message is a pickled function to call before the first job, with a function that takes notes. A job is a
    pickled (function, argument, seconds between calls by name of a function). Answers are pairs of a kind and a value:
    any number of (``NOTE``, a text of that function); once (``READY``, what it returns) or (``UNREADY``, why it cannot
    be loaded, or what it raised), after which jobs are run all the same; for each job any number of (``STEP``, what
    ``report`` was called with) and (``ADVANCE``, what ``advance`` was called with), at most every so many seconds, then
    (``DONE``, result) or (``FAILED``, (exception, its traceback as text)). (``COMPILING``, name) precedes the
    compilation of a function, and (``COMPILING``, "") follows it.

    Args:
        folder: the working folder.
    """
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
    # If no thread can be started, this process ends after its parent only when its current job is done.
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=_end_with_parent, daemon=True, name="parent watch").start()
    with contextlib.suppress(Exception):
        from tts_prep.compiler import report_compilation

        report_compilation(lambda name: connection.send((COMPILING, name)))
    # The parent sees that this process has ended although a process that a job has forked or started goes on.
    os.register_at_fork(after_in_child=connection.close)
    os.set_inheritable(connection.fileno(), False)
    process = os.getpid()
    try:
        answer = _ready(connection, connection.recv_bytes())
        while True:
            if os.getpid() != process:
                os._exit(1)  # a forked process that has come back from the job, which this one answers
            connection.send_bytes(answer)
            answer = _answer(connection, connection.recv_bytes())
    except (EOFError, OSError):
        return  # the parent has ended or closed the pipe


def _ready(connection: Connection[Any, Any], get_ready: bytes) -> bytes:
    try:
        value = pickle.loads(get_ready)(lambda text: connection.send((NOTE, text)))
        return pickle.dumps((READY, value))
    except BaseException as error:  # modules of users, which are imported here, may raise SystemExit
        return pickle.dumps((UNREADY, described(error)))


def _answer(connection: Connection[Any, Any], message: bytes) -> bytes:
    try:
        function, argument, called = _loaded(message)
        for name, seconds in called.items():
            send = partial(_send, connection, {"report": STEP, "advance": ADVANCE}[name])
            function = partial(function, **{name: now_and_then(send, seconds)})
        return pickle.dumps((DONE, function(argument)))
    except Exception as error:
        return _failed(error)
    except BaseException as error:  # such as SystemExit, which would end the parent, too
        return _failed(WorkerError(f"a job ended with {described(error)}"))


def _loaded(message: bytes) -> Any:
    try:
        return pickle.loads(message)
    except MemoryError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"a function cannot be loaded in a worker process: {described(error)}; expected a module that it can "
            "import: not a notebook, and not one on a path that was removed from sys.path"
        ) from error


def _failed(error: Exception) -> bytes:
    text = traceback.format_exc()
    try:
        answer = pickle.dumps((FAILED, (error, text)))
        pickle.loads(answer)  # classes with arguments of their own can often be written, and not read
    except Exception:
        return pickle.dumps((FAILED, (RuntimeError(described(error)), text)))
    return answer


def _send(connection: Connection[Any, Any], kind: str, value: object) -> None:
    connection.send((kind, value))


def _end_with_parent() -> None:
    """End this process when its parent ends for any reason."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
