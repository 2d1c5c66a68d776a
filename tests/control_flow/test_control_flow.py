"""Loops and branches, held against Python's own: plain, under every transform and pair of transforms, and as graphs."""

import itertools

import numpy as np
import pytest
from control_flow.random_loops import program
from control_flow.unrolled import OURS, PROGRAMS, UNROLLED

import dispatch
from dispatch import control_flow, errors, make_fx
from dispatch.core.pytree import leaves

X = np.array([0.9, 1.2, 0.95])
OF_EACH = [  # programs of each operator, of which each pair of transforms gets one
    ["of_closure", "of_carry", "of_items", "backwards", "checkpointed_items"],
    ["counted"],
    ["until", "until_count"],
    ["chosen", "chosen_for_all"],
    ["each"],
]


def weights(x):
    return np.cos(1.0 + 2.7 * np.arange(np.size(x))).reshape(np.shape(x))


TRANSFORMS = {
    "grad": lambda f: dispatch.grad(lambda x: np.sum((lambda y: y * weights(y))(f(x)))),
    "jvp": lambda f: lambda x: dispatch.jvp(f, (x,), (weights(x),))[1],
    "jacrev": dispatch.jacrev,
    "jacfwd": dispatch.jacfwd,
    "hessian": dispatch.hessian,
    "vmap": lambda f: lambda x: dispatch.vmap(f)(np.array([1.0, 1.03])[:, None] * x),
}


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * (1 + np.abs(expected).max()))


def both(name, transform=lambda f: f):
    program = PROGRAMS[name]
    return [transform(lambda x, by=by: program(by, x))(X) for by in (OURS, UNROLLED)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_loops_are_pythons(name):
    found, expected = both(name)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_transform(name):
    for transform in TRANSFORMS.values():
        close(*both(name, transform))
    for scale, row in zip((1.0, 1.03), TRANSFORMS["vmap"](lambda x: PROGRAMS[name](OURS, x))(X), strict=True):
        close(row, PROGRAMS[name](UNROLLED, scale * X))


@pytest.mark.parametrize(("number", "pair"), list(enumerate(itertools.product(TRANSFORMS, TRANSFORMS))))
def test_each_pair_of_transforms(number, pair):
    outer, inner = pair
    for names in OF_EACH:
        close(*both(names[number % len(names)], lambda f: TRANSFORMS[outer](TRANSFORMS[inner](f))))


@pytest.mark.parametrize("pair", [("grad", "vmap"), ("vmap", "grad"), ("jvp", "grad"), ("grad", "jvp")])
def test_nested_loops_under_pairs(pair):
    close(*both("nested", lambda f: TRANSFORMS[pair[0]](TRANSFORMS[pair[1]](f))))


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    made = program(rng)
    x = rng.normal(size=3) + 0.2
    ours, unrolled = (lambda x, by=by: made(by, x) for by in (OURS, UNROLLED))
    np.testing.assert_array_equal(ours(x), unrolled(x))
    outer, inner = rng.choice(["grad", "jvp", "jacrev", "jacfwd", "vmap"], size=2)
    f, g = (TRANSFORMS[outer](TRANSFORMS[inner](each)) for each in (ours, unrolled))
    expected = f(x)
    close(expected, g(x))
    graph = make_fx(f, ("real", "fake", "symbolic")[seed % 3])(x)
    for run in (graph, dispatch.Graph.loads(graph.dumps()), dispatch.functionalize(f)):
        np.testing.assert_array_equal(run(x), expected)
    fake = dispatch.eval_shape(f, x)
    assert (fake.shape, fake.dtype) == (expected.shape, expected.dtype)


# -- graphs ----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_of_a_program_is_the_program(name):
    for transform, modes in ((lambda f: f, ("real", "fake", "symbolic")), (TRANSFORMS["grad"], ("symbolic",))):
        f = transform(lambda x: PROGRAMS[name](OURS, x))
        expected = f(X)
        for mode in modes:
            graph = make_fx(f, mode)(X)
            np.testing.assert_array_equal(graph(X), expected)
        loaded = dispatch.Graph.loads(graph.dumps())
        np.testing.assert_array_equal(loaded(X), expected)
        assert loaded == graph
        scope = graph.scope
        exec(graph.code, scope)
        np.testing.assert_array_equal(scope["f"](X), expected)


def compiled_programs():
    def nested(x, table):
        def step(c, row):
            inner = dispatch.fori_loop(0, 2, lambda i, y: y * row + np.sin(x), c)
            inner = dispatch.cond(np.sum(inner) > 0.0, np.tanh, lambda y: y * 0.5, inner)
            return dispatch.while_loop(lambda y: np.sum(y) < 0.5, lambda y: y + x * x, inner, max_steps=8), np.sum(inner)

        last, ys = dispatch.scan(step, x * 0.1, table, checkpoint=2)
        return np.sum(last) * np.sum(ys)

    return [nested, dispatch.value_and_grad(nested, argnums=(0, 1))]


@pytest.mark.parametrize("f", compiled_programs())
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_program_is_the_program(f, dynamic):
    made = dispatch.compile(f, fullgraph=True, dynamic=dynamic)
    for n in (3, 4, 5):
        x, table = np.linspace(0.5, 1.5, 3), np.cos(np.arange(3.0 * n)).reshape(n, 3)
        for found, expected in zip(leaves(made(x, table)), leaves(f(x, table)), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_loop_is_one_node_however_many_steps_there_are():
    def nodes(n):
        f = lambda x: dispatch.scan(lambda c, t: (np.sin(c) * t, None), x, np.linspace(0, 1, n))[0]
        return len(make_fx(f, "fake")(X).nodes), len(make_fx(TRANSFORMS["grad"](f), "fake")(X).nodes)

    assert nodes(3) == nodes(3000)


def test_what_a_body_closes_over_is_an_argument_of_the_operator():
    big = np.ones((3, 3))
    graph = make_fx(lambda x, w: dispatch.fori_loop(0, 2, lambda i, c: big @ c * w, x))(X, 2.0)
    (call,) = graph.find_nodes(op="control_flow::scan")
    assert [node.name for node in call.args[3]] == ["big", "w"]
    assert not call.args[0].graph.constants


def test_a_gradient_reaches_what_is_closed_over():
    big = dispatch.tensor(np.eye(3) * 2, requires_grad=True)
    dispatch.fori_loop(0, 2, lambda i, c: big @ c, X).sum().backward()
    np.testing.assert_allclose(big.grad, 2 * (np.outer(np.ones(3), X) * 2))


# -- refusals --------------------------------------------------------------------------------------------------------------

GROWING = "scan: the carry goes in as float64[3] and comes out as float64[4]. Each step has to give the shape and dtype of the one before: return a carry of the shape that it has at the start."


def grow(c, x):
    return np.concatenate([c, [0.0]]), None


@pytest.mark.parametrize("run", [lambda f: f(X), lambda f: dispatch.eval_shape(f, X), TRANSFORMS["vmap"], TRANSFORMS["grad"], make_fx])
def test_a_carry_that_changes_its_shape_is_refused(run):
    f = lambda x: dispatch.scan(grow, x, np.ones(3))[0]
    with pytest.raises(errors.ControlFlowError) as caught:
        made = run(f)
        made(X)
    assert str(caught.value) == GROWING


REFUSED = {
    "dtype": (
        lambda: dispatch.scan(lambda c, x: (c + x, None), 0, np.ones(3)),
        ("scan: the carry goes in as int64[] and comes out as float64[]. Each step has to give the shape and dtype of the one "
        "before: begin with one of dtype float64, or cast what comes out: x.astype('int64')."),
    ),
    "a key": (
        lambda: dispatch.while_loop(lambda c: c["n"] < 3, lambda c: {"m": c["n"] + 1}, {"n": 0}),
        ("while_loop: the carry goes in as a dict of 'n' and a dict of 'm' comes out. Return the same containers, with the same "
        "keys and as many items, at each step."),
    ),
    "an item": (
        lambda: dispatch.scan(lambda c, x: ({"a": c["a"], "b": c["b"][:1]}, None), {"a": X, "b": X}, X),
        ("scan: the carry['b'] goes in as float64[3] and comes out as float64[1]. Each step has to give the shape and dtype of "
        "the one before: return a carry of the shape that it has at the start."),
    ),
    "a result": (
        lambda: dispatch.scan(lambda c, x: (c + 1, X[: int(c) + 1]), 0, X),
        ("scan: the result is float64[1] in the first step, and in a later one float64[2]. Each step has to give the shape and "
        "dtype of the one before: return a result of the shape that it has at the start."),
    ),
    "no pair": (
        lambda: dispatch.scan(lambda c, x: c, 0, X),
        "scan: f(carry, x) returned an int64. Return a tuple of the next carry and the result: (carry, y).",
    ),
    "no array": (
        lambda: dispatch.fori_loop(0, 2, lambda i, c: c, "text"),
        "fori_loop: init is a str, which is no array. Give arrays, numbers, or containers of them.",
    ),
    "lengths": (
        lambda: dispatch.scan(lambda c, x: (c, None), 0, {"a": X, "b": X[:2]}),
        "scan: xs['a'] has 3 items and xs['b'] 2. Give as many of each.",
    ),
    "no length": (
        lambda: dispatch.scan(lambda c, x: (c, None), 0),
        "scan: without xs nothing says how many steps there are. Write scan(f, init, xs); or scan(f, init, None, length=n).",
    ),
    "no axes": (
        lambda: dispatch.scan(lambda c, x: (c, None), 0, 1.0),
        (
            "scan: xs has no axes, so that it has no items. Close over what is the same in each step. For a number of steps "
            "write scan(f, init, None, length)."
        ),
    ),
    "a bound": (
        lambda: dispatch.fori_loop(0, 2.5, lambda i, c: c, X),
        "fori_loop: a bound is a whole number, and was given as a float. Write int(n).",
    ),
    "checkpoint": (
        lambda: dispatch.scan(lambda c, x: (c, None), 0, X, checkpoint=0),
        "scan: checkpoint is True, False, or a number of steps above 0, and 0 was given.",
    ),
    "a condition": (
        lambda: dispatch.while_loop(lambda c: c > 0, lambda c: c - 1, X),
        "while_loop: the condition is bool[3], and has to be one truth, bool[]. Write np.all(...) or np.any(...).",
    ),
    "a number as a condition": (
        lambda: dispatch.cond(1.0, np.sin, np.cos, X),
        "cond: the condition is float64[], and has to be one truth, bool[]. Write a comparison, x > 0.",
    ),
    "branches": (
        lambda: dispatch.vmap(lambda x: dispatch.cond(x > 1, lambda x: x, lambda x: np.stack([x, x]), x))(X),
        ("cond: the branch for true gives float64[], and that for false float64[2]. Both have to give the same containers of "
        "arrays of the same shapes and dtypes."),
    ),
    "branches of other containers": (
        lambda: dispatch.vmap(lambda x: dispatch.cond(x > 1, lambda x: x, lambda x: {"a": x}, x))(X),
        ("cond: the branch for true gives an array, and that for false a dict of 'a'. Both have to give the same containers of "
        "arrays of the same shapes and dtypes."),
    ),
    "too many steps": (
        lambda: dispatch.while_loop(lambda c: c < 10, lambda c: c + 1, 0, max_steps=3),
        "while_loop: the condition still holds after max_steps=3 steps, and what would follow would be left out. Allow more.",
    ),
    "no bound in a graph": (
        lambda: make_fx(dispatch.grad(lambda x: dispatch.while_loop(lambda c: c < 9, lambda c: c * 2, x)), "fake")(1.0),
        ("while_loop: a gradient of it in a graph keeps the carry of each step, and how many there are depends on data. Say how "
        "many there may be: while_loop(cond, body, init, max_steps=1000); or write a scan, or a fori_loop of fixed bounds."),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_by_name(what):
    run, message = REFUSED[what]
    with pytest.raises(errors.ControlFlowError) as caught:
        run()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((X,), "a tuple of 1, and the function gets a tuple,|For arguments of the function give them one by one, cond(pred, true, false, *x)."),
        ([1.0, 2.0], "a list of 2, and the function gets a list,|For one array give np.asarray(x)."),
    ],
    ids=["arrays", "numbers"],
)
def test_a_container_that_a_branch_takes_for_an_array_is_named_in_a_note(given, said):
    with pytest.raises(TypeError) as caught:
        dispatch.cond(True, lambda a, b: b + 1.0, lambda a, b: b, X, given)
    assert caught.value.__notes__ == ["cond: operand 1 is " + said.replace("|", " with a value for each item. ")]


def test_writes_of_a_body_are_refused():
    def f(c, x):
        c += x
        return c, None

    kept = X.copy()
    loops = {
        "scan": lambda: dispatch.scan(f, X, np.ones(2)),
        "fori_loop": lambda: dispatch.fori_loop(0, 2, lambda i, c: f(c, i)[0], X),
        "while_loop": lambda: dispatch.while_loop(lambda c: True, lambda c: f(c, 1.0)[0], X),
    }
    for name, run in loops.items():
        with pytest.raises(ValueError, match="read-only") as caught:
            run()
        (note,) = caught.value.__notes__
        assert note == (
            f"What {name} gives a function, the carry and the items, is read-only: others hold it too. Write c = c + x for c += x, "
            "or write to a copy."
        )
        np.testing.assert_array_equal(X, kept)
    with pytest.raises(errors.ControlFlowError, match=r"writes to 'init'\. What it computes goes from step to step in what it"):
        dispatch.grad(lambda x: dispatch.scan(f, x, np.ones(2))[0].sum())(X)


def test_a_body_that_changes_what_it_closes_over_is_refused():
    count = np.zeros(1)

    def f(c, x):
        y = c * count
        count[0] += 1
        return y, None

    with pytest.raises(errors.ControlFlowError, match="changes 'count', which it closes over, and it is run once for all steps"):
        dispatch.grad(lambda x: dispatch.scan(f, x, np.ones(2))[0].sum())(X)


def test_a_body_that_draws_or_counts_is_refused():
    rng, count = np.random.default_rng(0), [0]

    def drawing(c, x):
        return c * rng.normal(), None

    def counting(c, x):
        count[0] += 1
        return c * count[0], None

    for f, match in ((drawing, "computes something else from one run to the next, and it is run once"), (counting, "changes 'count'")):
        with pytest.raises(errors.ControlFlowError, match=match):
            dispatch.grad(lambda x, f=f: dispatch.scan(f, x, np.ones(2))[0].sum())(X)
        assert dispatch.scan(f, 1.0, np.ones(2))[1] is None


def test_a_plain_array_that_is_indexed_by_a_traced_number_is_refused_with_the_line_to_write():
    table = np.arange(6.0).reshape(3, 2)
    with pytest.raises(errors.ConversionError) as caught:
        dispatch.grad(lambda x: dispatch.fori_loop(0, 3, lambda i, c: c + table[i] * x, np.zeros(2)).sum())(2.0)
    assert "write dispatch.numpy.take(table, i, axis=0), or scan the array." in caught.value.__notes__[0]
    f = lambda x: dispatch.fori_loop(0, 3, lambda i, c: c + dispatch.numpy.take(table, i, axis=0) * x, np.zeros(2)).sum()
    assert dispatch.grad(f)(2.0) == table.sum()


# -- what comes out --------------------------------------------------------------------------------------------------------


def test_nothing_that_comes_out_is_what_went_in():
    table = np.ones((3, 2))
    carry, ys = dispatch.scan(lambda c, row: (c, row), X, table)
    assert not np.shares_memory(carry, X)
    assert not np.shares_memory(ys, table)
    carry[:] = ys[:] = 7.0
    graph = make_fx(lambda x, t: dispatch.scan(lambda c, row: (c, row), x, t), "fake")(X, table)
    assert not np.shares_memory(graph(X, table)[0], X)


KEPT = np.ones(3)
SHOWN = {  # loops and branches that give what they are given, or what they close over
    "cond, an operand": lambda x: dispatch.cond(np.sum(x) > 0, lambda a: a, lambda a: a * 2, x),
    "cond, a view of an operand": lambda x: dispatch.cond(np.sum(x) > 0, lambda a: a[:2], lambda a: a[1:], x),
    "cond by a bool, an operand": lambda x: dispatch.cond(True, lambda a: a, lambda a: a * 2, x),
    "cond, closed over": lambda x: dispatch.cond(np.sum(x) > 0, lambda: KEPT, lambda: KEPT * 2),
    "cond by a bool, closed over": lambda x: dispatch.cond(True, lambda: KEPT, lambda: KEPT * 2),
    "scan, closed over": lambda x: dispatch.scan(lambda c, v: (KEPT, v), x, x)[0],
    "fori_loop, closed over": lambda x: dispatch.fori_loop(0, 2, lambda i, c: KEPT, x),
    "while_loop, closed over": lambda x: dispatch.while_loop(lambda c: c[0] > 1.5, lambda c: KEPT, x),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_write_to_what_comes_out_changes_nothing_else_compiled_or_not(name):
    def f(x):
        out = SHOWN[name](x)
        out += 1.0
        return x * 1.0

    compiled = dispatch.compile(f, fullgraph=True)
    for run in (f, compiled, compiled):
        x = np.array([2.0, 3.0, 4.0])
        np.testing.assert_array_equal(run(x), [2.0, 3.0, 4.0])
        np.testing.assert_array_equal(x, [2.0, 3.0, 4.0])
        np.testing.assert_array_equal(KEPT, np.ones(3))


NUMBERED = {  # loops and branches of Python's numbers
    "cond, an operand": lambda x, k: dispatch.cond(np.sum(x) > 3, lambda c: c * 2, lambda c: c - 1, 2),
    "cond, a float that is given": lambda x, k: dispatch.cond(np.sum(x) > 3, lambda c: c * 2, lambda c: c - 1, k),
    "cond by a bool": lambda x, k: dispatch.cond(True, lambda c: (c["k"], 1), lambda c: (c["k"], 2), {"k": k}),
    "cond, constants": lambda x, k: dispatch.cond(np.sum(x) > 3, lambda: (1, True, 0.5), lambda: (2, False, 1.5)),
    "while_loop": lambda x, k: dispatch.while_loop(lambda c: c < 9, lambda c: c * 2, k),
    "fori_loop": lambda x, k: dispatch.fori_loop(0, 2, lambda i, c: c * 1.5, k),
    "scan": lambda x, k: dispatch.scan(lambda c, v: (c * v, 1.0), k, x),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_a_number_of_pythons_is_one_of_numpys_compiled_or_not(name):
    compiled = dispatch.compile(NUMBERED[name], fullgraph=True)
    for x, k in ((X, 2.0), (X * 0, 2.0), (X, 3.0)):
        found, expected = leaves(compiled(x, k)), leaves(NUMBERED[name](x, k))
        assert [type(y) for y in found] == [type(y) for y in expected]
        assert all(isinstance(y, (np.generic, np.ndarray)) for y in expected)
        np.testing.assert_equal(found, expected)


TURNED = {  # loops and branches that give a dict with its keys in another order
    "scan": lambda x: dispatch.scan(lambda c, v: ({"b": c["b"] + v, "a": c["a"]}, v), {"a": x[0], "b": x[1]}, x)[0],
    "fori_loop": lambda x: dispatch.fori_loop(0, 3, lambda i, c: {"b": c["b"] * 2, "a": c["a"]}, {"a": x[0], "b": x[1]}),
    "while_loop": lambda x: dispatch.while_loop(
        lambda c: c["b"] < 50, lambda c: {"b": c["b"] * 2, "a": c["a"]}, {"a": x[0], "b": x[1]}
    ),
    "cond": lambda x: dispatch.cond(x[0] > 1.5, lambda: {"a": x[0], "b": x[1]}, lambda: {"b": x[1], "a": x[0]}),
}
IN_TURN = {"scan": lambda x: x[1] + np.sum(x), "fori_loop": lambda x: x[1] * 8, "cond": lambda x: x[1]}


@pytest.mark.parametrize("name", TURNED)
def test_what_stands_in_a_dict_is_found_by_its_key(name):
    compiled, graph = dispatch.compile(TURNED[name], fullgraph=True), make_fx(TURNED[name], "fake")(X)
    for x in (X, X + 1.0):
        doubled = lambda x: next(x[1] * 2.0**k for k in range(9) if x[1] * 2.0**k >= 50)
        expected = {"a": x[0], "b": IN_TURN.get(name, doubled)(x)}
        for run in (TURNED[name], compiled, graph):
            found = run(x)
            assert found.keys() == expected.keys()
            for key, y in expected.items():
                np.testing.assert_allclose(found[key], y, rtol=1e-15)


def test_a_loop_of_no_steps_gives_what_went_in():
    empty = np.ones((0, 2))
    carry, ys = dispatch.scan(lambda c, row: (c * 2, row[0] * c), X, empty)
    np.testing.assert_array_equal(carry, X)
    assert (ys.shape, ys.dtype) == ((0, 3), X.dtype)
    np.testing.assert_array_equal(dispatch.fori_loop(3, 3, lambda i, c: c * 2, X), X)
    found = dispatch.grad(lambda x: dispatch.scan(lambda c, row: (c * 2, None), x, empty)[0].sum())(X)
    np.testing.assert_array_equal(found, np.ones(3))


def test_a_gradient_is_of_the_branch_that_an_item_takes():
    f = lambda x: dispatch.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    for found in (dispatch.grad(lambda x: np.sum(dispatch.vmap(f)(x))), dispatch.vmap(dispatch.grad(f))):
        np.testing.assert_array_equal(found(np.array([4.0, 0.0])), [0.25, 0.0])


def test_bounds_of_a_loop_may_be_values_of_a_transform():
    f = lambda n: dispatch.fori_loop(0, n, lambda i, c: c * 2.0, 1.0)
    np.testing.assert_array_equal(dispatch.vmap(f)(np.array([0, 1, 5])), [1.0, 2.0, 32.0])


def test_bounds_of_a_loop_may_be_sizes():
    f = lambda x: dispatch.fori_loop(0, x.shape[0], lambda i, c: c * 2 + x[i], 0.0)
    for g in (f, dispatch.grad(f)):
        graph = make_fx(g, "symbolic")(np.arange(1.0, 5.0))
        for x in (np.arange(1.0, 5.0), np.arange(3.0), np.arange(6.0)):
            np.testing.assert_array_equal(graph(x), g(x))


def test_map_is_one_call_for_each_item():
    table = np.arange(6.0).reshape(3, 2)
    f = lambda row: {"sum": row.sum(), "twice": row * 2}
    found = control_flow.map(f, table)
    np.testing.assert_array_equal(found["sum"], table.sum(1))
    np.testing.assert_array_equal(dispatch.vmap(lambda t: control_flow.map(f, t)["twice"])(table[None]), table[None] * 2)


def test_torchs_tuple_of_one_operand_is_warned_of():
    with pytest.warns(RuntimeWarning) as caught:
        out = dispatch.cond(True, lambda t: t[0] * 2, lambda t: t[0], (np.ones(2),))
    assert out.tolist() == [2, 2]
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "cond was given one operand, a tuple of one, which the branches get as a tuple. Write cond(pred, f, g, x) for torch's "
        "cond(pred, f, g, (x,))."
    )
