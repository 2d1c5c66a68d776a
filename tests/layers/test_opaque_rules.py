"""Rules that hand their values to code of arrays alone: seen where they ask, and called as one operator from then on."""

import ctypes
import operator
import threading
import warnings

import numpy as np
import pytest
from making import define, leaf, said

import dispatch
from dispatch import autograd, grad, hessian, jacfwd, jacrev, jvp, make_fx, vmap
from dispatch.core import answered, note_request, requests
from dispatch.errors import ConversionError, DefinitionError, NoRuleError, PerformanceWarning
from dispatch.layers.opaque_rules import Opacity, apart, keys_of, together
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, UFUNCS

X = np.array([0.5, 1.0, 2.0])
XS = np.stack([X, 2 * X, 1 - X])


SEEN = {}  # by the name of an operator


def plain(x):
    """What SciPy makes of an argument, whatever it does with the exception."""
    return np.asarray(x)


def cube(ask=plain, opaque=None, **options):
    """x**3 with a backward that hands its values to other code; `SEEN` has the types that it was given."""
    op = define("(Tensor x) -> Tensor", lambda x: x**3)
    SEEN[op.name] = []

    def backward(ctx, g):
        SEEN[op.name].append(type(g).__name__)
        (x,) = ctx.saved_tensors
        return 3 * ask(x) ** 2 * ask(g)

    op.register_fake(lambda x: np.empty_like(x))
    op.register_autograd(backward, setup_context=lambda ctx, i, o: ctx.save_for_backward(*i), opaque=opaque, **options)
    return op


def summed(op):
    return lambda x: np.sum(op(x) * np.array([1.0, 2.0, 3.0]))


W = np.array([1.0, 2.0, 3.0])
SLOPES = 3 * W * XS**2


TRANSFORMS = {
    "vmap of grad": lambda op: vmap(grad(summed(op)))(XS),
    "grad of vmap": lambda op: grad(lambda xs: np.sum(vmap(summed(op))(xs)))(XS),
    "vmap of vmap of grad": lambda op: vmap(vmap(grad(summed(op))))(XS[None])[0],
    "vmap of jvp": lambda op: np.stack([vmap(lambda x, i=i: jvp(op, (x,), (np.eye(3)[i] * W,))[1][i])(XS) for i in range(3)], 1),
    "jacrev": lambda op: np.stack([np.diagonal(jacrev(lambda x: op(x) * W)(x)) for x in XS]),
    "jacfwd": lambda op: np.stack([np.diagonal(jacfwd(lambda x: op(x) * W)(x)) for x in XS]),
    "make_fx": lambda op: np.stack([make_fx(grad(summed(op)))(X)(x) for x in XS]),
    "make_fx fake": lambda op: np.stack([make_fx(grad(summed(op)), tracing_mode="fake")(X)(x) for x in XS]),
    "make_fx symbolic": lambda op: np.stack([make_fx(grad(summed(op)), tracing_mode="symbolic")(X)(x) for x in XS]),
    "make_fx of vmap": lambda op: make_fx(vmap(grad(summed(op))))(XS)(XS),
    "compile": lambda op: np.stack([dispatch.compile(grad(summed(op)))(x) for x in XS]),
    "functionalize": lambda op: np.stack([dispatch.functionalize(grad(summed(op)))(x) for x in XS]),
    "create_graph": lambda op: np.stack([by_create_graph(op, x) for x in XS]),
}


def by_create_graph(op, x):
    x = leaf(x)
    (found,) = autograd.grad(summed(op)(x), x, create_graph=True)
    return dispatch.detach(found)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("opaque", [None, True])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_backward_that_calls_a_library_works_under_every_transform(transform, opaque, batched):
    op = cube(opaque=opaque, batched=batched)
    for _ in range(2):
        np.testing.assert_allclose(transform(op), SLOPES, rtol=1e-14)
    if opaque:
        assert set(SEEN[op.name]) == {"ndarray"}


def swallowed(x):
    try:
        return np.asarray(x)
    except TypeError:
        return 7.0


def turned(x):
    try:
        return np.asarray(x)
    except TypeError:
        raise RuntimeError("no array") from None


def by_a_ufunc_without_a_row(x):
    return np.frompyfunc(float, 1, 1)(x).astype(float)


def by_a_pointer(x):
    return np.ctypeslib.as_array(x.ctypes.data_as(DOUBLES), (3,))


DOUBLES = ctypes.POINTER(ctypes.c_double)
ASKING = {
    "lets it pass": plain, "swallows it": swallowed, "turns it": turned, "a ufunc without a row": by_a_ufunc_without_a_row,
    "a pointer": by_a_pointer,
}  # fmt: skip


@pytest.mark.parametrize("ask", ASKING.values(), ids=ASKING)
def test_it_is_seen_whatever_the_rule_does_with_the_exception(ask):
    op = cube(ask)
    np.testing.assert_allclose(vmap(grad(summed(op)))(XS), SLOPES)
    assert SEEN[op.name] == ["BatchedTensor", *["ndarray"] * 3]
    np.testing.assert_allclose(vmap(grad(summed(op)))(XS), SLOPES)
    assert SEEN[op.name][4:] == ["ndarray"] * 3  # from then on: nothing runs twice


def test_a_loop_that_nobody_asked_for_warns_once():
    op = cube()
    with pytest.warns(PerformanceWarning, match=f"^{op.name} has") as found:
        vmap(grad(summed(op)))(XS)
    assert str(found[-1].message) == (
        f"{op.name}.backward_rule has no vmap rule, and runs once for each of 3 items. It is a rule of {op.name} that asks what it is "
        "given for a NumPy array. Write it with NumPy's functions and operators, and it runs once; a backward may take all gradients "
        "at once, register_autograd(..., batched=True). To keep the loop, without this warning, register the rule with opaque=True."
    )
    assert len(found) == 2  # of the operator itself, and of its rule
    for other in (op, cube(opaque=True)):
        other.register_vmap("sequential")
        with warnings.catch_warnings(action="error"):
            np.testing.assert_allclose(vmap(grad(summed(other)))(XS), SLOPES)


def test_no_other_exception_is_taken_so():
    def fails(x):
        if type(x) is not np.ndarray:
            raise TypeError("only arrays")
        return x

    def branches(g):
        return g if g[0] > 0 else -g

    for ask, error in ((fails, TypeError), (branches, dispatch.errors.BatchingError)):
        op = cube(ask)
        with pytest.raises(error) as caught:
            vmap(grad(summed(op)))(XS)
        advice = f"The backward of {op.name} was given a BatchedTensor in place of an array. If it hands that to code that takes arrays "
        assert (f"{advice}alone, register it with opaque=True." in caught.value.__notes__) is (error is TypeError)
        assert SEEN[op.name] == ["BatchedTensor"]
    op = cube(fails, opaque=True)
    np.testing.assert_allclose(vmap(grad(summed(op)))(XS), SLOPES)


def test_an_exception_says_in_which_rule_it_was_raised():
    def fails(*args):
        return args[0] + {}

    op = define("(Tensor x, float k=2.0) -> Tensor", lambda x, k: k * x)
    op.register_vmap(lambda info, in_dims, x, k: (fails(x), 0))
    op.register_jvp(lambda tangents, output, x, k: fails(tangents[0]))
    for call, rule, given in (
        (lambda: vmap(op)(XS), "vmap rule", "in_dims is a tuple with the mapped axis of each of (x, k), None for what has none"),
        (lambda: jvp(op, (X,), (X,)), "jvp rule", "tangents is a tuple with one for each of (x, k), None for what has none"),
    ):
        with pytest.raises(TypeError, match="unsupported operand") as caught:
            call()
        assert caught.value.__notes__ == [f"in the {rule} of {op.name}: {given}"]
    op.register_vmap(lambda info, in_dims, x, k: (op("text"), 0))  # an error of ours names the operator itself
    with pytest.raises(dispatch.errors.ArgumentError) as caught:
        vmap(op)(XS)
    assert not hasattr(caught.value, "__notes__")


def test_opaque_false_forbids_it():
    op = cube(opaque=False)
    assert "registered with opaque=False" in said(lambda: vmap(grad(summed(op)))(XS), ConversionError)
    assert SEEN[op.name] == ["BatchedTensor"]
    op = cube(lambda x: swallowed(x) * np.ones(3), opaque=False)
    assert np.array_equal(vmap(grad(summed(op)))(XS), np.full((3, 3), 3 * 49.0 * 7.0))


def test_a_value_that_the_rule_was_not_given_is_no_reason():
    outside = leaf(X)
    op = cube(lambda x: x * np.asarray(outside))
    with pytest.raises(ConversionError):
        grad(summed(op))(X)
    assert op.kernels.rows[1][1] == "autograd rule"


def test_what_a_rule_does_under_one_layer_says_nothing_of_another():
    op = cube(lambda x: np.asarray(x) if type(x).__name__ == "BatchedTensor" else x)
    np.testing.assert_allclose(vmap(grad(summed(op)))(XS), SLOPES)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(summed(op))(x)))(X), 6 * W * X)  # on the tape it computes with operators
    assert op.kernels.rows[1][1] == "autograd rule, opaque under VMAP"


def test_explain_says_which():
    assert cube(opaque=True).kernels.rows[1][1] == "autograd rule, opaque"
    op = cube()
    assert op.kernels.rows[1][1] == "autograd rule"
    make_fx(grad(summed(op)))(X)
    assert op.kernels.rows[1][1] == "autograd rule, opaque under TRACE"
    assert "autograd rule, opaque under TRACE" in repr(op.explain(leaf(X)))


def test_the_failed_attempt_leaves_nothing_in_a_trace():
    constant = np.array([1.0, 1.0, 1.0])

    def ask(x):
        return np.asarray(np.sin(x) * constant)

    op, other = define("(Tensor x) -> Tensor", np.sin), define("(Tensor x) -> Tensor", np.sin)
    for each, opaque in ((op, None), (other, True)):
        each.register_autograd(
            lambda ctx, g: ask(ctx.saved_tensors[0]) * ask(g),
            setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
            opaque=opaque,
        )
        each.register_fake(lambda x: np.empty_like(x))
    for mode in ("real", "fake", "symbolic"):
        seen, known = (make_fx(lambda x, f=f: grad(lambda x: np.sum(f(x)))(x) + constant, tracing_mode=mode)(X) for f in (op, other))
        assert [node.name.replace(op.schema.name, "f") for node in seen.nodes] == [
            node.name.replace(other.schema.name, "f") for node in known.nodes
        ]
        seen.lint()
        assert not seen.find_nodes(op="np::sin")


def test_the_failed_attempt_leaves_nothing_on_the_context():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.count = [0]

    def backward(ctx, g):
        assert not hasattr(ctx, "mine")
        ctx.mine = g
        return 3 * np.asarray(ctx.saved_tensors[0]) ** 2 * np.asarray(g)

    op = define("(Tensor x) -> Tensor", lambda x: x**3)
    op.register_autograd(backward, setup_context=setup)
    np.testing.assert_allclose(vmap(grad(summed(op)))(XS), SLOPES)


NEXT = {
    "grad of grad": lambda op: grad(lambda x: np.sum(grad(summed(op))(x)))(X),
    "hessian": lambda op: hessian(summed(op))(X),
    "jvp of grad": lambda op: jvp(grad(summed(op)), (X,), (X,)),
    "create_graph": lambda op: second_by_create_graph(op),
}


def second_by_create_graph(op):
    x = leaf(X)
    (found,) = autograd.grad(summed(op)(x), x, create_graph=True)
    return autograd.grad(np.sum(found), x)


@pytest.mark.parametrize("opaque", [None, True])
@pytest.mark.parametrize("second", NEXT.values(), ids=NEXT)
def test_the_next_derivative_raises_and_names_what_is_missing(second, opaque):
    op = cube(opaque=opaque)
    for _ in range(2):
        words = said(lambda: second(op), NoRuleError)
        assert f"{op.name}.backward_rule" in words
        assert f"Give that a derivative: {op.schema.name}.backward_rule.register_autograd(backward, setup_context=...)" in words


def test_a_derivative_registered_on_the_rule_s_operator_is_taken():
    op = cube()

    def setup(ctx, inputs, output):
        _, (ctx.g,), (ctx.x,), _, _ = inputs

    @op.backward_rule.register_autograd(setup_context=setup)
    def _(ctx, grads):
        (h,) = grads
        return None, [3 * ctx.x**2 * h], [6 * ctx.x * ctx.g * h], None, None

    np.testing.assert_allclose(hessian(summed(op))(X), np.diag(6 * W * X))
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(summed(op))(x)))(X), 6 * W * X)
    np.testing.assert_allclose(vmap(hessian(summed(op)))(XS), np.stack([np.diag(6 * W * x) for x in XS]))


@pytest.mark.parametrize("opaque", [None, True])
def test_jvp_and_vmap_rules_are_opaque_too(opaque):
    op = define("(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (x * y, np.sin(x)))
    op.register_fake(lambda x, y: (np.empty_like(x), np.empty_like(x)))
    seen = []

    def push(tangents, output, x, y):
        seen.append(type(x).__name__)
        a, b = map(np.asarray, tangents)
        return a * np.asarray(y) + np.asarray(x) * b, np.cos(np.asarray(x)) * a

    def batched(info, in_dims, x, y):
        seen.append(type(x).__name__)
        x = np.broadcast_to(x, (info.batch_size, 3)) if in_dims[0] is None else np.asarray(x)
        y = np.broadcast_to(y, (info.batch_size, 3)) if in_dims[1] is None else np.asarray(y)
        return op(x, y), (0, 0)

    op.register_jvp(push, opaque=opaque)
    op.register_vmap(batched, opaque=opaque)

    def f(x, y):
        u, v = op(x, y)
        return np.sum(u * v)

    def reference(x, y):
        return np.sum(x * y * np.sin(x))

    for g in (
        lambda f: jvp(f, (X, W), (W, X))[1],
        lambda f: vmap(lambda x: jvp(f, (x, W), (W, x))[1])(XS),
        lambda f: vmap(grad(f), (0, None))(XS, W),
        lambda f: vmap(vmap(f, (None, 0)), (0, None))(XS, XS),
        lambda f: grad(lambda xs: np.sum(vmap(f, (0, None))(xs, W)))(XS),
        lambda f: jvp(lambda xs: np.sum(vmap(f, (0, None))(xs, W)), (XS,), (XS,))[1],
        lambda f: jacfwd(f)(X, W),
        lambda f: jacrev(f)(X, W),
        *(lambda f, mode=mode: make_fx(vmap(f), tracing_mode=mode)(XS, XS)(XS, 2 * XS) for mode in ("real", "fake", "symbolic")),
        *(lambda f, mode=mode: make_fx(grad(f), tracing_mode=mode)(X, X)(X, W) for mode in ("real", "fake", "symbolic")),
    ):
        np.testing.assert_allclose(g(f), g(reference), rtol=1e-12)
    assert (set(seen) == {"ndarray"}) is bool(opaque)
    assert "jvp_rule.register_autograd" in said(lambda: jvp(lambda x: jvp(f, (x, W), (x, x))[1], (X,), (X,)), NoRuleError)


def test_a_batching_rule_whose_outputs_nobody_can_foretell_is_looped_over():
    op = define("(Tensor x) -> Tensor[]", lambda x: [2 * x, 3 * x])
    op.register_vmap(lambda info, in_dims, x: ([2 * np.asarray(x), 3 * np.asarray(x)], in_dims[0]))
    assert np.array_equal(vmap(vmap(op))(XS[None])[1], 3 * XS[None])
    assert np.array_equal(grad(lambda x: np.sum(vmap(lambda x: dispatch.detach(op(x)[0]) * x)(x)))(XS), 2 * XS)
    assert not hasattr(op, "vmap_rule")


def test_residuals_are_handed_on_untouched():
    class Handle:
        def __init__(self, x):
            self.slope = np.cos(x)

    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (np.sin(x), Handle(x)))
    op.register_autograd(lambda ctx, g: ctx.residual.slope * np.asarray(g))
    f = grad(lambda x: np.sum(op(x)))
    np.testing.assert_allclose(vmap(f)(XS), np.cos(XS))
    np.testing.assert_allclose(jacrev(op)(X), np.diag(np.cos(X)))
    assert "backward_rule.register_autograd" in said(lambda: grad(lambda x: np.sum(f(x)))(X), NoRuleError)
    x = leaf(X)
    (found,) = autograd.grad(np.sum(op(x)), x, create_graph=True)
    np.testing.assert_allclose(dispatch.detach(found), np.cos(X))
    assert "backward_rule.register_autograd" in said(lambda: autograd.grad(np.sum(found), x), NoRuleError)


def test_lists_none_and_several_outputs():
    op = define("(Tensor[] xs, Tensor? y, float c) -> (Tensor[], Tensor)", lambda xs, y, c: ([c * xs[0], 1 * xs[1]], xs[1] * c))
    given = []

    def backward(ctx, gs, h):
        given.append((ctx.needs_input_grad, [None if g is None else type(g).__name__ for g in (*gs, h)]))
        return [None if gs[0] is None else ctx.c * np.asarray(gs[0]), None], None, None

    def setup(ctx, inputs, output):
        ctx.c = inputs[2]
        ctx.set_materialize_grads(False)

    op.register_autograd(backward, setup_context=setup)
    found = vmap(grad(lambda x: np.sum(op([x, X], None, 2.0)[0][0] ** 2)))(XS)
    np.testing.assert_allclose(found, 8 * XS)
    assert given[-1] == (([True, False], False, False), ["ndarray", None, None])
    both = vmap(grad(lambda x: np.sum(op([x, x], None, 2.0)[0][1])))(XS)  # a gradient that is None counts as zero
    assert np.array_equal(both, np.zeros((3, 3)))


def test_a_gradient_is_fitted_to_its_input_before_a_layer_sees_it():
    op = define("(Tensor x, Tensor b) -> Tensor", lambda x, b: x + b)
    op.register_autograd(lambda ctx, g: (np.asarray(g).astype("f4"), np.asarray(g)))
    graph = make_fx(grad(lambda x, b: np.sum(op(x, b)), argnums=(0, 1)))(X, np.ones(1))
    assert [x.value.shape for x in graph.outputs] == [(3,), (1,)]
    x, b = graph(X, np.ones(1))
    assert (x.dtype, x.shape, b.shape, b[0]) == (np.float64, (3,), (1,), 3.0)


def test_a_rule_that_returns_what_it_was_given_or_a_view_of_it():
    op = define("(Tensor x, Tensor y) -> Tensor", np.add)
    op.register_autograd(lambda ctx, g: (np.asarray(g), np.asarray(g)[:]))
    found = vmap(grad(lambda x, y: np.sum(op(x, y)), argnums=(0, 1)))(XS, XS)
    assert all(np.array_equal(x, np.ones((3, 3))) for x in found)


def test_threads_learn_by_themselves_and_mix_nothing_up():
    op, found = cube(), [None] * 4

    def work(i):
        found[i] = vmap(grad(summed(op)))((i + 1) * XS)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, x in enumerate(found):
        np.testing.assert_allclose(x, (i + 1) ** 2 * SLOPES)


def test_a_rule_inside_a_rule_answers_for_itself():
    inner = cube()
    outer = define("(Tensor x) -> Tensor", lambda x: x**3)
    outer.register_autograd(
        lambda ctx, g: g * grad(lambda x: np.sum(inner(x)))(ctx.saved_tensors[0]),
        setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
    )
    np.testing.assert_allclose(vmap(grad(summed(outer)))(XS), SLOPES)
    assert outer.kernels.rows[1][1] == "autograd rule"
    assert inner.kernels.rows[1][1] == "autograd rule, opaque under VMAP"


def test_an_empty_batch_calls_nothing():
    op = cube(opaque=True)
    assert vmap(grad(summed(op)))(np.zeros((0, 3))).shape == (0, 3)
    assert SEEN[op.name] == []


def test_what_opaque_may_be():
    op = define("(Tensor x) -> Tensor", lambda x: x)
    for register in (
        lambda: op.register_autograd(lambda ctx, g: g, opaque="yes"),
        lambda: op.register_jvp(lambda tangents, output, x: x, opaque="yes"),
        lambda: op.register_vmap(lambda info, in_dims, x: (x, 0), opaque="yes"),
    ):
        assert said(register, DefinitionError) == f"{op.name}: opaque= is True, False, or None, and a str was given."
    assert said(lambda: op.register_vmap("broadcast_all", opaque=True), DefinitionError) == (
        f"{op.name}: opaque= says how a rule is called, and 'broadcast_all' is the name of one of ours. Leave it out."
    )


def test_arrays_are_taken_out_of_containers_and_put_back():
    given = {"x": X, "n": [1, None, (W, "a")]}
    _, at, rest = apart(given)
    assert (at, rest) == ([0, 3], {"x": None, "n": [1, None, (None, "a")]})
    again = together([-X, -W], at, rest)
    assert np.array_equal(again["x"], -X)
    assert np.array_equal(again["n"][2][0], -W)
    assert (again["n"][0], again["n"][2][1]) == (1, "a")
    assert apart(X)[1:] == ([0], None)
    assert together([W], [0], None) is W


def test_keys_and_opacity():
    seen = []
    vmap(lambda x: seen.append(keys_of([x, 1])) or x)(XS)
    assert seen == [{int(dispatch.DispatchKey.VMAP)}]
    opacity = Opacity()
    assert not opacity.learns([X, 1])
    assert opacity.is_open
    assert str(opacity) == ""


def test_a_refused_array_is_noted_in_its_thread():
    before = requests()
    with pytest.raises(ConversionError):
        np.asarray(leaf(X))
    assert requests() == before + 1
    note_request()
    answered(before)
    assert requests() == before
    others = []
    thread = threading.Thread(target=lambda: others.append(requests()))
    note_request()
    thread.start()
    thread.join()
    answered(before)
    assert others == [0]


def test_no_row_asks_a_value_for_its_array_by_itself():
    """Else a rule that is written with NumPy's functions would be taken for one that calls a library."""
    ran, square = 0, np.eye(3) + 0.1
    for f in [*UFUNCS, *FUNCTIONS]:
        for count in (1, 2):
            args = [square] * count
            many = [np.stack([x, x]) for x in args]
            for transform, given in ((vmap, many), (make_fx, args), (lambda f: lambda *xs: jvp(f, xs, xs), args)):
                before = requests()
                try:
                    with warnings.catch_warnings(action="ignore"):
                        transform(f)(*given)
                except Exception:
                    answered(before)
                    continue
                ran += 1
                assert requests() == before, f
    assert ran > 300


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_opaque_backward_gives_the_order_in_memory_that_its_shape_rule_says(order):
    op = define("(Tensor x) -> Tensor", lambda x: np.asarray(x) * 2.0)
    op.register_fake(np.empty_like)
    op.register_autograd(lambda ctx, g: np.array(np.asarray(g) * 2.0, order=order), opaque=True)
    x = np.arange(6.0).reshape(2, 3)
    for given in (x, np.asfortranarray(x)):
        graph = dispatch.make_fx(lambda x: dispatch.grad(lambda y: op(y).sum())(x))(given)
        with dispatch.FakeTensorMode() as mode:
            said = graph(mode.from_array(given)).strides
        assert graph(given).strides == said


WRITTEN = {
    "np.add.at": lambda out, i, g: np.add.at(out, i, g),
    "np.put": lambda out, i, g: np.put(out, i, g),
    "np.copyto": lambda out, i, g: np.copyto(out[1:], g),
    "out=": lambda out, i, g: np.add(out[1:], g, out=out[1:]),
    "+=": lambda out, i, g: operator.iadd(out[1:], g),
    "x[i] =": lambda out, i, g: operator.setitem(out, i, g),
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.filterwarnings("ignore::dispatch.errors.PerformanceWarning")
def test_a_gradient_that_is_written_into_a_plain_array_is_asked_for_its_array(write):
    op = define("(Tensor x, Tensor i) -> Tensor", lambda x, i: x[i])

    def backward(ctx, g):
        out = np.zeros(3)
        write(out, ctx.i, g)
        return out, None

    op.register_fake(lambda x, i: np.empty(i.shape, x.dtype))
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "i", inputs[1]))
    i = np.array([1, 2])
    np.testing.assert_array_equal(jacrev(lambda x: op(x, i))(X), np.eye(3)[i])
    np.testing.assert_array_equal(jacfwd(lambda x: op(x, i))(X), np.eye(3)[i])
    np.testing.assert_array_equal(make_fx(grad(lambda x: np.sum(op(x, i) * 2)))(X)(X), [0, 2, 2])
