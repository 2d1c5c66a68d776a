"""A gufunc made of addresses: NumPy's own loop, which keeps what the addresses belong to."""

import ctypes
import gc
import weakref

import numpy as np
import pytest
from c_loops import lib, needs_compiler

from dispatch.operators.gufunc.c_gufunc import capsule_contents, gufunc

pytestmark = needs_compiler
DOUBLE, FLOAT = np.dtype("d").num, np.dtype("f").num


def address(name):
    return ctypes.cast(getattr(lib(), name), ctypes.c_void_p).value


def matvec(kept=None):
    loops = [(address("matvec_f"), 0, [FLOAT] * 3), (address("matvec_d"), 0, [DOUBLE] * 3)]
    return gufunc(loops, 2, 1, "a name", "what it does", "(m,n),(n)->(m)", kept)


def test_it_is_a_gufunc():
    ufunc = matvec()
    assert (type(ufunc), ufunc.signature, ufunc.types) == (np.ufunc, "(m,n),(n)->(m)", ["ff->f", "dd->d"])
    assert (ufunc.nin, ufunc.nout, ufunc.identity, ufunc.__name__) == (2, 1, None, "a name")
    assert "what it does" in ufunc.__doc__
    a, x = np.arange(24.0).reshape(4, 2, 3), np.arange(3.0)
    assert ufunc(a, x).tolist() == (a @ x).tolist()
    out = np.empty((4, 2), np.float32)
    assert ufunc(a.astype("f4"), x.astype("f4"), out=out) is out


def test_it_keeps_what_it_points_to():
    class Code:
        pass

    code = Code()
    alive = weakref.ref(code)
    ufunc = matvec(code)
    del code
    gc.collect()
    assert alive() is not None
    assert ufunc(np.eye(2), np.ones(2)).tolist() == [1, 1]
    del ufunc
    gc.collect()
    assert alive() is None


def test_a_cycle_through_what_it_keeps_is_collected():
    held = []
    ufunc = matvec(held)
    held.append(ufunc)

    class Code:
        pass

    held.append(Code())
    alive = weakref.ref(held[1])
    del held, ufunc
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("loops", [[(0, 0, [DOUBLE] * 3)], [(4096, 0, [DOUBLE] * 2)]])
def test_loops_are_whole(loops):
    with pytest.raises(ValueError, match="a loop has an address, and a type for each of 3 arrays"):
        gufunc(loops, 2, 1, "f", "", "(),()->()", None)


def test_numpy_refuses_a_signature_that_does_not_fit():
    with pytest.raises(ValueError, match="expect ',' at position 2"):
        gufunc([(4096, 0, [DOUBLE] * 3)], 2, 1, "f", "", "()->()", None)


def test_the_contents_of_a_capsule():
    from numpy._core import _multiarray_umath as numpy_in_c

    name, found, context = capsule_contents(numpy_in_c._UFUNC_API)
    assert (name, found > 0, context) == (None, True, 0)
    for wrong in (3, None, np.sin):
        with pytest.raises((TypeError, ValueError)):
            capsule_contents(wrong)
