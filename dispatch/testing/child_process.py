"""Runs checks in a child process, so that a kernel that crashes, hangs or takes all memory ends the child and no more.

The child is a fork where there is `os.fork`: it has the operator and the arguments without pickling. Elsewhere it is a new
interpreter, which imports the module of the operator. It says what it is about to call, so that the parent can name it, and
sends each result as soon as it has it.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

try:
    from resource import RLIMIT_AS, RLIMIT_CORE, getrlimit, setrlimit
except ImportError:  # Windows has none
    HAS_LIMITS = False
else:
    HAS_LIMITS = True

import numpy as np

from ..core.source import raised_at
from ..errors import OperatorNotFoundError

MOST_MEMORY = 4 << 30  # bytes beyond what the parent has: enough for a kernel on a sample, and left to the machine
PATIENCE = 10  # seconds that the work of an `Elsewhere` may take
EXITS = 5.0  # seconds that a process which has closed its pipe may take to end
Say = Callable[[str], object]
Work = Callable[[Say], Iterator[Any]]


class Ended(NamedTuple):
    """How a child ended before it was done, as words that follow the kernel, and what it was calling."""

    how: str
    what: str
    hung: bool = False


class Unfit(NamedTuple):
    """Why a new interpreter cannot do the work."""

    why: str


class Elsewhere:
    """A generator to be run in a copy of this process as it is now.

    The copy waits until it is asked, so that two kernels do not share the memory there is, and ends with this process.

    Parameters
    ----------
    work : callable
        Returns an iterator over what can be pickled.
    patience : float
        Seconds that it may take.
    """

    def __init__(self, work: Callable[[], Iterable[Any]], patience: float = PATIENCE) -> None:
        asked, ask = os.pipe()
        found, give = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            try:
                os.close(ask)
                if os.read(asked, 1) == b"1":
                    signal.signal(signal.SIGALRM, signal.SIG_DFL)
                    signal.setitimer(signal.ITIMER_REAL, patience)
                    with os.fdopen(give, "wb") as out:
                        for value in work():
                            pickle.dump(value, out)
                            out.flush()
            finally:
                os._exit(0)
        os.close(asked)
        os.close(give)
        self._ask, self._found = ask, found

    def results(self, asked: bool = True) -> tuple[list[Any], str]:
        """Return what it yields until it raises or ends the process, and the name of the signal that ended it."""
        found: list[Any] = []
        ended = contextlib.suppress(OSError, EOFError, pickle.UnpicklingError)
        with os.fdopen(self._found, "rb") as stream, os.fdopen(self._ask, "wb") as ask, ended:
            ask.write(b"1" if asked else b"0")  # a later copy holds the pipe too, so that closing it here says nothing
            ask.flush()
            while asked:
                found.append(pickle.load(stream))
        _, status = os.waitpid(self._pid, 0)
        return found, signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""


class _Begin(NamedTuple):
    what: str


class _Done(NamedTuple):
    pass


def has_fork() -> bool:
    """Return whether a process can be copied here."""
    return hasattr(os, "fork")


def run_in_fork(work: Work, timeout: float) -> Iterator[Any]:
    """Run a generator in a copy of this process, and yield what it yields; an `Ended` comes last if the child ended early.

    Parameters
    ----------
    work : callable
        Takes a function to say what is called next, and yields values that can be pickled.
    timeout : float
        Seconds without a word after which a call is taken to hang.

    Yields
    ------
    object
    """
    np.random.default_rng(0)  # loaded here, it is not loaded again in every child: 20 ms each
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_serve_fork, args=(work, sending.send))
    with warnings.catch_warnings():  # of forking beside threads: the child runs one kernel, and is watched
        warnings.simplefilter("ignore")
        process.start()
    sending.close()

    def receive(seconds: float) -> Any:
        if not receiving.poll(seconds):
            raise TimeoutError
        return receiving.recv()

    def end(seconds: float) -> int:
        process.join(seconds)
        process.kill()
        process.join()
        receiving.close()
        return process.exitcode or 0

    yield from _watched(receive, end, timeout)


def run_in_new(work: Work, timeout: float) -> Iterator[Any]:
    """Do the same in a new interpreter; the work is pickled, which imports the modules of what is in it."""
    command = f"from {__name__} import serve_pipe; serve_pipe({list(sys.path)!r})"
    child = subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    incoming: queue.Queue[Any] = queue.Queue()
    stream = child.stdout

    def read() -> None:
        with contextlib.suppress(EOFError, pickle.UnpicklingError, OSError):
            while True:
                incoming.put(pickle.load(stream))
        incoming.put(EOFError())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with contextlib.suppress(BrokenPipeError):
        pickle.dump(work, child.stdin)
        child.stdin.close()

    def receive(seconds: float) -> Any:
        try:
            found = incoming.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(found, EOFError):
            raise found
        return found

    def end(seconds: float) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        child.kill()
        status = child.wait()
        reader.join()
        stream.close()
        return status

    yield from _watched(receive, end, timeout)


def _watched(receive: Callable[[float], Any], end: Callable[[float], int], timeout: float) -> Iterator[Any]:
    what, hung, done, patience = "", False, False, 0.0
    until = time.monotonic() + timeout
    try:
        while not done:
            found = receive(max(0.0, until - time.monotonic()))
            until = time.monotonic() + timeout
            if isinstance(found, _Begin):
                what = found.what
            elif isinstance(found, _Done):
                done = True
            else:
                done = isinstance(found, (Ended, Unfit))
                yield found
        patience = EXITS
    except TimeoutError:
        hung = True
    except (EOFError, OSError, pickle.UnpicklingError):
        patience = EXITS
    finally:
        status = end(patience)
    if not done:
        yield Ended(f"did not return within {timeout:g} s" if hung else _ending(status), what, hung)


def _serve(work: Work, send: Callable[[Any], object]) -> None:
    """Be the child: send what the work yields."""
    said = ""

    def say(what: str) -> None:
        nonlocal said
        said = what
        send(_Begin(what))

    faulthandler.disable()  # the parent says what happened
    _limit_memory()
    try:
        for value in work(say):
            send(value)
        send(_Done())
    except BaseException as error:  # `sys.exit()` in a kernel too
        missing = not said and isinstance(error, OperatorNotFoundError)  # a pickled operator is looked up when it is used
        send(Unfit(str(error)) if missing else Ended(f"raised {type(error).__name__}: {error}", said))


def _serve_fork(work: Work, send: Callable[[Any], object]) -> None:
    """Be a copy of this process. What kernels print goes where errors do, for what the parent prints may be for programs."""
    with contextlib.suppress(OSError):  # of a process that has closed them
        os.dup2(2, 1)
    _serve(work, send)


def serve_pipe(path: list[str]) -> None:
    """Be a new interpreter: take the work from stdin and send to stdout, which kernels then cannot write to."""
    sys.path[:] = path
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(value: Any) -> None:
        pickle.dump(value, out)
        out.flush()

    try:
        work = pickle.load(sys.stdin.buffer)
    except Exception as error:
        send(Unfit(str(error)))
    else:
        _serve(work, send)


def _ending(status: int) -> str:
    if status < 0:
        known = {member.value: member.name for member in signal.Signals}
        return f"ended the process with {known.get(-status, f'signal {-status}')}"
    return f"ended the process with exit status {status}"


def _limit_memory() -> None:
    """Bound what the child may take, and write no core file."""
    if not HAS_LIMITS:
        return
    try:
        setrlimit(RLIMIT_CORE, (0, getrlimit(RLIMIT_CORE)[1]))
        page = os.sysconf("SC_PAGE_SIZE")
        has = int(Path("/proc/self/statm").read_text().split()[0]) * page
        free = os.sysconf("SC_AVPHYS_PAGES") * page
        most = getrlimit(RLIMIT_AS)[1]
        bound = has + min(free // 2, MOST_MEMORY)
        setrlimit(RLIMIT_AS, (bound if most < 0 else min(bound, most), most))
    except (OSError, ValueError):  # no such limit on this system
        return


def portable(error: BaseException) -> BaseException:
    """Return an exception that can be sent to another process, with a note of the line of the user's code that raised it."""
    sent: BaseException = RuntimeError(f"{type(error).__name__}: {error}")
    with contextlib.suppress(Exception):  # of a class that is local, or whose __init__ takes something else
        copied = pickle.loads(pickle.dumps(error))
        sent = copied if isinstance(copied, BaseException) and str(copied) == str(error) else sent
    line = raised_at(error)
    for note in (*getattr(error, "__notes__", ()), *([f"raised in a child process, {line}"] if line else ())):
        if note not in getattr(sent, "__notes__", ()):
            sent.add_note(note)
    return sent
