"""Code that ended the old process, run in one of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEGIN = "import numpy as np\nimport dispatch\nfrom dispatch.core import *\nA = np.arange(4.0)\n"


def said_by_child(code: str, timeout: float = 120) -> str:
    """What a new interpreter prints that runs this code; a test fails where a signal or an exception ends it."""
    code = BEGIN + textwrap.dedent(code)
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stderr[-4000:]}"
    assert "SystemError" not in done.stdout + done.stderr
    return done.stdout.strip()
