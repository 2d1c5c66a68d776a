"""Dimension names over a whole call: arguments, results, and the fake rule and signature that they come to."""

import numpy as np
import pytest
from numpy.typing import NDArray

import dispatch
from dispatch import FakeTensorMode, Residual, custom_op
from dispatch.core import DispatchKey
from dispatch.dispatcher.argument_layout import adapted
from dispatch.dispatcher.shape_checks import checked
from dispatch.errors import ArgumentError, DefinitionError, HintError, NoRuleError, OutputError
from dispatch.testing import opcheck
from tests.making import F64, INT, SHAPED, F, said

MN, N, M = F64[np.ndarray, "m n"], F64[np.ndarray, "n"], F64[np.ndarray, "m"]
A, V = np.arange(6.0).reshape(2, 3), np.arange(3.0)


@custom_op("measuring::matvec", mutates_args=())
def matvec(a: MN, v: N) -> M:
    return a @ v


def fake(op, *args, **keywords):
    """What an operator's fake rule says of real arguments."""
    with FakeTensorMode() as mode:
        made = [mode.from_array(x) if isinstance(x, np.ndarray) else x for x in args]
        out = op(*made, **keywords)
    return [(x.shape, x.dtype, x.strides) for x in (out if isinstance(out, tuple) else (out,))]


def real(op, *args, **keywords):
    out = op(*args, **keywords)
    return [(x.shape, x.dtype, x.strides) for x in (out if isinstance(out, tuple) else (out,))]


def test_what_fits_is_computed():
    assert np.array_equal(matvec(A, V), A @ V)
    assert np.array_equal(matvec(A, v=V), A @ V)
    opcheck(matvec, (A, V))


def test_a_name_is_one_size_and_the_message_shows_every_binding():
    assert said(lambda: matvec(A, np.ones(4)), ArgumentError) == (
        "measuring::matvec: argument 'v' of shape (4,) does not fit Float64[np.ndarray, \"n\"]: n is 4, and 3 in 'a'.\n"
        "Bound: m=2 (a), n=3 (a). A name is one size in the whole call."
    )
    assert said(lambda: matvec(V, V), ArgumentError) == (
        "measuring::matvec: argument 'a' of shape (3,) does not fit Float64[np.ndarray, \"m n\"]: 1 axis, where the hint has 2.\n"
        "Bound: n=3 (v). A name is one size in the whole call."
    )


def test_one_dtype_is_the_cores_to_check():
    assert said(lambda: matvec(A, V.astype("f4")), ArgumentError) == (
        "measuring::matvec: argument 'v' is an array of float64 in native byte order, and was given an ndarray of shape (3,) "
        "and dtype float32. Nothing is cast behind your back: write v.astype('float64')."
    )


def test_a_kind_of_dtypes_is_held():
    @custom_op("measuring::halve", mutates_args=())
    def halve(x: F[np.ndarray, "..."]) -> F[np.ndarray, "..."]:
        return x / 2

    assert halve(np.ones(2, "f4")).dtype == np.float32
    assert said(lambda: halve(np.ones(2, "i4")), ArgumentError) == (
        "measuring::halve: argument 'x' has dtype int32, and its hint is Float[np.ndarray, \"...\"]. "
        "Nothing is cast behind your back: write astype where it is to be."
    )


def test_what_the_kernel_returns_is_held_too():
    @custom_op("measuring::wrong", mutates_args=())
    def wrong(a: MN, how: str) -> M:
        return {"shape": np.ones(a.shape[1]), "axes": np.ones(a.shape), "dtype": np.ones(len(a), "f4"), "none": None}[how]

    line = wrong.__wrapped__.__code__.co_firstlineno
    assert said(lambda: wrong(A, "shape"), OutputError) == (
        f"measuring::wrong: the kernel test_shape_checks.py:{line} returned 'result' of shape (3,) does not fit "
        "Float64[np.ndarray, \"m\"]: m is 3, and 2 in 'a'.\n"
        "Bound: m=2 (a), n=3 (a). A name is one size in the whole call."
    )
    assert "2 axes, where the hint has 1" in said(lambda: wrong(A, "axes"), OutputError)
    assert said(lambda: wrong(A, "dtype"), OutputError) == (
        f"measuring::wrong: the kernel test_shape_checks.py:{line} returned 'result', which has dtype float32, and its hint is "
        'Float64[np.ndarray, "m"]. Nothing is cast behind your back: write astype where it is to be.'
    )
    assert "returned None, and its schema says Tensor" in said(lambda: wrong(A, "none"), OutputError)


def test_every_kernel_is_held():
    @custom_op("measuring::two", mutates_args=(), device_types="cuda")
    def two(a: MN) -> M: ...

    two.register_kernel("cpu", lambda a: a[0].copy())
    assert "m is 3, and 2 in 'a'" in said(lambda: two(A), OutputError)


def test_several_results_and_a_residual():
    @custom_op("measuring::svd", mutates_args=())
    def svd(a: MN) -> tuple[F64[np.ndarray, "m k"], F64[np.ndarray, "k"], Residual]:
        return np.ones((2, 4)), np.ones(4 if a.any() else 5), a

    assert [x.shape for x in svd(A)] == [(2, 4), (4,)]
    assert "returned 'result 1' of shape (5,)" in said(lambda: svd(A * 0), OutputError)


def test_each_item_of_a_list_or_a_dict_is_bound():
    @custom_op("measuring::total", mutates_args=())
    def total(xs: list[N], more: dict[str, N], pair: tuple[N, M] | None = None) -> N:
        return sum(xs) * 1.0

    assert total([V, V], {"a": V}).shape == (3,)
    assert total([V, V], {}, (V, np.ones(2))).shape == (3,)
    assert "'xs[1]' of shape (2,)" in said(lambda: total([V, np.ones(2)], {}), ArgumentError)
    assert "\"more['a']\" of shape (2,)" in said(lambda: total([V], {"a": np.ones(2)}), ArgumentError)
    assert "'pair[0]' of shape (2,)" in said(lambda: total([V], {}, (np.ones(2), V)), ArgumentError)


def test_a_list_of_results():
    @custom_op("measuring::rows", mutates_args=())
    def rows(a: MN, cut: int = 0) -> list[N]:
        return [row[cut:].copy() for row in a]

    assert len(rows(A)) == 2
    assert "returned 'result[0]' of shape (2,)" in said(lambda: rows(A, 1), OutputError)


def test_what_is_left_out_or_a_number_is_not_held():
    @custom_op("measuring::maybe", mutates_args=())
    def maybe(x: N, y: N | None = None, *, z: N | float) -> N:
        return x * z

    assert maybe(V, z=2.0).shape == maybe(V, V, z=V).shape == (3,)
    assert "'z' of shape (2,)" in said(lambda: maybe(V, z=np.ones(2)), ArgumentError)
    assert "'y' of shape (2,)" in said(lambda: maybe(V, np.ones(2), z=1.0), ArgumentError)
    assert fake(maybe, V, z=1.0) == real(maybe, V, z=1.0)


PLANE, LINE = np.ndarray[tuple[int, int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]


def test_numpys_own_hint_of_a_shape_is_held():
    @custom_op("measuring::total", mutates_args=())
    def total(a: PLANE, w: LINE, *, transposed: bool = False) -> LINE:
        return a.T @ w if transposed else a @ w

    @custom_op("measuring::sums", mutates_args=())
    def sums(a: PLANE) -> LINE:
        return a.sum(0, keepdims=not len(a))

    for op, args in ((total, (A, V)), (sums, (A,))):
        assert op(*args).ndim == 1
        said_of = said(lambda op=op, args=args: op(args[0][0], *args[1:]), ArgumentError)
        assert said_of == (
            f"{op.name}: argument 'a' of shape (3,) does not fit np.ndarray[tuple[int, int], ...]: 1 axis, where the hint has 2."
        )
        assert np.array_equal(dispatch.vmap(op, in_dims=0)(*[np.stack([x, x]) for x in args])[1], op(*args))
    assert said(lambda: sums(A[:0]), OutputError).endswith(
        "returned 'result' of shape (1, 3) does not fit np.ndarray[tuple[int], ...]: 2 axes, where the hint has 1."
    )
    assert {sample.args[0].ndim for sample in dispatch.testing.samples(sums)} == {2}


def test_a_kind_of_dtypes_in_numpys_own_hint_is_held():
    @custom_op("measuring::halved", mutates_args=())
    def halved(x: NDArray[np.floating]) -> NDArray[np.floating]:
        return x / 2 if x.size else x.astype(int)

    assert halved(np.ones(2, "f4")).dtype == np.float32
    assert said(lambda: halved(np.arange(3)), ArgumentError) == (
        "measuring::halved: argument 'x' has dtype int64, and its hint is NDArray[np.floating]. Nothing is cast behind your "
        "back: write astype where it is to be."
    )
    assert "'result', which has dtype int64, and its hint is NDArray[np.floating]" in said(lambda: halved(V[:0]), OutputError)
    assert np.array_equal(dispatch.grad(lambda x: np.sum(x * dispatch.vmap(halved)(V)))(V), V / 2)


def test_without_dimensions_a_kernel_is_itself():
    assert adapted(dispatch.ops.np.sin, np.sin) is np.sin

    def kernel(x: F64[np.ndarray, "..."], y: SHAPED[np.ndarray, "..."]) -> np.ndarray:
        return x + y

    op = custom_op("measuring::free", kernel, mutates_args=())
    assert checked(op, kernel) is kernel
    assert op.at(DispatchKey.CPU) is kernel


def test_texts_are_hints_too():
    @custom_op("measuring::text", mutates_args=())
    def text(a: "MN", v: "list[N]") -> "M":
        return a @ v[0]

    assert "n is 4, and 3 in 'a'" in said(lambda: text(A, [np.ones(4)]), ArgumentError)


# -- the fake rule ---------------------------------------------------------------------------------------------------------


def test_the_names_are_the_fake_rule():
    assert fake(matvec, A, V) == real(matvec, A, V)
    assert "n is 4, and 3 in 'a'" in said(lambda: fake(matvec, A, np.ones(4)), ArgumentError)
    assert "test_shape_checks.py" in repr(matvec.kernels).partition("FAKE")[2].splitlines()[0]


def test_a_fake_rule_that_is_registered_comes_first():
    @custom_op("measuring::own", mutates_args=())
    def own(x: N) -> N:
        return x * 2

    own.register_fake(lambda x: np.empty(7))
    assert fake(own, V) == [((7,), np.dtype("f8"), (8,))]


def test_every_form_of_a_size_comes_to_a_shape():
    @custom_op("measuring::forms", mutates_args=())
    def forms(x: F[np.ndarray, "*b #n"], y: F[np.ndarray, "m #n"]) -> tuple[F[np.ndarray, "*b n"], F64[np.ndarray, "m+1 3"]]:
        return x + y[0], np.ones((len(y) + 1, 3))

    @custom_op("measuring::counts", mutates_args=())
    def counts(x: F[np.ndarray, "*b #n"], y: F[np.ndarray, "m #n"], k: int = 2) -> F64[np.ndarray, "*b m+1 {k} n"]:
        return np.ones((*x.shape[:-1], len(y) + 1, k, max(x.shape[-1], y.shape[-1])))

    x, y = np.ones((4, 5, 3), "f4"), np.ones((2, 1))
    assert fake(forms, x, y) == real(forms, x, y)
    assert fake(counts, x, y, k=5) == real(counts, x, y, k=5) == [((4, 5, 3, 5, 3), np.dtype("f8"), (1800, 360, 120, 24, 8))]
    assert fake(counts, x[..., :1], y) == real(counts, x[..., :1], y)
    assert fake(counts, np.ones((0, 1)), y) == [((0, 3, 2, 1), np.dtype("f8"), (48, 16, 8, 8))]


def test_a_kind_is_what_the_dtypes_come_to():
    @custom_op("measuring::add", mutates_args=())
    def add(x: F[np.ndarray, "n"], y: np.ndarray, factor: float = 1.0) -> F[np.ndarray, "n"]:
        return x + y

    for x, y in ((V, V), (V.astype("f4"), V.astype("f4")), (V.astype("f4"), V), (V.astype("f2"), V.astype("i4"))):
        assert fake(add, x, y) == real(add, x, y)
    assert said(lambda: fake(add, V, V + 1j), NoRuleError) == (
        'measuring::add: its result is Float[np.ndarray, "n"], and the dtypes of its arguments come to complex128. '
        "Add a fake rule: add.register_fake(rule)."
    )


def test_an_axis_that_a_call_leaves_unbound():
    @custom_op("measuring::stack", mutates_args=())
    def stack(xs: list[N]) -> N:
        return sum(xs, np.zeros(3))

    assert stack([]).shape == (3,)
    with FakeTensorMode() as mode:
        assert stack([mode.from_array(V)]).shape == (3,)
        assert said(lambda: stack([]), NoRuleError) == (
            'measuring::stack: the arguments do not bind every axis of its result Float64[np.ndarray, "n"]. '
            "Add a fake rule: stack.register_fake(rule)."
        )


def test_no_rule_where_the_names_leave_something_open():
    def returns_unbound(x: N) -> M: ...
    def returns_any(x: N) -> F64[np.ndarray, "..."]: ...
    def returns_some(x: N) -> F64[np.ndarray, "_"]: ...
    def returns_any_dtype(x: N) -> SHAPED[np.ndarray, "n"]: ...
    def returns_other_kind(x: INT[np.ndarray, "n"]) -> F[np.ndarray, "n"]: ...
    def returns_plain(x: N) -> tuple[N, np.ndarray]: ...
    def returns_list(x: N) -> list[N]: ...
    def returns_perhaps(x: N) -> N | None: ...
    def computes(x: N) -> tuple[F64[np.ndarray, "q"], F64[np.ndarray, "q+1"]]: ...

    for fn in list(locals().values()):
        op = custom_op(f"measuring::{fn.__name__}", fn, mutates_args=())
        assert op.table.live(DispatchKey.FAKE) is None, fn.__name__


def test_a_rule_takes_no_memory():
    assert fake(matvec, np.broadcast_to(1.0, (1 << 50, 2)), np.ones(2)) == [((1 << 50,), np.dtype("f8"), (8,))]


def test_an_operator_with_a_rule_maps_and_differentiates():
    matvec.register_autograd(
        lambda ctx, g: (np.outer(g, ctx.saved_tensors[1]), ctx.saved_tensors[0].T @ g),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    assert np.array_equal(dispatch.vmap(matvec, in_dims=(None, 0))(A, np.ones((4, 3))), np.ones((4, 3)) @ A.T)


# -- at definition ---------------------------------------------------------------------------------------------------------


def test_a_size_that_nothing_gives_is_refused():
    def computed(x: N) -> F64[np.ndarray, "q+1"]: ...
    def named(x: N, k: float) -> F64[np.ndarray, "{k}"]: ...
    def misspelt(x: N) -> F64[np.ndarray, "{k}"]: ...

    assert said(lambda: custom_op("measuring::bad", computed, mutates_args=()), DefinitionError) == (
        "measuring::bad: the hint Float64[np.ndarray, \"q+1\"] computes with 'q', and no axis is named so."
    )
    for fn in (named, misspelt):
        assert said(lambda fn=fn: custom_op("measuring::bad", fn, mutates_args=()), DefinitionError) == (
            "measuring::bad: the hint Float64[np.ndarray, \"{k}\"] reads '{k}', which is no argument of type int."
        )


def test_a_text_that_is_no_dimension_is_refused_where_it_stands():
    def bad(x: F64[np.ndarray, "?n"]) -> np.ndarray: ...
    def two(x: N | M) -> np.ndarray: ...

    message = said(lambda: custom_op("measuring::bad", bad, mutates_args=()), HintError)
    assert message.startswith("measuring::bad: parameter 'x' has the hint ")
    assert message.endswith(
        "which has no schema type.\n'?n' asks for the place in a tree, and an operator's arguments are none. Leave the '?' out."
    )
    assert said(lambda: custom_op("measuring::bad", two, mutates_args=()), HintError) == (
        "measuring::bad: Two ways to write the dimensions of one array: write the same in both, or '...'."
    )


def test_hints_take_no_part_in_the_schema():
    assert str(matvec.schema) == "measuring::matvec(Tensor a, Tensor v) -> Tensor"
    assert matvec.schema == type(matvec.schema).parse(str(matvec.schema))


# -- jaxtyping itself ------------------------------------------------------------------------------------------------------


def test_jaxtyping_hints():
    jaxtyping = pytest.importorskip("jaxtyping")
    source = (
        "from __future__ import annotations\n"
        "import numpy as np\n"
        "from jaxtyping import Float, Float64\n"
        "def f(a: Float64[np.ndarray, 'm n'], v: Float[np.ndarray, 'n'] | None = None) -> Float64[np.ndarray, 'm']:\n"
        "    return a @ v\n"
    )
    scope = {"__name__": __name__}
    exec(source, scope)
    op = custom_op("measuring::jaxtyping", scope["f"], mutates_args=())
    assert fake(op, A, V) == real(op, A, V)
    assert said(lambda: op(A, np.ones(4)), ArgumentError).startswith(
        "measuring::jaxtyping: argument 'v' of shape (4,) does not fit Float[np.ndarray, \"n\"]: n is 4, and 3 in 'a'."
    )
    assert "int64" in said(lambda: op(A, np.ones(3, int)), ArgumentError)
    nested = jaxtyping.Float[jaxtyping.Float64[np.ndarray, "n"], "b"]

    def g(x: nested) -> jaxtyping.Shaped[np.ndarray, "b"]:
        return x[:, 0].copy()

    assert custom_op("measuring::nested", g, mutates_args=())(A).shape == (2,)


def test_a_kind_of_dtypes_is_held_beside_numbers_options_and_what_is_left_out():
    @custom_op("measuring::mixed", mutates_args=())
    def mixed(
        x: NDArray[np.floating], y: NDArray[np.floating] | float, z: NDArray[np.floating] | None = None, *, n: int = 1
    ) -> NDArray[np.floating]:
        return x * y * n

    assert np.array_equal(mixed(V, 2.0, n=3), V * 6)
    assert np.array_equal(mixed(V, V, V), V * V)
    for call in (lambda: mixed(V, np.arange(3)), lambda: mixed(V, 2.0, np.arange(3), n=3)):
        assert "has dtype int64, and its hint is NDArray[np.floating]" in said(call, ArgumentError)
    assert "which has dtype int64" in said(lambda: custom_op("measuring::whole", whole, mutates_args=())(V, n=2), OutputError)


def whole(x: np.ndarray, *, n: int) -> NDArray[np.floating]:
    return x.astype(int) * n
