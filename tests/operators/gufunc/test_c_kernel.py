"""Kernels of functions in C: their loop is NumPy's, their outputs are those of the shape rule, threads share them."""

import gc
import itertools
import warnings
import weakref
from typing import Annotated

import numpy as np
import pytest
from c_loops import lib, needs_compiler
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op
from dispatch.errors import ArgumentError, DefinitionError, OutputError
from dispatch.library import Library, register_kernel
from dispatch.testing import opcheck

pytestmark = needs_compiler
A = np.ndarray
F8 = NDArray[np.float64]
rng = np.random.default_rng(0)


def unused(schema):
    """A kernel in Python with the parameters of a schema."""
    arguments = dispatch.Schema.parse(schema, name="cfunctests::unused").arguments
    words = [
        f"{'*, ' * (a.kwarg_only and not b.kwarg_only)}{a.name}" + f"={a.default}" * a.has_default
        for b, a in zip([arguments[0], *arguments[:-1]], arguments, strict=True)
    ]
    return eval(f"lambda {', '.join(words)}: 1 / 0")


def made(name, schema, signature, cfunc=None, *, workers=1):
    op = custom_op(f"cfunctests::{name}", unused(schema), mutates_args=(), schema=schema, signature=signature)
    if cfunc is not None:
        op.register_kernel("cpu", cfunc=cfunc, workers=workers)
    return op


def matvec(name="matvec", workers=1):
    loops = {"ff->f": lib().matvec_f, "dd->d": lib().matvec_d, "DD->D": lib().matvec_D}
    return made(name, "(Tensor a, Tensor x) -> Tensor", "(m,n),(n)->(m)", loops, workers=workers)


def unaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
    made = memory.view(x.dtype).reshape(x.shape) if x.size else x
    made[...] = x
    return made


LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "all backwards": lambda x: np.flip(np.flip(x).copy()),
    "with gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "unaligned": unaligned,
    "foreign order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "memory map": lambda x: x.view(np.memmap),
}
SHAPES = [
    ((), ()), ((4,), ()), ((), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (4,)), ((0,), ()), ((2, 1), (1, 0)), ((1,), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "?"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_values_are_numpys_for_every_layout_and_loop(dtype, workers):
    op = matvec(f"matvec_{dtype.replace('?', 'b')}_{workers}", workers)
    if dtype in ("i4", "?"):
        op.register_fake(lambda a, x: np.empty(np.matmul(a, x[..., None])[..., 0].shape))
    for (left, right), (m, n), one, other in itertools.product(SHAPES, [(2, 3), (0, 3), (2, 0), (1, 1)], LAYOUTS, LAYOUTS):
        a = LAYOUTS[one]((rng.integers(-4, 5, (*left, m, n)) * 1.5).astype(dtype))
        x = LAYOUTS[other]((rng.integers(-4, 5, (*right, n)) * 1.5).astype(dtype))
        found = op(a, x)
        exact = np.result_type(dtype, np.float32 if dtype == "f4" else np.float64)
        expected = np.matmul(a.astype(exact), x.astype(exact)[..., None])[..., 0]
        assert (type(found), found.dtype, found.shape, found.flags.c_contiguous) == (A, exact, expected.shape, True)
        np.testing.assert_array_equal(found, expected, err_msg=f"{left} {right} {m} {n} {one} {other}")


@pytest.mark.parametrize("workers", [1, 3])
def test_items_of_hinted_arguments_lie_in_c_order_whatever_is_given(workers):
    @custom_op("cfunctests::ordered", mutates_args=(), signature="(m,n),(n)->()")
    def ordered(a: Annotated[A, "C"], x: Annotated[A, "C"]) -> F8: ...

    ordered.register_kernel("cpu", cfunc={"dd->d": lib().in_c_order}, workers=workers)
    for (left, right), (m, n), one, other in itertools.product(SHAPES, [(2, 3), (1, 3), (3, 1)], LAYOUTS, LAYOUTS):
        for dtype in ("f8", "f4", "?"):
            a, x = LAYOUTS[one](np.ones((*left, m, n), dtype)), LAYOUTS[other](np.ones((*right, n), dtype))
            assert np.all(ordered(a, x)), (left, right, m, n, one, other, dtype)


class Registered(np.ndarray):
    """An array class that is no more than its data, and whose ufuncs do nothing."""

    def __array_ufunc__(self, *args, **keywords):
        return None


def test_a_class_that_is_its_data_is_taken_for_it():
    dispatch.library.register_array_type(Registered, device="cpu")
    op = matvec("registered")
    a, x = np.arange(6.0).reshape(2, 3), np.ones(3)
    assert op(a.view(Registered), x).tolist() == (a @ x).tolist()
    assert type(op(a.view(Registered), x)) is A


def test_the_function_is_chosen_by_the_dtypes_and_the_shape_rule_says_what_comes_back():
    op = made("chosen", "(Tensor a, Tensor x) -> Tensor", "(m,n),(n)->(m)", {"dd->d": lib().matvec_d})
    a, x = np.full((2, 3), 0.1, np.float32), np.ones(3, np.float32)
    assert op(a, x).dtype == np.float32
    assert op(a, x).tolist() == (a.astype(np.float64) @ x.astype(np.float64)).astype(np.float32).tolist()
    assert op(a, x.astype(np.float64)).dtype == np.float64


def test_arguments_that_no_function_is_for_are_refused():
    op = made(
        "refusing", "(Tensor a, Tensor x) -> Tensor", "(m,n),(n)->(m)", {"ff->f": lib().matvec_f, "dd->d": lib().matvec_d}
    )
    with pytest.raises(ArgumentError) as caught:
        op(np.ones((2, 3), complex), np.ones(3))
    assert str(caught.value) == (
        "cfunctests::refusing: its functions in C take float32, float32 -> float32; float64, float64 -> float64, and the arguments "
        "are complex128, float64, which cast safely to none of these. Cast them, x.astype(dtype), or add a function for their "
        "dtypes: register_kernel('cpu', cfunc={types: function, ...})."
    )
    with pytest.raises(OutputError) as caught:
        op(np.ones((2, 3), int), np.ones(3, int))
    assert str(caught.value) == (
        "cfunctests::refusing: its shape rule says that output 0 is int64, and its functions in C, float32, float32 -> float32; "
        "float64, float64 -> float64, give float64 for these arguments, which NumPy does not cast to that. Say the dtype in the "
        "hint, -> NDArray[np.float64], or in a shape rule: op.register_fake(rule)."
    )
    with pytest.raises(ArgumentError, match=r"dimension n of \(m,n\),\(n\)->\(m\) is 3 in 'a' and 4 in 'x'"):
        op(np.ones((2, 3)), np.ones(4))
    with pytest.raises(ArgumentError, match=r"the data of a numpy.ma.MaskedArray of shape \(3,\) would be taken here"):
        op(np.ones((2, 3)), np.ma.ones(3))


def test_two_outputs_and_one_item():
    op = made("summary", "(Tensor x) -> (Tensor, Tensor)", "(n)->(),()", {"d->dl": lib().summary})
    op.register_fake(lambda x: (np.empty(x.shape[:-1]), np.empty(x.shape[:-1], np.int64)))
    x = rng.normal(size=(5, 7))
    sums, counts = op(x)
    np.testing.assert_allclose(sums, x.sum(-1))
    assert counts.tolist() == (x < 0).sum(-1).tolist()
    total, count = op(x[0])
    assert (total.shape, count.shape, count.dtype) == ((), (), np.int64)


def test_the_shape_rule_says_how_long_an_output_is_and_how_it_lies():
    op = made("powers", "(Tensor x) -> Tensor", "()->(p)", {"d->d": lib().powers})
    with pytest.raises(dispatch.errors.NoRuleError, match="no input says how long p"):
        op(np.ones(2))
    op.register_fake(lambda x: np.empty((*x.shape, 4)))
    assert op(np.array([1.0, 2.0])).tolist() == [[1, 1, 1, 1], [1, 2, 4, 8]]
    assert op(np.float64(2)).tolist() == [1, 2, 4, 8]
    op.register_fake(lambda x: np.empty((*x.shape, 4), order="F"))
    x = np.array([1.0, 2.0, 3.0])
    assert op(x).strides == (8, 24)
    assert op(x).tolist() == (x[:, None] ** np.arange(4)).tolist()
    op.register_fake(lambda x: np.empty((*x.shape, 8))[..., ::2])
    assert op(x).tolist() == (x[:, None] ** np.arange(4)).tolist()
    op.register_fake(lambda x: np.empty((5, *x.shape, 4)))
    with pytest.raises(OutputError) as caught:
        op(x)
    assert str(caught.value) == (
        "cfunctests::powers: its shape rule gives output 0 the shape (5, 3, 4), and the loop is (3,), with 1 axis of an item behind it."
    )
    op.register_fake(lambda x: np.empty((*x.shape, dispatch.library.get_ctx().new_dynamic_size())))
    with pytest.raises(
        OutputError,
        match=r"in its shape rule a size depends on the data, and a function in C is given its outputs. Register a kernel in Python",
    ):
        op(x)


def test_numbers_are_arguments_of_the_loop():
    op = made("affine", "(Tensor x, float a, *, int b=2) -> Tensor", "(n)->(n)", {"ddl->d": lib().affine})
    assert op(np.arange(3.0), 2.0).tolist() == [2, 4, 6]
    assert op(np.arange(3.0), 2.0, b=-1).tolist() == [-1, 1, 3]
    assert dispatch.vmap(lambda x: op(x, 2.0))(np.ones((2, 3))).tolist() == [[4.0] * 3] * 2
    assert op(np.arange(3, dtype=np.float32), 0.5).dtype == np.float32
    opcheck(op, (np.arange(3.0), 2.0))


def test_hints_that_name_every_dtype_need_no_dict():
    @custom_op("cfunctests::hinted", mutates_args=(), signature="()->()")
    def hinted(x: F8) -> F8: ...

    hinted.register_kernel("cpu", cfunc=lib().times_data)
    assert hinted(np.array([2.0])).tolist() == [-2.0]
    assert hinted.cfunc.data == 0
    op = made("unhinted", "(Tensor x, float s) -> Tensor", "()->()")
    with pytest.raises(DefinitionError) as caught:
        op.register_kernel("cpu", cfunc=lib().divide)
    assert str(caught.value) == (
        "cfunctests::unhinted: a function in C is for arrays of given dtypes, and the hints do not say which. Write "
        "cfunc={'dd->d': function}, in NumPy's letters of each argument and each output, or hints such as NDArray[np.float64]. "
        "A function of numbers, double f(double), is called in a kernel in Python, or by a loop in C: docs/c_kernels.md."
    )


@pytest.mark.parametrize("types", ["d->d", "ddd", "dd->d->d", "dO->d", "dd->m", "", b"dd->d", ("dd", "d"), 3])
def test_dtypes_are_text_of_a_letter_each(types):
    op = made("lettered", "(Tensor x, Tensor y) -> Tensor", "(),()->()")
    with pytest.raises(DefinitionError) as caught:
        op.register_kernel("cpu", cfunc={types: lib().divide})
    assert str(caught.value) == (
        "cfunctests::lettered: the dtypes of a function in C are text as 'dd->d', a letter of NumPy's for each of 2 arguments and 1 "
        f"output, of ?bBhHiIlLqQefdgFDG; and {types!r} was given."
    )
    assert repr(op).endswith("[every device | fake vmap]")


PLAIN = ("(Tensor x) -> Tensor", "()->()")


@pytest.mark.parametrize(
    ("schema", "signature", "device", "options", "words"),
    [
        (*PLAIN, None, {}, "a function in C reads the memory of NumPy's arrays: write register_kernel('cpu', cfunc=...)."),
        (*PLAIN, "cuda", {}, "a function in C reads the memory of NumPy's arrays: write register_kernel('cpu', cfunc=...)."),
        ("(Tensor x) -> Tensor", None, "cpu", {}, 'a function in C goes over the items of a signature, and there is none: custom_op(..., signature="(n)->()").'),
        ("(Tensor x, str s) -> Tensor", "()->()", "cpu", {}, "argument 's' is str, and a function in C is given arrays and numbers."),
        (*PLAIN, "cpu", {"workers": 0}, "workers= is a number of threads, 1 or more, and was given as 0."),
        (*PLAIN, "cpu", {"workers": True}, "workers= is a number of threads, 1 or more, and was given as a bool."),
    ],
)  # fmt: skip
def test_an_operator_that_no_loop_in_c_is_for(schema, signature, device, options, words):
    op = custom_op("cfunctests::unfit", unused(schema), mutates_args=(), schema=schema, signature=signature)
    with pytest.raises(DefinitionError) as caught:
        op.register_kernel(device, cfunc={"d->d": lib().times_data}, **options)
    assert str(caught.value) == f"cfunctests::unfit: {words}\n  schema: cfunctests::unfit{schema}"


def test_a_residual_is_refused():
    op = custom_op(
        "cfunctests::kept",
        lambda x: x,
        mutates_args=(),
        schema="(Tensor x) -> (Tensor, Residual)",
        signature="()->()",
        broadcasts=True,
    )
    with pytest.raises(DefinitionError, match="a function in C has no residual to return"):
        op.register_kernel("cpu", cfunc={"d->d": lib().times_data})


def test_one_kernel_is_given_and_workers_are_of_a_function_in_c():
    op = made("one", *PLAIN)
    with pytest.raises(DefinitionError, match=r"a kernel is a function in Python or one in C, cfunc=: give one, not both\."):
        op.register_kernel("cpu", np.negative, cfunc={"d->d": lib().times_data})
    with pytest.raises(DefinitionError, match=r"workers= share the loop of a function in C, cfunc=, and none is given."):
        op.register_kernel("cpu", np.negative, workers=2)
    with pytest.raises(DefinitionError, match=r"cfunc= is an empty dict; write cfunc={'d->d': function}."):
        op.register_kernel("cpu", cfunc={})


def test_rules_graphs_and_checks_are_as_for_any_kernel():
    op = matvec("whole")
    op.register_autograd(
        lambda ctx, g: (g[..., :, None] * ctx.saved_tensors[1][..., None, :], (g[..., :, None] * ctx.saved_tensors[0]).sum(-2)),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    a, x = rng.normal(size=(4, 2, 3)), rng.normal(size=3)
    opcheck(op, (dispatch.tensor(a, requires_grad=True), dispatch.tensor(x, requires_grad=True)))
    with dispatch.profile() as profile:
        found = dispatch.vmap(op, in_dims=(0, None))(a, x)
    assert [row.calls for row in profile.rows if row.key == "CPU"] == [1]
    np.testing.assert_array_equal(found, op(a, x))
    graph = dispatch.make_fx(lambda a: op(a, x).sum())(a)
    assert graph(a) == op(a, x).sum()
    assert dispatch.eval_shape(op, a, x).shape == (4, 2)


def test_floating_point_errors_are_numpys():
    for workers in (1, 2):
        op = made(f"divide{workers}", "(Tensor x, float y) -> Tensor", "()->()", {"dd->d": lib().divide}, workers=workers)
        x = np.ones(2000)
        with np.errstate(all="ignore"):
            assert np.isinf(op(x, 0.0)).all()
        with (
            np.errstate(divide="raise"),
            pytest.raises(FloatingPointError, match="divide by zero encountered in cfunctests::divide"),
        ):
            op(x, 0.0)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in cfunctests::divide"):
            op(0 * x, 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            op(x, 2.0)


def test_threads_run_at_once_without_the_interpreters_lock():
    op = made("meet", *PLAIN, {"d->d": lib().meet}, workers=2)
    assert op(np.zeros(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("loop", [(7, 2), (2, 7), (1, 1, 5), (1, 1), (), (3,)])
def test_workers_cut_one_axis_whatever_is_broadcast_along_it(loop):
    op = matvec("cut", workers=3)
    a, x = rng.integers(0, 9, (*loop, 2, 3)).astype(float), rng.integers(0, 9, (*loop[1:], 3)).astype(float)
    np.testing.assert_array_equal(op(a, x), np.matmul(a, x[..., None])[..., 0])
    np.testing.assert_array_equal(op(a[:1], x), np.matmul(a[:1], x[..., None])[..., 0])
    np.testing.assert_array_equal(op(a, x[..., :1, :]), np.matmul(a, x[..., :1, :, None])[..., 0]) if len(loop) > 1 else None


def test_an_optional_dimension_may_be_absent():
    op = made("optional", "(Tensor a, Tensor x) -> Tensor", "(m?,n),(n)->(m?)", {"dd->d": lib().matvec_d})
    a, x = rng.normal(size=(2, 3)), rng.normal(size=3)
    np.testing.assert_allclose(op(a, x), a @ x)
    np.testing.assert_allclose(op(a[0], x), a[0] @ x)
    assert op(a[0], x).shape == ()


def test_the_functions_live_as_long_as_the_registration():
    function = type(lib().divide)(("times_data", lib()))
    function.restype, function.argtypes = None, lib().divide.argtypes
    alive = weakref.ref(function)
    op = made("lifetime", *PLAIN)
    with Library("cfunctests", "FRAGMENT") as library:
        register_kernel(op, "cpu", cfunc={"d->d": function}, lib=library)
        del function
        gc.collect()
        assert alive() is not None
        assert op(np.ones(2)).tolist() == [-1.0, -1.0]
        given = op.cfunc["d->d"]
    gc.collect()
    assert not hasattr(op, "cfunc")
    assert alive() is given.source
    del given, library
    gc.collect()
    assert alive() is None


def test_cfunc_gives_back_what_was_registered():
    op = made("given", *PLAIN)
    with pytest.raises(AttributeError) as caught:
        op.cfunc
    assert str(caught.value) == (
        "cfunctests::given has no kernel of a function in C. Add one: op.register_kernel('cpu', cfunc=function)."
    )
    op.register_kernel("cpu", cfunc={"d->d": lib().times_data})
    assert list(op.cfunc) == ["d->d"]
    x, y, dims, steps = np.arange(3.0), np.empty(3), np.array([3]), np.array([8, 8])
    args = np.array([x.ctypes.data, y.ctypes.data], np.uintp)
    op.cfunc["d->d"](args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
    assert y.tolist() == [0, -1, -2]
    op.register_kernel("cpu", np.negative)
    assert not hasattr(op, "cfunc")


def test_listings_name_the_ufunc():
    op = matvec("listed")
    assert ("CPU", "kernel", "<ufunc cfunctests::listed>") in op.kernels.rows
    assert op.register_kernel("cpu", cfunc={"dd->d": lib().matvec_d}) is None


def test_arrays_of_other_devices_are_named():
    op = matvec("foreign")
    kernel = op.at(dispatch.DispatchKey.CPU)
    with pytest.raises(ArgumentError) as caught:
        kernel([[1.0]], np.ones(1))
    assert str(caught.value) == (
        "cfunctests::foreign: its kernel in C reads the memory of NumPy's arrays, and argument 'a' is a list. Register a kernel for "
        "its device."
    )
