"""A kernel in Fortran: areas under curves, a subroutine of a library as it is, by f2py and in a loop of its own.

f2py makes a function for Python of the subroutine, which takes one item a call. A loop around it, with the
interface of a function in C, takes all items in one call.

Run this page with `python docs/gallery/fortran_kernel.py`; it needs a Fortran compiler, `gfortran` or what the
variable FC names, and a C compiler.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import ctypes
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.f2py

import dispatch
from dispatch import custom_op
from dispatch.testing import opcheck

# %% The subroutine
#
# This is the library's. The comment is one for f2py: it lets go of the interpreter's lock.

LIBRARY = """
subroutine areas(n, x, y, area)
    integer, intent(in) :: n
    double precision, intent(in) :: x(n), y(n)
    double precision, intent(out) :: area(n)
    integer :: i
    !f2py threadsafe
    if (n > 0) area(1) = 0
    do i = 2, n
        area(i) = area(i - 1) + (x(i) - x(i - 1)) * (y(i) + y(i - 1)) / 2
    end do
end subroutine areas
"""

# %% The loop
#
# `bind(c)` gives it the interface of C. Where an item begins is computed as a number, for Fortran has no arithmetic
# of pointers. An item has to lie in one piece, which the hint "C" below sees to.

LOOP = """
subroutine areas_loop(args, dimensions, steps, data) bind(c)
    use iso_c_binding
    type(c_ptr), intent(in) :: args(3)
    integer(c_intptr_t), intent(in) :: dimensions(2), steps(6)
    type(c_ptr), value :: data
    real(c_double), pointer, contiguous :: x(:), y(:), area(:)
    integer(c_intptr_t) :: k
    integer :: n
    n = int(dimensions(2))
    do k = 0, dimensions(1) - 1
        call c_f_pointer(moved(args(1), k * steps(1)), x, [n])
        call c_f_pointer(moved(args(2), k * steps(2)), y, [n])
        call c_f_pointer(moved(args(3), k * steps(3)), area, [n])
        call areas(n, x, y, area)
    end do
contains
    function moved(place, bytes)
        type(c_ptr), intent(in) :: place
        integer(c_intptr_t), intent(in) :: bytes
        type(c_ptr) :: moved
        moved = transfer(transfer(place, bytes) + bytes, place)
    end function moved
end subroutine areas_loop
"""

# %% Compiling
#
# `f2py -c` does all of this where meson is installed. Here f2py writes the module in C, and the compilers are called
# by hand, so that this page needs nothing else.


def compiled():
    """The module of f2py, and the library of the loop."""
    fortran, c = os.environ.get("FC", "gfortran").split(), os.environ.get("CC", "cc").split()
    f2py = Path(numpy.f2py.__file__).parent / "src"
    includes = [f"-I{path}" for path in (sysconfig.get_path("include"), np.get_include(), f2py)]
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    with tempfile.TemporaryDirectory() as folder:

        def do(*command):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr

        (Path(folder) / "areas.f90").write_text(LIBRARY)
        (Path(folder) / "areas_loop.f90").write_text(LOOP)
        do(sys.executable, "-m", "numpy.f2py", "-m", "areas_by_f2py", "areas.f90")
        do(*c, "-O1", "-fPIC", *includes, "-c", "areas_by_f2pymodule.c", str(f2py / "fortranobject.c"))
        shared = [*fortran, "-O2", "-fPIC", "-shared"]
        do(*shared, "areas.f90", "areas_by_f2pymodule.o", "fortranobject.o", "-o", f"areas_by_f2py{suffix}")
        do(*shared, "areas.f90", "areas_loop.f90", "-o", "areas_loop.so")
        spec = importlib.util.spec_from_file_location("areas_by_f2py", Path(folder) / f"areas_by_f2py{suffix}")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module, ctypes.CDLL(str(Path(folder) / "areas_loop.so"))


module, library = compiled()
library.areas_loop.restype, library.areas_loop.argtypes = None, [ctypes.c_void_p] * 4

# %% The operator
#
# What f2py made is the function of one item, a kernel that can be shared among threads as it is; the loop is the
# kernel of all.

C = Annotated[np.ndarray, "C"]


@custom_op("fortran_kernel::areas", mutates_args=(), signature="(n),(n)->(n)", workers=2)
def areas(x: C, y: C) -> np.ndarray:
    """The area under a curve up to each of its points, by trapezoids."""
    return module.areas(x, y)


@areas.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    x, y = ctx.saved_tensors
    later = np.cumsum(g[..., ::-1], axis=-1)[..., ::-1][..., 1:]  # each trapezoid is part of all areas behind it
    width, height = later * (x[..., 1:] - x[..., :-1]) / 2, later * (y[..., 1:] + y[..., :-1]) / 2
    zero = np.zeros_like(g[..., :1])
    (x_before, y_before), (x_after, y_after) = (
        [np.concatenate([zero, part] if right else [part, zero], axis=-1) for part in (height, width)]
        for right in (True, False)
    )
    return x_before - x_after, y_before + y_after


x, y = np.sort(np.random.default_rng(0).random((1000, 6)), axis=-1), np.random.default_rng(1).random((1000, 6))
item_by_item = areas(x, y)
areas.register_kernel("cpu", cfunc={"dd->d": library.areas_loop}, workers=2)
print(areas.kernels)
assert np.array_equal(areas(x, y), item_by_item)
assert np.array_equal(areas(x[:, ::-1], y), [module.areas(a, b) for a, b in zip(x[:, ::-1], y, strict=True)])
print(opcheck(areas, (dispatch.tensor(x[:3], requires_grad=True), dispatch.tensor(y[:3], requires_grad=True))))
