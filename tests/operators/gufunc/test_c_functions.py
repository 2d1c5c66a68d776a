"""Functions in C as five libraries have them: the address is found, the signature is checked, what holds the code is kept."""

import ctypes
import sys

import numpy as np
import pytest
from c_loops import lib, needs_compiler

from dispatch import custom_op
from dispatch.errors import DefinitionError
from dispatch.operators.gufunc.c_functions import SIGNATURE, Loop, c_function

pytestmark = needs_compiler
NAME = "cfunctests::given"
new_capsule = ctypes.pythonapi["PyCapsule_New"]
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
set_context = ctypes.pythonapi["PyCapsule_SetContext"]
set_context.argtypes = [ctypes.py_object, ctypes.c_void_p]
KEPT = []  # names of capsules, and data: a capsule borrows them


def address(name="times_data"):
    return ctypes.cast(getattr(lib(), name), ctypes.c_void_p).value


def capsule(signature=SIGNATURE, data=None):
    name = None if signature is None else signature.encode()
    KEPT.append(name)
    made = new_capsule(address(), name, None)
    if data is not None:
        KEPT.append(ctypes.c_double(data))
        set_context(made, ctypes.addressof(KEPT[-1]))
    return made


def with_ctypes(data=None):
    return lib().times_data


def with_cffi(data=None):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    return ffi.cast("void (*)(char **, intptr_t const *, const intptr_t *, void *)", address())


def with_numba(data=None):
    numba = pytest.importorskip("numba")
    t = numba.types
    array = t.CPointer(t.CPointer(t.float64))

    @numba.cfunc(t.void(array, t.CPointer(t.intp), t.CPointer(t.intp), t.voidptr))
    def loop(args, dims, steps, data):
        x, y = numba.carray(args[0], dims[0]), numba.carray(args[1], dims[0])
        for k in range(dims[0]):
            y[k * (steps[1] // 8)] = -x[k * (steps[0] // 8)]

    return loop


def with_scipy(data=None):
    scipy = pytest.importorskip("scipy")
    if data is None:
        return scipy.LowLevelCallable(lib().times_data)
    KEPT.append(ctypes.c_double(data))
    return scipy.LowLevelCallable(lib().times_data, ctypes.cast(ctypes.pointer(KEPT[-1]), ctypes.c_void_p))


def with_scipy_of_cffi(data=None):
    scipy = pytest.importorskip("scipy")
    return scipy.LowLevelCallable(with_cffi())


MAKERS = [with_ctypes, with_cffi, with_numba, with_scipy, with_scipy_of_cffi, lambda data=None: capsule(data=data)]
IDS = ["ctypes", "cffi", "numba", "scipy", "scipy of cffi", "capsule"]


@pytest.mark.parametrize("make", MAKERS, ids=IDS)
def test_each_runs_as_a_kernel_and_is_kept(make):
    function = make()
    op = custom_op("cfunctests::each", np.positive, mutates_args=(), schema="(Tensor x) -> Tensor", signature="()->()")
    references = sys.getrefcount(function)
    op.register_kernel("cpu", cfunc={"d->d": function})
    assert sys.getrefcount(function) > references
    x = np.arange(6.0).reshape(2, 3)
    assert op(x[:, ::2]).tolist() == (-x[:, ::2]).tolist()
    assert op.cfunc["d->d"].source is function


@pytest.mark.parametrize("make", [with_scipy, lambda data: capsule(data=data)], ids=["scipy", "capsule"])
def test_data_reaches_the_loop(make):
    op = custom_op("cfunctests::data", np.positive, mutates_args=(), schema="(Tensor x) -> Tensor", signature="()->()")
    op.register_kernel("cpu", cfunc={"d->d": make(2.5)})
    assert op(np.arange(3.0)).tolist() == [0, 2.5, 5]
    assert op.cfunc["d->d"].data == ctypes.addressof(KEPT[-1])


@pytest.mark.parametrize(
    "signature",
    [
        SIGNATURE,
        "void (char **, npy_intp *, npy_intp *, void *)",
        "void(char**args,const intptr_t*dimensions,const Py_ssize_t *steps,void*data)",
        "void (double **, long *, long *, void *)",
        "void (void *, void *, void *, void *)",
        "void (uintptr_t *, ssize_t const *, ptrdiff_t const *restrict, void *)",
        "void (char **, npy_intp const *, npy_intp const *, struct rates *) noexcept nogil",
    ],
)  # fmt: skip
def test_signatures_that_are_the_loops(signature):
    assert c_function(capsule(signature), NAME).address == address()


@pytest.mark.parametrize(
    "signature",
    [
        "double (double)",
        "int (char **, npy_intp const *, npy_intp const *, void *)",
        "void (char **, npy_intp const *, npy_intp const *)",
        "void (char **, npy_intp const *, npy_intp const *, void *, void *)",
        "void (char *, npy_intp const *, npy_intp const *, void *)",
        "void (double *, npy_intp const *, npy_intp const *, void *)",
        "void (char **, int const *, npy_intp const *, void *)",
        "void (char **, npy_intp const *, size_t const *, void *)",
        "void (char **, npy_intp, npy_intp const *, void *)",
        "void (char **, npy_intp const *, npy_intp const *, double)",
        "void ()",
    ],
)
def test_signatures_that_are_not(signature):
    with pytest.raises(DefinitionError) as caught:
        c_function(capsule(signature), NAME)
    assert str(caught.value) == (
        f"{NAME}: cfunc= is {signature}, and the loop of a gufunc is {SIGNATURE}: the first item of each array, the number of items "
        "and the sizes of the dimensions, the steps from item to item and inside of one, and what was registered with it. "
        "A function of numbers, double f(double), is called in a kernel in Python, or by a loop in C: docs/c_kernels.md."
    )


@pytest.mark.parametrize("name", [None, "", "solve", "loop of mylib"])
def test_a_capsule_says_its_signature(name):
    with pytest.raises(DefinitionError) as caught:
        c_function(capsule(name), NAME)
    said = "has no name" if name is None else f"has the name {name!r}"
    assert str(caught.value) == (
        f"{NAME}: the capsule {said}. A capsule of a function has its signature as its name, {SIGNATURE!r}."
    )


def refusal(x):
    with pytest.raises(DefinitionError) as caught:
        c_function(x, NAME)
    return str(caught.value).removeprefix(f"{NAME}: ")


def test_functions_of_ctypes_have_to_say_their_types():
    words = (
        f"ctypes does not know which arguments the function takes. Of the loop of a gufunc, {SIGNATURE}, say it: f.restype = None; "
        "f.argtypes = [ctypes.c_void_p] * 4. A function of numbers, double f(double), is called in a kernel in Python, or by a loop "
        "in C: docs/c_kernels.md."
    )
    assert refusal(ctypes.CDLL(None).abs) == words
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address("not_a_loop"))
    assert refusal(function).startswith("cfunc= is double (double), and the loop of a gufunc is")
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(address())
    assert refusal(function).startswith("cfunc= is int (void *, void *, void *, void *), and the loop")
    pointers = (
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_ssize_t),
        ctypes.POINTER(ctypes.c_ssize_t),
        ctypes.c_void_p,
    )
    assert c_function(ctypes.CFUNCTYPE(None, *pointers)(address()), NAME).address == address()
    floats = ctypes.POINTER(ctypes.c_float)
    function = ctypes.CFUNCTYPE(None, floats, floats, floats, ctypes.c_void_p)(address())
    assert refusal(function).startswith("cfunc= is void (float *, float *, float *, void *), and the loop")


def test_functions_that_need_the_interpreters_lock():
    function = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address())
    assert refusal(function) == (
        "a function of ctypes.PyDLL or PYFUNCTYPE needs the interpreter's lock, which the loop does not hold. Load its library by "
        "ctypes.CDLL."
    )


def test_pointers_to_functions_in_python():
    words = "cfunc= points to a function in Python, whose exceptions would be lost. Register that function: register_kernel('cpu', fn)."
    assert refusal(Loop(lambda *args: None)) == words
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    assert refusal(ffi.callback("void (char **, intptr_t *, intptr_t *, void *)", lambda *args: None)) == words
    scipy = pytest.importorskip("scipy")
    assert refusal(scipy.LowLevelCallable(Loop(lambda *args: None))) == words


def test_values_of_cffi_that_are_no_function():
    ffi = pytest.importorskip("cffi").FFI()
    assert refusal(ffi.new("double[3]")) == (
        "cfunc= is of cffi, and is double[3], which is no function. Give the function's address: ffi.addressof(lib, 'name')."
    )
    ffi.cdef("double cos(double);")
    assert refusal(ffi.dlopen(None).cos).startswith("cfunc= is double (double), and the loop of a gufunc is")


def test_null():
    assert refusal(Loop()) == "cfunc= is a CFunctionType that points to nothing, NULL."


def test_what_is_no_function_in_c():
    words = "cfunc= is a function in C, and "
    assert refusal(4096) == (
        f"{words}an int was given. An address does not say what is there: give ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)."
    )
    one = " was given. Give one of its functions: lib.name."
    assert refusal(ctypes.CDLL(None)) == f"{words}a CDLL{one}"
    assert refusal(np.linalg) == f"{words}a module{one}"
    python = " was given. A function in Python is registered as it is: register_kernel('cpu', fn)."
    assert refusal(np.sin) == f"{words}a ufunc{python}"
    assert refusal(len) == f"{words}a builtin_function_or_method{python}"
    assert refusal(lambda x: x) == f"{words}a function{python}"
    assert refusal("./solve.so") == f"{words}a str was given. A library is loaded, and its function given: ctypes.CDLL(path).name."
    assert refusal(3.0) == (
        "cfunc= is a function in C: of ctypes or cffi, a Numba cfunc, a capsule, a scipy.LowLevelCallable; and a float was given. "
        "See docs/c_kernels.md."
    )


def test_numba_calls_cfunc():
    numba = pytest.importorskip("numba")
    op = custom_op("cfunctests::called", np.positive, mutates_args=(), schema="(Tensor x) -> Tensor", signature="()->()")
    op.register_kernel("cpu", cfunc={"d->d": lib().times_data})
    negate = op.cfunc["d->d"]

    @numba.njit
    def through(args, dims, steps):
        negate(args.ctypes, dims.ctypes, steps.ctypes, 0)

    x, y = np.arange(3.0), np.empty(3)
    through(np.array([x.ctypes.data, y.ctypes.data], np.uintp), np.array([3]), np.array([8, 8]))
    assert y.tolist() == [0, -1, -2]
