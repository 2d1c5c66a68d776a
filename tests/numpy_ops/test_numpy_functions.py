"""The rows that are imported when they are asked for are found as if they were there, and no other module is imported for them."""

from importlib import import_module

import numpy as np
import pytest
from children import said_by_child

import dispatch
from dispatch.numpy_ops import numpy_functions
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, LATER, UFUNCS, Later, load_rest, of_numpy

modules = pytest.mark.parametrize("module", LATER)


@modules
def test_a_module_has_the_functions_that_are_said_of_it(module: str) -> None:
    table = vars(import_module(module, numpy_functions.__package__))
    here = {f for f in map(of_numpy, LATER[module].split()) if f is not None}
    assert here == table.get("FUNCTIONS", {}).keys() | table.get("UFUNCS", {}).keys()


def test_no_entry_stays_that_would_import_its_module_again() -> None:
    load_rest()
    assert not [f.__name__ for f, entry in FUNCTIONS.items() if isinstance(entry, Later)]
    assert not [f for f in map(of_numpy, " ".join(LATER.values()).split()) if isinstance(f, np.ufunc) and f not in UFUNCS]


def test_a_module_is_imported_when_its_function_is_called_and_not_before() -> None:
    code = """
        import sys
        import numpy as np
        import dispatch
        from dispatch.numpy_ops.numpy_functions import LATER
        later = ["dispatch.numpy_ops" + module for module in LATER]
        dispatch.grad(lambda x: np.sum(np.sin(x)))(np.ones(2))
        dispatch.ops.np.sin, dispatch.ops.np.abs
        assert not [m for m in later if m in sys.modules]
        dispatch.grad(lambda x: np.sum(np.abs(np.fft.rfft(x))))(np.ones(2))
        assert [m for m in later if m in sys.modules] == ["dispatch.numpy_ops.fourier"]
        print("one")
    """
    assert said_by_child(code).split() == ["one"]


def test_a_name_that_is_not_there_yet_is_looked_for_in_all_of_them() -> None:
    code = """
        import sys
        import dispatch
        print(dispatch.ops.np.fft_rfft.name, "fft_rfft" in dir(dispatch.ops.np))
        try:
            dispatch.ops.np.fft_rff
        except dispatch.errors.OperatorNotFoundError as error:
            print("Did you mean" in str(error))
    """
    assert said_by_child(code).split() == ["np::fft_rfft", "True", "True"]


def test_functions_that_this_numpy_has_not_are_left_out() -> None:
    assert of_numpy("linalg.norm") is np.linalg.norm
    assert of_numpy("linalg.no_such_function") is None
    assert dispatch.ops.np.fft_fft in set(dispatch.ops.np)


@pytest.mark.parametrize("counts", [np.array([1.0, 2.0, 3.0]), np.array([2.5]), np.array(2.0)])
def test_an_array_of_floats_does_not_say_how_often_elements_are_repeated(counts):
    x = np.arange(3.0)
    for call in (np.repeat, dispatch.grad(lambda x, counts: np.repeat(x, counts).sum()), dispatch.vmap(np.repeat, in_dims=(0, None))):
        with pytest.raises(TypeError, match="Cannot cast"):
            call(x, counts)


@pytest.mark.parametrize(("split", "n"), [(np.split, 2.0), (np.split, np.float64(4)), (np.array_split, 3.7)])
def test_a_float_says_how_many_parts_there_are_as_in_numpy(split, n):
    x = np.arange(8.0)
    parts = split(dispatch.tensor(x, requires_grad=True), n)
    assert [dispatch.detach(part).tolist() for part in parts] == [part.tolist() for part in split(x, n)]


def test_a_float_that_divides_nothing_evenly_is_refused_as_in_numpy():
    for x in (np.arange(8.0), dispatch.tensor(np.arange(8.0), requires_grad=True)):
        with pytest.raises(ValueError, match="equal division"):
            np.split(x, 2.5)
