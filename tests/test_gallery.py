"""The pages of docs/gallery/ run, and what they make is held to more than a page can say."""

import os
import re
import runpy
import shutil
import warnings
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from duals import push, slope

import dispatch
from dispatch.errors import ArgumentError
from dispatch.testing import gradcheck, gradgradcheck, opcheck

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
PAGES = sorted(page.stem for page in GALLERY.glob("*.py") if page.stem != "conftest")
COMPILERS = {
    name: os.environ.get(name, default).split()[0] for name, default in (("CC", "cc"), ("CXX", "c++"), ("FC", "gfortran"))
}
NEEDS = {
    "heat": ["CC"],
    "one_solver": ["CC"],
    "cython_kernel": ["CC", "Cython"],
    "cpp_kernel": ["CXX", "pybind11"],
    "fortran_kernel": ["FC", "CC"],
}  # compilers, and modules that may not be installed


def need(*names):
    for name in names:
        if name in COMPILERS and not shutil.which(COMPILERS[name]):
            pytest.skip(f"there is no compiler {COMPILERS[name]}, which the variable {name} names")
        if name not in COMPILERS and not find_spec(name):
            pytest.skip(f"{name} is not installed")


@cache  # compiling takes seconds
def run(page):
    need(*NEEDS.get(page, ()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-O0")  # of a module in Cython: nine seconds optimised
        return runpy.run_path(str(GALLERY / f"{page}.py"), run_name=page)


@pytest.fixture(scope="module")
def photo():
    return run("photograph")


@pytest.fixture(scope="module")
def heat():
    return run("heat")


@pytest.fixture(scope="module")
def lu():
    return run("solver")


def tracked(x):
    return dispatch.tensor(x, requires_grad=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # torch's own
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page):
    assert run(page)["__doc__"].count("\n\n") >= 2  # a page explains what it shows


@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.dask
@pytest.mark.xarray
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_every_cell_of_the_page_of_frameworks_runs():
    page = run("one_solver")
    assert page["shown"] == ["numpy", "torch", "jax", "dask", "xarray"]
    (lines,) = re.findall(r"^```py\n(.*?)^```", (GALLERY.parents[1] / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    made = dict(page)
    exec(lines, made)  # the README's first lines are of this page
    assert made["torch_solve"] is page["torch_solve"]
    assert np.array_equal(made["u"], page["solve"](page["d"], page["f"]))


# -- the photograph -------------------------------------------------------------------------------------------------

BOXES = [(0, 0, 9, 7), (2, 1, 7, 5), (8, 6, 9, 7), (-2, -1, 4, 3), (5, 2, 12, 11), (-3, -3, 12, 10)]


def cut(pic, box):
    """What a crop is, in NumPy alone: the picture in a black frame, sliced."""
    left, top, right, bottom = box
    margin = 12
    framed = np.pad(pic, ((0, 0), (margin, margin), (margin, margin)))
    return framed[:, top + margin : bottom + margin, left + margin : right + margin]


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", ">f8"])
def test_a_crop_is_a_slice_and_black_beyond_the_border(photo, dtype, box):
    pic = photo["photograph"][:, 200:207, 300:309].astype(dtype)
    assert np.array_equal(photo["crop"](pic, box), cut(pic, box))


def test_no_bit_of_a_float64_is_lost(photo):
    bits = np.random.default_rng(0).integers(0, 2**64, (3, 7, 9), np.uint64)
    assert np.array_equal(photo["crop"](bits.view(np.float64), (1, 2, 8, 6)).view(np.uint64), bits[:, 2:6, 1:8])


@pytest.mark.parametrize("size", [(3, 5, 6), (1, 1, 9), (4, 11, 2), (3, 40, 31)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_crop_and_paste_pass_opcheck_tracked(photo, dtype, size):
    _, height, width = size
    pic = photo["pic"][: size[0], 55 : 55 + height, 190 : 190 + width].astype(dtype)
    pic = np.concatenate([pic, pic[:1]])[: size[0]]
    box = (width // 3, height // 4, width, height)
    assert set(opcheck(photo["crop"], (tracked(pic), box)).values()) == {"SUCCESS"}
    piece = cut(pic, box) / 2
    assert set(opcheck(photo["paste"], (tracked(pic), tracked(piece), box[:2])).values()) == {"SUCCESS"}


@pytest.mark.parametrize("part", [np.s_[:, 100:107, 200:209], np.s_[:1, 3:4, :], np.s_[:, ::50, ::-40], np.s_[:]])
def test_crop_and_paste_pass_opcheck_in_8_bits(photo, part):
    pic = photo["photograph"][part]
    _, height, width = pic.shape
    box = (width // 3, height // 4, width, height)
    reports = opcheck(photo["crop"], (pic, box)), opcheck(photo["paste"], (pic, cut(pic, box), (1, 0)))
    for report in reports:
        assert not report.failures
        assert report["test_schema"] == report["test_faketensor"] == report["test_vmap"] == "SUCCESS"


@pytest.mark.parametrize("box", BOXES)
def test_paste_is_the_transpose_of_crop(photo, box):
    pic = photo["pic"][:, 60:67, 200:209]
    g = np.random.default_rng(0).normal(size=cut(pic, box).shape)
    pulled = photo["paste"](np.zeros_like(pic), g, box[:2])
    assert np.isclose((photo["crop"](pic, box) * g).sum(), (pic * pulled).sum(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_a_crop_is_one_in_the_box_and_zero_outside(photo, dtype):
    pic = tracked(photo["photograph"].astype(dtype))
    photo["crop"](pic, photo["FACE"]).sum().backward()
    assert pic.grad.dtype == dtype
    assert np.array_equal(pic.grad, photo["inside"])


def test_what_a_picture_cannot_hold_is_refused_with_the_operator_named(photo):
    with pytest.raises(TypeError, match="this one int16") as caught:
        photo["crop"](np.zeros((3, 4, 4), np.int16), (0, 0, 2, 2))
    assert "in operator photo::crop(pic: int16[3, 4, 4]" in caught.value.__notes__[0]


# -- the C kernel ---------------------------------------------------------------------------------------------------


def laid_out(u):
    """One field in every layout that a pointer alone does not tell."""
    yield np.asfortranarray(u)
    yield u[::-1, ::-1].copy()[::-1, ::-1]
    yield np.repeat(u, 2, axis=1)[:, ::2]
    yield np.ndarray(u.shape, u.dtype, b"\0" + u.tobytes(), 1)
    locked = u.copy()
    locked.flags.writeable = False
    yield locked


@pytest.mark.parametrize("name", ["step", "step_adjoint"])
def test_the_layout_of_a_field_makes_no_difference(heat, name):
    u = np.random.default_rng(0).normal(size=(6, 8))
    for other in laid_out(u):
        assert np.array_equal(other, u)
        assert np.array_equal(heat[name](other), heat[name](u))


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i8"])
def test_what_the_pointer_would_misread_is_refused(heat, dtype):
    with pytest.raises(ArgumentError, match=r"heat::step: argument 'u' is an array of float64 in native byte order"):
        heat["step"](np.ones((4, 4), dtype))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 5), (3, 3), (4, 3, 5), (2, 0, 3, 4)])
def test_a_field_of_any_size_passes(heat, shape):
    u = np.random.default_rng(0).normal(size=shape)
    report = opcheck(heat["step"], (u, 0.1))
    assert not report.failures
    assert heat["step"](u).shape == shape


@pytest.mark.parametrize("shape", [(7, 9), (20, 31), (3, 12, 5)])
@pytest.mark.parametrize("rate", [0.25, 0.02])
def test_the_adjoint_is_the_transpose(heat, shape, rate):
    random = np.random.default_rng(0)
    u, g = random.normal(size=shape), random.normal(size=shape)
    assert np.isclose((heat["step"](u, rate) * g).sum(), (u * heat["step_adjoint"](g, rate)).sum(), rtol=1e-12)


def test_the_second_derivative_of_the_misfit_is_the_normal_matrix(heat):
    field = heat["field"]

    def along(v):
        return dispatch.grad(lambda u: (dispatch.grad(heat["misfit"])(u) * v).sum())(field)

    hessian = dispatch.vmap(along)(heat["units"]).reshape(field.size, -1)
    assert np.allclose(hessian, heat["hundredth"].T @ heat["hundredth"], rtol=1e-12, atol=1e-14)


# -- kernels in other languages ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cpp():
    return run("cpp_kernel")


@pytest.mark.parametrize("binding", ["pybind11", "nanobind"])
def test_both_libraries_of_cpp_give_the_same_kernel(cpp, binding):
    need(binding)
    op, module = cpp["logsumexp"], cpp["compiled"](binding)
    op.register_kernel("cpu", cfunc={"f->f": module.of_floats, "d->d": module.of_doubles})
    assert op.cfunc["d->d"].source is module.of_doubles
    x = np.random.default_rng(0).normal(scale=300, size=(3, 6))[:, ::-2]
    assert np.allclose(op(x), [op.__wrapped__(row) for row in x], rtol=1e-15)
    assert np.allclose(op(x.astype(np.float32)), op(x), rtol=1e-6)


def test_a_module_in_cython_takes_a_kernel_and_calls_one():
    page = run("cython_kernel")
    op = page["solve"]
    assert op.cfunc["dddd->d"].source is page["tridiagonal"].loop
    diagonals = [np.array([[9.0, -1.0, 0.5]]), np.array([[4.0, 3.0, 5.0]]), np.array([[1.0, 2.0, 9.0]]), np.ones((1, 3))]
    expected = np.linalg.solve([[4, 1, 0], [-1, 3, 2], [0, 0.5, 5]], np.ones(3))
    assert np.allclose(op(*diagonals), expected, rtol=1e-15)
    assert np.allclose(page["tridiagonal"].solve_one(op, *[x[0] for x in diagonals]), expected, rtol=1e-15)


# -- the solver -----------------------------------------------------------------------------------------------------


SOME_MAPPED = [(0, 0), (0, None), (None, 0)]


def systems(random, *stack, n=4):
    return random.normal(size=(*stack, n, n)) + 4 * np.eye(n)


@pytest.mark.parametrize("in_dims", [(0, 0), (None, 0), (None, 1), (0, None), (2, 1), (1, 0)])
def test_a_batch_calls_the_solver_once(lu, in_dims):
    random = np.random.default_rng(0)
    a, b = systems(random, 3), random.normal(size=(3, 4))
    items = [(a[0] if in_dims[0] is None else a[i], b[0] if in_dims[1] is None else b[i]) for i in range(3)]
    given = [x[0] if dim is None else np.moveaxis(x, 0, dim) for x, dim in zip((a, b), in_dims, strict=True)]
    lu["calls"].clear()
    found = dispatch.vmap(lu["solve"], in_dims=in_dims)(*given)
    assert np.allclose(found, [np.linalg.solve(*item) for item in items], rtol=1e-12)
    assert lu["calls"]["solve"] == 1
    assert lu["calls"]["factorisations"] == (1 if in_dims[0] is None else 3)


@pytest.mark.parametrize("outer", SOME_MAPPED)
@pytest.mark.parametrize("inner", SOME_MAPPED)
def test_nested_batches_of_gradients_are_loops_of_gradients(lu, outer, inner):
    random = np.random.default_rng(0)
    a = systems(random, *[size for size, dims in ((2, outer), (3, inner)) if dims[0] is not None])
    b = random.normal(size=(*[size for size, dims in ((2, outer), (3, inner)) if dims[1] is not None], 4))
    mapped = dispatch.vmap(dispatch.vmap(lu["gradient"], in_dims=inner), in_dims=outer)
    lu["calls"].clear()
    for_a, for_b = mapped(a, b)
    assert lu["calls"]["solve"] == 1
    assert lu["calls"]["solves"] == 2

    def item(x, dims, k, i, j):
        x = x if outer[k] is None else x[i]
        return x if inner[k] is None else x[j]

    for i, j in product(range(2), range(3)):
        one = lu["gradient"](item(a, (outer, inner), 0, i, j), item(b, (outer, inner), 1, i, j))
        assert np.allclose(for_a[i, j], one[0], rtol=1e-10)
        assert np.allclose(for_b[i, j], one[1], rtol=1e-10)


def test_the_gradient_of_a_batched_solve_is_exact_to_second_order(lu):
    random = np.random.default_rng(0)
    a, b = tracked(systems(random, n=3)), tracked(random.normal(size=(2, 3)))
    assert gradcheck(dispatch.vmap(lu["solve"], in_dims=(None, 0)), (a, b))
    assert gradgradcheck(dispatch.vmap(lu["solve"], in_dims=(None, 0)), (a, b))


def test_every_order_of_gradient_uses_the_first_factorisation(lu):
    random = np.random.default_rng(0)
    a, b = systems(random), random.normal(size=4)
    lu["calls"].clear()
    third = dispatch.grad(
        lambda b: (dispatch.grad(lambda b: (dispatch.grad(lu["energy"], argnums=1)(a, b) ** 3).sum())(b) ** 2).sum()
    )
    third(b)
    assert lu["calls"]["factorisations"] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_solution_has_the_dtype_of_its_system(lu, dtype):
    random = np.random.default_rng(0)
    a, b = systems(random).astype(dtype), random.normal(size=4).astype(dtype)
    assert lu["solve"](a, b).dtype == dtype
    assert not opcheck(lu["solve"], (tracked(a), tracked(b))).failures


def test_a_singular_matrix_raises_what_numpy_raises_with_a_note(lu):
    with warnings.catch_warnings(action="ignore"), pytest.raises(np.linalg.LinAlgError, match="singular") as caught:
        lu["solve"](np.zeros((2, 2)), np.ones(2))  # some versions of SciPy warn, too
    assert "in operator lu::solve(a: float64[2, 2], b: float64[2])" in caught.value.__notes__[0]


# -- forward mode, derived of the gradients ---------------------------------------------------------------------------


def moves_as_its_differences(f, *args):
    """The tangent of a function, each argument moving by itself, is that of finite differences."""
    random = np.random.default_rng(1)
    for i, x in enumerate(args):
        t = random.normal(size=x.shape)
        _, found = push(lambda x, i=i: f(*args[:i], x, *args[i + 1 :]), (x,), (t,))
        assert np.allclose(found, slope(lambda x, i=i: f(*args[:i], x, *args[i + 1 :]), x, t), rtol=1e-6, atol=1e-7)


def test_a_solution_moves_with_its_system_by_the_same_factorisation(lu):
    random = np.random.default_rng(0)
    a, b = systems(random), random.normal(size=4)
    moves_as_its_differences(lu["solve"], a, b)
    lu["calls"].clear()
    push(lu["solve"], (a, b), (a, b))
    assert lu["calls"]["factorisations"] == 1


def test_a_picture_moves_with_what_it_is_cut_of(photo):
    pic = np.random.default_rng(0).random((3, 5, 6))
    moves_as_its_differences(lambda x: photo["crop"](x, (1, 1, 4, 3)), pic)
    moves_as_its_differences(lambda x, y: photo["paste"](x, y, (1, 1)), pic, pic[:, :2, :3].copy())


def test_a_field_moves_with_the_one_before(heat):
    moves_as_its_differences(lambda u: heat["step"](heat["step"](u)), np.random.default_rng(0).normal(size=(4, 5)))
