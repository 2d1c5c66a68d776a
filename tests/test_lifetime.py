"""Operators in whole programs: processes that are spawned and forked, worker pools, cloudpickle, notebooks' pickles.

Each program is a real script in a process of its own, since what is tested is what a new process finds.
"""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORKED = "ignore:This process"  # newer Pythons warn of every fork beside other threads, those of the BLAS among them

DEFINITIONS = '''
import functools, multiprocessing, pickle, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import dispatch
from dispatch import Residual, custom_op

@custom_op("lifetime::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor

@custom_op("lifetime::halved", mutates_args=())
def halved(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    return x / 2, 7

@custom_op("lifetime::either", mutates_args=())
def either(x: np.ndarray) -> str:
    return "array"

@custom_op("lifetime::either.number", mutates_args=())
def _(x: float) -> str:
    return "number"

def closing(x):
    return scale(x, 5.0)

def works():
    """What goes to a worker, by itself and inside other things, and what it must give for three ones."""
    return [
        (scale, [2.0] * 3), (functools.partial(scale, factor=3.0), [3.0] * 3), (halved, [0.5] * 3),
        (halved.whole, ([0.5] * 3, 7)), (dispatch.ops.lifetime.either, "array"), (closing, [5.0] * 3), (dispatch.ops.np.square, [1.0] * 3),
    ]

def same(found, expected):
    found = (found[0].tolist(), found[1]) if isinstance(found, tuple) else getattr(found, "tolist", lambda: found)()
    assert found == expected, (found, expected)
'''

POOL = '''
if __name__ == "__main__":
    x = np.ones(3)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        for work, expected in works():
            same(pool.submit(work, x).result(), expected)
    print("done")
'''


def run(folder, code, *arguments, name="program.py", command=None):
    """Run a program and return what it printed."""
    (folder / name).write_text(textwrap.dedent(code))
    path = os.pathsep.join([str(ROOT), str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", FORKED, *(command or [str(folder / name)]), *arguments],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def needs(name):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


METHODS = ["spawn", "forkserver", "fork"] if sys.platform != "win32" else ["spawn"]


@pytest.mark.parametrize("method", METHODS)
def test_operators_of_the_program_itself_work_in_other_processes(tmp_path, method):
    assert run(tmp_path, DEFINITIONS + POOL, method) == ["done"]


@pytest.mark.parametrize("method", METHODS)
def test_operators_of_a_module_work_in_other_processes(tmp_path, method):
    (tmp_path / "lifetime_library.py").write_text(DEFINITIONS)
    assert run(tmp_path, f"from lifetime_library import *\n{POOL}", method) == ["done"]


def test_a_program_that_is_run_as_a_module_and_imported_too(tmp_path):
    again = '''
    if __name__ == "__main__":
        import program
        assert program.scale is scale and scale.epoch == 2
        assert scale.defined_in.module == "program"
    '''
    code = DEFINITIONS + textwrap.dedent(again) + POOL
    assert run(tmp_path, code, "spawn", command=["-m", "program"]) == ["done"]


def test_a_worker_that_does_not_know_an_operator_says_so_and_lives(tmp_path):
    code = DEFINITIONS + '''
def attempt(data):
    op = pickle.loads(data)
    try:
        return op(np.ones(3))
    except dispatch.errors.OperatorNotFoundError as error:
        return repr(op), str(error)

if __name__ == "__main__":
    @custom_op("lifetime::late", mutates_args=())
    def late(x: np.ndarray) -> np.ndarray:
        return x
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        shown, said = pool.submit(attempt, pickle.dumps(late)).result()
        assert shown.startswith("<missing operator lifetime::late: it was defined in __main__"), shown
        assert said.startswith("lifetime::late was pickled, and is not known in this process: it was defined in __main__"), said
        try:
            pool.submit(late, np.ones(3)).result()
        except dispatch.errors.OperatorNotFoundError as error:
            assert "lifetime::late was pickled" in str(error)
        else:
            raise AssertionError("the worker found what nobody had defined there")
        same(pool.submit(scale, np.ones(3)).result(), [2.0] * 3)
    print("done")
'''
    assert run(tmp_path, code) == ["done"]


def test_a_module_that_ends_the_process_that_imports_it_does_not_end_a_worker(tmp_path):
    (tmp_path / "ending.py").write_text("import sys\nsys.exit(5)")
    code = DEFINITIONS + '''
from dispatch.operators.pickling import load
class Pickled:
    def __reduce__(self):
        return load, ("lifetime::ending", ("ending",))

if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(repr, Pickled()).result() == (
            "<missing operator lifetime::ending: importing ending raised SystemExit: 5>")
        same(pool.submit(scale, np.ones(3)).result(), [2.0] * 3)
    print("done")
'''
    assert run(tmp_path, code) == ["done"]


@needs("cloudpickle")
def test_functions_that_close_over_an_operator_go_by_cloudpickle(tmp_path):
    (tmp_path / "lifetime_library.py").write_text(DEFINITIONS)
    load = '''
    import pickle, sys
    import numpy as np
    with open(sys.argv[1], "rb") as file:
        f, g = pickle.load(file)
    assert f(np.ones(3)).tolist() == [7.0] * 3
    assert g(np.ones(3)).tolist() == [1.0] * 3
    print("done")
    '''
    dump = '''
    import cloudpickle, sys
    from lifetime_library import either, halved, scale
    def f(x, scale=scale):
        return scale(x, 7.0)
    with open(sys.argv[1], "wb") as file:
        cloudpickle.dump((f, lambda x: halved.whole(scale(x))[0]), file)
    '''
    run(tmp_path, dump, str(tmp_path / "functions"))
    assert run(tmp_path, load, str(tmp_path / "functions"), name="load.py") == ["done"]


@needs("joblib")
def test_operators_of_a_module_work_in_joblib_s_workers(tmp_path):
    (tmp_path / "lifetime_library.py").write_text(DEFINITIONS)
    code = '''
    from lifetime_library import *
    from joblib import Parallel, delayed
    if __name__ == "__main__":
        x = np.ones(3)
        local = [(lambda x: scale(x, 9.0), [9.0] * 3)]
        found = Parallel(n_jobs=2)(delayed(work)(x) for work, _ in works() + local)
        for result, (_, expected) in zip(found, works() + local):
            same(result, expected)
        print("done")
    '''
    assert run(tmp_path, code) == ["done"]


def test_what_one_program_saved_another_loads(tmp_path):
    (tmp_path / "lifetime_library.py").write_text(DEFINITIONS)
    save = '''
    import pickle, sys
    from pathlib import Path
    import lifetime_library as library
    Path(sys.argv[1]).write_bytes(pickle.dumps([work for work, _ in library.works()]))
    '''
    load = '''
    import pickle, sys
    from pathlib import Path
    loaded = pickle.loads(Path(sys.argv[1]).read_bytes())
    import lifetime_library as library
    import numpy as np
    for work, (known, expected) in zip(loaded, library.works(), strict=True):
        assert work is known or work.func is library.scale
        library.same(work(np.ones(3)), expected)
    print("done")
    '''
    run(tmp_path, save, str(tmp_path / "saved"))
    assert run(tmp_path, load, str(tmp_path / "saved"), name="load.py") == ["done"]
