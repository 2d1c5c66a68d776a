"""Code that ended the old process, run in one of its own: a fork of an interpreter that has imported the package, and no more."""

import atexit
import json
import select
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BEGIN = "import numpy as np\nimport dispatch\nfrom dispatch.core import *\nfrom dispatch.core.program import Program, Slot\nA = np.arange(4.0)\n"

# What the interpreter runs: it forks for each text that comes. In the fork the loop ends, and the text runs as a main program does, to
# the end of the process, which counts too.
SERVE = """
import json, os, sys

def next_text():
    for line in sys.stdin:
        text, output, errors = json.loads(line)
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        for stream, path in enumerate((os.devnull, output, errors)):
            file = os.open(path, os.O_WRONLY if stream else os.O_RDONLY)
            os.dup2(file, stream)
            os.close(file)
        for name in [name for name in globals() if not name.startswith("__")]:
            del globals()[name]
        return text
    os._exit(0)

exec(compile(next_text(), "<string>", "exec"))
"""


class Ended(NamedTuple):
    """How a process ended, and what it has said."""

    returncode: int
    stdout: str
    stderr: str


class Interpreter:
    """An interpreter that has imported NumPy and the package, which takes 0.3 s: too long for each of some hundred texts."""

    def __init__(self) -> None:
        command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", "import numpy, dispatch" + SERVE]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.communicate)

    def run(self, text: str, timeout: float) -> Ended:
        """Run a text in a fork."""
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder, "output"), Path(folder, "errors")
            output.touch()
            errors.touch()
            self.process.stdin.write(json.dumps([text, str(output), str(errors)]) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], timeout)[0]:
                self.process.kill()
                interpreter.cache_clear()
                raise TimeoutError(f"no end after {timeout} s\n{errors.read_text()[-4000:]}")
            return Ended(int(self.process.stdout.readline()), output.read_text(), errors.read_text())


@cache
def interpreter() -> Interpreter:
    """The one interpreter."""
    return Interpreter()


def ended(code: str, timeout: float = 120) -> Ended:
    """How a process ends that runs this code, where NumPy and the package are imported already."""
    return interpreter().run(textwrap.dedent(code), timeout)


def said_by_child(code: str, timeout: float = 120) -> str:
    """What a process prints that runs this code; a test fails where a signal or an exception ends it."""
    done = ended(BEGIN + textwrap.dedent(code), timeout)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stderr[-4000:]}"
    assert "SystemError" not in done.stdout + done.stderr
    return done.stdout.strip()
