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
