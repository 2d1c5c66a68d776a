"""The borders of frameworks, and what goes wrong there: memory of every layout, processes that fork and spawn, threads, absence.

One table of frameworks, and laws that hold for each row; a framework joins by a row.
"""

import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import border_operators
import numpy as np
import pytest
from border_operators import LAYOUTS, add, cube, fails, laid_out

import dispatch
from dispatch.errors import DispatchError, MissingExtraError

TESTS = Path(__file__).resolve().parents[1]
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


class Framework(NamedTuple):
    """A row: how arrays go in and come out, what can be called, and how a gradient is asked."""

    name: str  # of its package, of the module in dispatch.interop, and of the extra
    make: Callable[[np.ndarray], Any]  # an array of the framework, in the layout of NumPy's where it has that
    kind: Callable[[], type]
    numpy: Callable[[Any], np.ndarray] = np.asarray
    gradient: Callable[[Callable[..., Any], Any], Any] = lambda call, x: dispatch.grad(lambda x: call(x).sum())(x)
    exports: bool = False  # whether its module has `export`
    within: Callable[[], AbstractContextManager[Any]] = nullcontext
    forks: str = ""  # why a child of fork() may not use it

    def calls(self, op: Any) -> dict[str, Callable[..., Any]]:
        """The operator itself, and what is exported of it."""
        found = {"the operator": op}
        if self.exports:
            found["what is exported"] = import_module(f"dispatch.interop.{self.name}").export(op)
        return found


def tensor(x: np.ndarray) -> Any:
    torch = import_module("torch")
    try:
        return torch.from_numpy(x if x.flags.writeable else x.copy())
    except ValueError:  # it has no such strides
        return torch.from_numpy(x.copy())


def torch_gradient(call: Callable[..., Any], x: Any) -> Any:
    x = x.detach().requires_grad_()
    return import_module("torch").autograd.grad(call(x).sum(), x)[0]


FRAMEWORKS = [
    Framework(
        "torch", tensor, lambda: import_module("torch").Tensor, lambda x: x.detach().numpy(), torch_gradient, exports=True
    ),
    Framework(
        "jax",
        lambda x: import_module("jax.numpy").asarray(x),
        lambda: import_module("jax").Array,
        gradient=lambda call, x: import_module("jax").grad(lambda x: call(x).sum())(x),
        exports=True,
        within=lambda: import_module("jax").enable_x64(True),
        forks="JAX has threads of its own, and says that a child of fork() may wait for them for ever",
    ),
    Framework(
        "dask",
        lambda x: import_module("dask.array").from_array(x, chunks=-1),
        lambda: import_module("dask.array").Array,
        forks="the threads of Dask's pool, which its first compute() starts, are not there in a child of fork(), and it waits for them",
    ),
    Framework(
        "xarray",
        lambda x: import_module("xarray").DataArray(x, dims=[f"d{i}" for i in range(x.ndim)]),
        lambda: import_module("xarray").DataArray,
    ),
]
each = pytest.mark.parametrize("framework", [pytest.param(f, id=f.name, marks=getattr(pytest.mark, f.name)) for f in FRAMEWORKS])
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
SHAPES = [(), (0, 3), (1,), (2, 1, 3)]
DTYPES = "?bHilefdD"
RNG = np.random.default_rng(0)


def arrays(layout: str, dtypes: str = DTYPES) -> list[np.ndarray]:
    """An array of each shape and dtype, in one layout."""
    return [LAYOUTS[layout](np.array(RNG.normal(size=shape) * 9).astype(dtype)) for shape in SHAPES for dtype in dtypes]


def same(framework: Framework, found: Any, expected: Any) -> None:
    assert isinstance(found, framework.kind())
    found, expected = framework.numpy(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc")


# -- memory --------------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a float that is too large for an integer
@each
@every_layout
def test_memory_of_every_layout_dtype_and_rank_goes_in(framework, layout):
    with framework.within():
        for call, x in itertools.product(framework.calls(add).values(), arrays(layout)):
            expected, before = np.add(x, x), x.tobytes()
            theirs = framework.make(x)
            same(framework, call(theirs, theirs), expected)
            same(framework, call(theirs, x), expected)  # NumPy's own beside it
            same(framework, call(x, theirs), expected)
            assert x.tobytes() == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each
@every_layout
def test_memory_of_every_layout_dtype_and_rank_comes_out(framework, layout):
    with framework.within():
        for call, x in itertools.product(framework.calls(laid_out).values(), arrays("C order")):
            same(framework, call(framework.make(x), layout), LAYOUTS[layout](np.add(x, x)))


@each
@every_layout
def test_a_gradient_of_memory_of_every_layout(framework, layout):
    with framework.within():
        for call, x in itertools.product(framework.calls(cube).values(), arrays(layout, "fd")):
            if framework.name == "jax" and call is cube:
                continue  # jax.grad traces, where what is exported is what works
            found = framework.numpy(framework.gradient(call, framework.make(x)))
            assert (found.dtype, found.shape) == (x.dtype, x.shape)
            np.testing.assert_allclose(found, dispatch.grad(lambda x: np.sum(cube(x)))(np.array(x)), rtol=1e-6)


@each
@pytest.mark.parametrize("dtype", [">f8", ">i4", "g", "M8[s]", "S3", "U2", "O", [("a", "f8")]], ids=str)
def test_a_dtype_that_a_framework_has_not_is_refused_or_right(framework, dtype):
    x = np.zeros(3).astype(dtype) if not isinstance(dtype, list) else np.zeros(3, dtype)
    with framework.within():
        for call in framework.calls(laid_out).values():
            try:
                theirs = framework.make(x)
            except (TypeError, ValueError):
                return  # it has no such arrays
            try:
                expected = np.add(x, x)
            except TypeError:
                with pytest.raises((TypeError, DispatchError)):
                    framework.numpy(call(theirs, "C order"))
                continue
            try:
                found = call(theirs, "C order")
            except DispatchError:
                continue
            assert np.array_equal(framework.numpy(found), expected)


# -- faults --------------------------------------------------------------------------------------------------------------------


@each
def test_a_kernel_s_exception_comes_out_as_itself(framework):
    with framework.within():
        for call in framework.calls(fails).values():
            with pytest.raises(OverflowError, match="too large"):
                framework.numpy(call(framework.make(np.ones(3))))


@each
def test_eight_threads_at_once(framework):
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work(k: int) -> None:
        try:
            x = np.full((4, 3), float(k))
            with framework.within():
                start.wait()
                for _ in range(10):
                    theirs = framework.make(x)
                    for name, call in framework.calls(cube).items():
                        same(framework, call(theirs), x**3)
                        if framework.name != "jax" or name == "what is exported":
                            np.testing.assert_allclose(framework.numpy(framework.gradient(call, theirs)), 3 * x**2)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


USE = f"""
import os, pickle, sys, warnings
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "interop")!r}]
warnings.simplefilter("ignore")
"""
CHECK = """
def check(framework, calls):
    import numpy as np
    x = np.arange(6.0).reshape(2, 3)
    with framework.within():
        for name, call in calls.items():
            found = framework.numpy(call(framework.make(x)))
            assert np.array_equal(found, x * x * x), name
            if framework.name != "jax" or name == "what is exported":
                assert np.allclose(framework.numpy(framework.gradient(call, framework.make(x))), 3 * x * x), name
"""


def run(program: str, **given: Any) -> str:
    """What a fresh process says that runs a program, which finds pickled values on its standard input."""
    done = subprocess.run(
        [sys.executable, "-c", USE + CHECK + program], input=pickle.dumps(given), capture_output=True, timeout=100, check=False
    )
    assert not done.returncode, done.stderr.decode()
    return done.stdout.decode().strip()


@each
@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="there is no fork() here")
def test_a_child_of_a_fork_after_use_calls_and_differentiates(framework):
    if framework.forks:
        pytest.skip(framework.forks)
    program = """
from test_borders import FRAMEWORKS, cube
name = pickle.load(sys.stdin.buffer)["name"]
framework = next(f for f in FRAMEWORKS if f.name == name)
check(framework, framework.calls(cube))
child = os.fork()
if child == 0:
    try:
        check(framework, framework.calls(cube))
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
check(framework, framework.calls(cube))
print("done")
"""
    assert run(program, name=framework.name) == "done"


@each
def test_what_is_called_travels_to_a_new_process_by_name(framework):
    program = """
given = pickle.load(sys.stdin.buffer)
assert ("torch" in sys.modules) == (given["name"] == "torch")
from test_borders import FRAMEWORKS
check(next(f for f in FRAMEWORKS if f.name == given["name"]), given["calls"])
print(*[call.__name__ for call in given["calls"].values()])
"""
    with framework.within():
        calls = framework.calls(cube)
        assert run(program, name=framework.name, calls=calls) == " ".join(["cube"] * len(calls))
        for call in calls.values():
            assert pickle.loads(pickle.dumps(call)) is call


@pytest.mark.parametrize("framework", [pytest.param(f, id=f.name, marks=getattr(pytest.mark, f.name)) for f in FRAMEWORKS if f.exports])
def test_one_that_is_not_known_there_says_so_when_it_is_called_and_not_in_the_loader(framework):
    program = """
sys.modules["border_operators"] = None  # it cannot be imported here
calls = pickle.load(sys.stdin.buffer)["calls"]
for call in calls.values():
    try:
        call(1.0)
    except Exception as error:
        print(type(error).__name__)
"""
    with framework.within():
        calls = framework.calls(border_operators.cube)
    assert run(program, calls=calls).split() == ["OperatorNotFoundError"] * len(calls)


@pytest.mark.parametrize("name", [f.name for f in FRAMEWORKS])
def test_without_the_framework_the_extra_is_named(name, monkeypatch):
    module = f"dispatch.interop.{name}"
    for known in [m for m in sys.modules if m == name or m.startswith((f"{name}.", module))]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError) as caught:
        import_module(module)
    assert str(caught.value) == (
        f"{module} needs {name}, which is not installed.\nInstall it with: pip install 'npdispatch[{name}]'"
    )
