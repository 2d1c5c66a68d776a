"""CuPy's arrays as those of the device "cuda": the laws of cupy_laws.py on a stand-in, and on CuPy where there is a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from children import said_by_child

ROOT = Path(__file__).parents[2]
PAGE = "docs/cupy.md"


def run_laws(*options, paths=("tests/cupy_laws.py",)):
    """Run them in a process of their own: the class of the arrays is registered for good."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *paths]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_laws_hold_on_a_stand_in():
    run_laws("-p", "cupy_stand_in")


def test_the_page_runs_on_a_stand_in():
    run_laws("-p", "cupy_stand_in", "--doctest-glob=*.md", paths=(PAGE,))


def test_the_laws_hold_on_a_gpu():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.zeros(1)
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy is installed, and there is no GPU")
    run_laws(paths=("tests/cupy_laws.py", PAGE))


def test_cupy_is_not_imported_to_find_its_arrays():
    said_by_child(
        """
        import sys
        try:
            dispatch.ops.np.sin(object())
        except TypeError:
            pass
        dispatch.grad(lambda x: np.sum(x))(np.ones(2))
        assert not any(name == "cupy" or name == "dispatch.interop.cupy" for name in sys.modules)
        """
    )
