"""Rules of operators run while a trace is made: what is registered, and what the rules refer to, is compared at each call."""

import functools
import heapq
import itertools
import types
import warnings

import numpy as np
import pytest

import dispatch
from dispatch.errors import FakeTensorError, TracingError
from dispatch.library import Library, register_autograd

x = np.arange(1.0, 4.0)
numbers = itertools.count()


def fake(a):
    return np.empty_like(a)


def square(a: np.ndarray) -> np.ndarray:
    return a * a


def operator(name=None, kernel=square, **rules):
    op = dispatch.custom_op(f"registered::{name or f'op{next(numbers)}'}", kernel, mutates_args=())
    for layer, rule in ({"fake": fake} | rules).items():
        getattr(op, f"register_{layer}")(rule)
    return op


def composite(rule):
    lib, name = Library("registered", "FRAGMENT"), f"op{next(numbers)}"
    lib.define(f"{name}(Tensor a) -> Tensor")
    lib.impl(name, rule, "CompositeImplicit")
    kept.append(lib)
    return getattr(dispatch.ops.registered, name)


kept = []


def by_backward(read):
    op = operator(autograd=lambda ctx, g: g * read())
    return dispatch.grad(lambda a: np.sum(op(a)))


def by_setup(read):
    op = operator()

    def setup(ctx, inputs, output):
        ctx.factor = read()

    op.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=setup)
    return dispatch.grad(lambda a: np.sum(op(a)))


def by_jvp(read):
    op = operator(jvp=lambda tangents, out, a: tangents[0] * read())
    return lambda a: dispatch.jvp(op, (a,), (a,))[1]


def by_vmap(read):
    def rule(info, in_dims, a):
        return op(a) * read(), in_dims[0]

    op = operator(vmap=rule)
    return lambda a: dispatch.vmap(op)(np.stack([a, a]))


def by_composite(read):
    op = composite(lambda a: np.multiply(a, read()))
    return lambda a: op(a)


def by_operator_in_a_rule(read):
    inner = operator(autograd=lambda ctx, g: g * read())
    outer = operator(autograd=lambda ctx, g: dispatch.grad(lambda b: np.sum(inner(b)))(g))
    return dispatch.grad(lambda a: np.sum(outer(a)))


RULES = [by_backward, by_setup, by_jvp, by_vmap, by_composite, by_operator_in_a_rule]


def of_a_dict():
    held = {"k": 2.0}
    return lambda: held["k"], lambda: held.update(k=3.0)


def of_an_array():
    held = np.full(3, 2.0)
    return lambda: held, lambda: held.fill(3.0)


def of_an_attribute():
    held = types.SimpleNamespace(k=2.0)
    return lambda: held.k, lambda: setattr(held, "k", 3.0)


def of_a_variable():
    held = 2.0

    def change():
        nonlocal held
        held = 3.0

    return lambda: held, change


def of_a_partial():
    held = [2.0]
    return functools.partial(lambda values: values[0], held), lambda: held.insert(0, 3.0)


def of_a_method():
    class Held:
        k = 2.0

        def read(self):
            return self.k

    return Held().read, lambda: setattr(Held, "k", 3.0)


HOLDERS = [of_a_dict, of_an_array, of_an_attribute, of_a_variable, of_a_partial, of_a_method]


@pytest.mark.parametrize("hold", HOLDERS)
@pytest.mark.parametrize("make", RULES)
def test_what_a_rule_refers_to_is_compared(make, hold):
    read, change = hold()
    f = make(read)
    g = dispatch.compile(f, fullgraph=True)
    before = f(x)
    np.testing.assert_array_equal(g(x), before)
    np.testing.assert_array_equal(g(x + 1), f(x + 1))
    assert len(g.entries) == 1
    change()
    assert not np.array_equal(f(x), before)
    np.testing.assert_array_equal(g(x), f(x))
    assert len(g.entries) == 2


def changes_of_operators():
    """Functions of operators, and what is registered anew."""
    op = operator(autograd=lambda ctx, g: g * 2)
    grad = dispatch.grad(lambda a, op=op: np.sum(op(a) ** 2))
    yield "a kernel", grad, lambda: op.register_kernel("cpu", lambda a: a * 5)
    yield "a backward", grad, lambda: op.register_autograd(lambda ctx, g: g * 3)
    moved = operator(jvp=lambda tangents, out, a: tangents[0] * 2)
    push = lambda a: dispatch.jvp(moved, (a,), (a,))[1]
    yield "a jvp rule", push, lambda: moved.register_jvp(lambda tangents, out, a: tangents[0] * 3)
    rows = operator()
    batch = lambda a: dispatch.vmap(rows)(np.stack([a, a]))
    yield "a first batching rule", batch, lambda: rows.register_vmap(lambda info, in_dims, a: (rows(a) * 2, in_dims[0]))
    yield "a batching rule", batch, lambda: rows.register_vmap(lambda info, in_dims, a: (rows(a) * 3, in_dims[0]))
    parts = composite(lambda a: np.multiply(a, 2.0))
    name = parts.name.partition("::")[2]
    yield "a composite", lambda a: parts(a), lambda: kept[-1].impl(name, lambda a: np.multiply(a, 3.0), "CompositeImplicit")
    operator("again").register_autograd(lambda ctx, g: g * 2)
    by_name = dispatch.grad(lambda a: np.sum(dispatch.ops.registered.again(a)))
    yield "the operator", by_name, lambda: operator("again", autograd=lambda ctx, g: g * 7)
    sines = dispatch.grad(lambda a: np.sum(np.sin(a)))
    lib = Library("np", "IMPL")
    yield "a rule of a row", sines, lambda: register_autograd("np::sin", lambda ctx, g: g * 7, lib=lib)
    yield "a rule that goes with its library", sines, lib.destroy


def test_what_is_registered_after_a_trace_is_seen():
    for name, f, change in changes_of_operators():
        g = dispatch.compile(f, fullgraph=True)
        before = f(x)
        np.testing.assert_array_equal(g(x), before)
        change()
        assert not np.array_equal(f(x), before), name
        np.testing.assert_array_equal(g(x), f(x), err_msg=name)


def test_an_operator_that_is_defined_anew_in_a_library_is_found():
    libraries = []

    def define(factor):
        libraries.append(lib := Library("registered", "FRAGMENT"))
        lib.define("comes_and_goes(Tensor a) -> Tensor")
        lib.impl("comes_and_goes", lambda a: a * factor, "CPU")
        lib.impl("comes_and_goes", fake, "Meta")

    def f(a):
        return dispatch.ops.registered.comes_and_goes(a)

    define(2.0)
    g = dispatch.compile(f, fullgraph=True)
    np.testing.assert_array_equal(g(x), 2 * x)
    libraries[0].destroy()
    define(5.0)
    np.testing.assert_array_equal(g(x), 5 * x)


def test_other_operators_that_are_defined_cost_no_trace():
    op = operator(autograd=lambda ctx, g: g * 2)
    g = dispatch.compile(dispatch.grad(lambda a: np.sum(op(a))), fullgraph=True)
    for _ in range(3):
        g(x)
        operator(autograd=lambda ctx, g: g * 3)
        op.register_kernel("cpu", lambda a: a * a)
    assert len(g.entries) == 1


def rules_that_cannot_be_read():
    count, log, seen, state = {"n": 0}, [], itertools.count(), types.SimpleNamespace(n=0)
    generator = np.random.default_rng(0)

    def in_a_dict(*_):
        count["n"] += 1
        return count["n"]

    def in_a_list(*_):
        log.append(1)
        return len(log)

    def in_an_attribute(*_):
        state.n += 1
        return state.n

    def in_a_variable(*_):
        nonlocal state
        state = types.SimpleNamespace(n=state.n + 1)
        return state.n

    return {
        "it assigns to items, and refers to count, a dict, which may be what that changes.": in_a_dict,
        "it calls .append, and refers to log, a list, which may be what that changes.": in_a_list,
        "it assigns to .n, an attribute of what it refers to.": in_an_attribute,
        "assigns to state, which is no variable of its own.": in_a_variable,
        "it refers to seen, a count, which cannot be compared.": lambda *_: next(seen),
        "it refers to generator, a Generator, whose results may depend on more than arguments.": lambda *_: generator.normal(),
        "it names .rand, and numpy.random.rand depends on more than its arguments.": lambda *_: 1 + 0 * np.random.rand(),  # noqa: NPY002
        "asks for the class of a value, and that of a traced value is another than that of an array.": lambda g: (
            1 if isinstance(g, np.ndarray) else 3
        ),
        "it refers to print, a builtin_function_or_method, whose results may depend on more than arguments.": lambda *_: (
            print() or 1  # noqa: T201
        ),
    }


@pytest.mark.parametrize("said", rules_that_cannot_be_read())
def test_a_rule_that_cannot_be_compared_is_called_as_one_operator_and_a_setup_context_is_refused(said):
    outcomes = []
    for wrap in (lambda f: f, functools.partial(dispatch.compile, fullgraph=True)):
        read = rules_that_cannot_be_read()[said]
        op = operator(autograd=lambda ctx, g, read=read: g * read(g))
        g = wrap(dispatch.grad(lambda a, op=op: np.sum(op(a))))
        outcomes.append([g(x) for _ in range(4)])
    np.testing.assert_array_equal(*outcomes)

    def setup(ctx, inputs, output):
        ctx.factor = read(*inputs)

    op = operator()
    op.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=setup)
    with pytest.raises(TracingError) as caught:
        dispatch.compile(dispatch.grad(lambda a: np.sum(op(a))), fullgraph=True)(x)
    assert f"of a rule of {op.name}, which runs while a trace is made: " in str(caught.value)
    assert str(caught.value).endswith(f"{said} Pass what is needed to the operator.")
    dispatch.compile(lambda a: op(a), fullgraph=True)(x)  # without a transform it has no part in the trace


@pytest.mark.parametrize("transform", [lambda f: lambda a: dispatch.vmap(f)(np.stack([a, a])), dispatch.jacfwd])
def test_a_rule_that_cannot_be_compared_is_not_called_as_one_operator_inside_another_transform(transform):
    """There the rule itself is called once for the whole batch, and the operator once for each item."""
    outcomes = []
    for wrap in (lambda f: f, dispatch.compile):
        count = itertools.count(1)
        op = operator(autograd=lambda ctx, g, count=count: g * next(count))
        f = transform(dispatch.grad(lambda a, op=op: np.sum(op(a) * a)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            g = wrap(f)
            outcomes.append([g(x) for _ in range(3)])
    np.testing.assert_array_equal(*outcomes)
    with pytest.raises(TracingError, match="a rule of an operator is given values of two transforms, or of none, and it refers to"):
        dispatch.compile(f, fullgraph=True)(x)


def test_a_block_of_errstate_in_a_rule_holds_when_the_graph_runs():
    def backward(ctx, g):
        with np.errstate(divide="raise"):
            return 1 / g

    op = operator(autograd=backward)
    g = dispatch.compile(dispatch.grad(lambda a: np.sum(op(a) * a)), fullgraph=True)
    g(x)
    with pytest.raises(FloatingPointError):
        g(0 * x)


def writeable(a):
    return 2.0 if a.flags.writeable else 3.0


def by_tangents(op):
    op.register_jvp(lambda tangents, out, a: tangents[0] * writeable(a))
    return lambda a: dispatch.jvp(op, (a,), (a,))[1]


def by_partials(op):
    op.register_autograd(elementwise=lambda a: a * writeable(a))
    return dispatch.grad(lambda a: np.sum(op(a)))


def by_partials_by_name(op):
    op.register_autograd(elementwise={"a": lambda a, out: out * writeable(a)})
    return lambda a: dispatch.jvp(op, (a,), (a,))[1]


def by_what_is_called_as_one(op):
    numbers = itertools.count()
    op.register_autograd(elementwise=lambda a: a * writeable(a) + next(numbers) * 0)
    return dispatch.grad(lambda a: np.sum(op(a)))


@pytest.mark.parametrize("make", [by_tangents, by_partials, by_partials_by_name, by_what_is_called_as_one])
def test_a_rule_that_asks_for_the_memory_of_a_value_runs_as_it_is(make):
    f = make(operator())
    said = r"it names \.flags, which says something else of what a rule is given there than of an array\. Pass what is needed to"
    with pytest.raises(TracingError, match=said):
        dispatch.compile(f, fullgraph=True)(x)
    g = dispatch.compile(f)
    with pytest.warns(dispatch.errors.PerformanceWarning, match=said):
        np.testing.assert_array_equal(g(x), f(x))
    np.testing.assert_array_equal(g(x), f(x))


def test_what_partials_refer_to_is_compared_and_they_are_traced_in_their_parts():
    held = [2.0]
    op = operator()
    op.register_autograd(elementwise=lambda a: a * held[0])
    f = dispatch.grad(lambda a: np.sum(op(a)))
    g = dispatch.compile(f, fullgraph=True)
    np.testing.assert_array_equal(g(x), f(x))
    assert not any(node.op is not None and "rule" in node.op.name for node in g.entries[0].traced.graph.nodes)
    held[0] = 3.0
    np.testing.assert_array_equal(g(x), f(x))


def test_a_composite_that_gets_a_kernel_is_taken_apart_no_longer():
    op = composite(lambda a: np.multiply(a, 2))
    f = lambda a: op(a) + 1
    g = dispatch.compile(f, fullgraph=True)
    for _ in range(2):
        np.testing.assert_array_equal(g(x), f(x))
    with Library("registered", "IMPL") as lib:
        lib.impl(op.schema.name, lambda a: a * 7, "CPU")
        np.testing.assert_array_equal(f(x), 7 * x + 1)
        np.testing.assert_array_equal(g(x), f(x))
    np.testing.assert_array_equal(g(x), f(x))


def counting():
    count = itertools.count(1)

    def kernel(a: np.ndarray) -> np.ndarray:
        return a * next(count)

    return kernel


def in_a_loop(op):
    return lambda a: dispatch.scan(lambda c, t: (c + op(t) * op(t), op(np.ones(()))), a[0] * 0, a)


@pytest.mark.parametrize("make", [lambda op: lambda a: op(a) - 2 * op(a), in_a_loop])
def test_a_users_kernel_runs_as_often_as_the_code_calls_it(make):
    """It may keep something: only this package's operators are merged and folded."""
    outcomes = []
    for wrap in (lambda f: f, dispatch.compile):
        g = wrap(make(operator(kernel=counting())))
        outcomes.append([part for _ in range(3) for part in map(np.copy, np.atleast_1d(g(x)) if make is not in_a_loop else g(x))])
    for found, expected in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(found, expected)


def looped(a):
    return dispatch.scan(lambda c, _: (np.cos(c), c), a, length=2)[0]


@pytest.mark.parametrize("f", [np.cos, lambda a: np.sum(np.cos(a) + 1), looped])
def test_a_kernel_that_numpys_function_does_not_call_is_in_no_graph(f):
    g, tight = dispatch.compile(lambda a: f(a)), dispatch.compile(lambda a: f(a), fullgraph=True)
    other = dispatch.compile(lambda a: np.sin(a), fullgraph=True)
    expected = f(x)
    for wrapped in (g, tight):
        np.testing.assert_array_equal(wrapped(x), expected)
    with Library("np", "IMPL") as lib:
        lib.impl("cos", lambda a: a * 100, "CPU")
        said = r"a kernel of yours is registered for np::cos: a graph would call it, and NumPy's function does not\. Register it for"
        with pytest.raises(TracingError, match=said):
            tight(x)
        with pytest.warns(dispatch.errors.PerformanceWarning, match=said):
            np.testing.assert_array_equal(g(x), expected)
        np.testing.assert_array_equal(other(x), np.sin(x))
    np.testing.assert_array_equal(tight(x), expected)


@pytest.mark.parametrize("key", ["FAKE", "TRACE", "FUNCTIONALIZE"])
@pytest.mark.parametrize("namespace", ["np", "_"])
def test_a_rule_of_numpys_that_only_a_trace_runs_is_refused(key, namespace):
    g = dispatch.compile(lambda a: np.cos(a), fullgraph=True)
    expected = g(x)
    with Library(namespace, "IMPL") as lib:
        if namespace == "np":
            lib.impl("cos", lambda a: np.multiply(a, 100), key)
        else:
            lib.fallback(lambda op, a: np.multiply(a, 100), key)
        said = rf"a rule of yours is registered at {key} for operators of dispatch: a trace would run it, and NumPy's functions do not\."
        with pytest.raises(TracingError, match=said):
            g(x)
    np.testing.assert_array_equal(g(x), expected)


def test_an_opaque_rule_is_called_at_each_run():
    count = {"n": 0}

    def backward(ctx, g):
        count["n"] += 1
        return g * count["n"]

    op = operator()
    op.register_autograd(backward, opaque=True)
    g = dispatch.compile(dispatch.grad(lambda a: np.sum(op(a))), fullgraph=True)
    first = g(x)[0]
    assert [g(x)[0] - first for _ in range(3)] == [1.0, 2.0, 3.0]


def test_code_that_may_change_what_a_rule_refers_to_runs_as_it_is():
    held = types.SimpleNamespace(k=2.0)
    op = operator(autograd=lambda ctx, g: g * held.k)
    grad = dispatch.grad(lambda a: np.sum(op(a)))

    def f(a):
        held.k = 5.0
        found = grad(a)
        held.k = 2.0
        return found

    weights = np.full(3, 2.0)
    writes = operator(autograd=lambda ctx, g: g * weights)
    grad_of = dispatch.grad(lambda a: np.sum(writes(a)))

    def h(a, w):
        w += 1
        return grad_of(a)

    with pytest.raises(TracingError, match=r"it may change held, to which a rule of registered::op\d+ refers. Pass what is"):
        dispatch.compile(f, fullgraph=True)(x)
    with pytest.raises(TracingError, match=r"it writes to an array to which the rule of an operator refers\. Pass it to the operator"):
        dispatch.compile(h, fullgraph=True)(x, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(dispatch.compile(f)(x), f(x))
        np.testing.assert_array_equal(dispatch.compile(h)(x, weights), np.full(3, weights[0]))


def changed(how):
    """Of an operator whose kernel changes something by these lines: a function that reads it after a call, and one that reads nothing."""
    text = f"""
def made(at, items, n, op_of):
    def kernel(a: np.ndarray) -> np.ndarray:
        {how.replace("; ", chr(10) + "        ")}
        return a * 1
    op = op_of(kernel)
    return lambda a: op(a) * at.n * items[0] * n, lambda a: op(a) + 1
"""
    scope = {"np": np}
    exec(text, scope)
    return scope["made"](types.SimpleNamespace(n=1.0), [1.0], 1.0, lambda kernel: operator(kernel=kernel))


@pytest.mark.parametrize("how", ["at.n += 1", "at.n = a[0]", "items[0] += 1", "items.insert(0, 5.0)", "nonlocal n; n += 1"])
def test_a_function_that_reads_what_a_kernel_may_change_runs_as_it_is(how):
    reads, _ = changed(how)
    again, apart = changed(how)
    with pytest.raises(
        TracingError,
        match=r"a kernel of registered::op\d+ may change (at|items|n), to which it refers: a graph has that as it was before the "
        r"kernel ran\. Return it from the operator\.",
    ):
        dispatch.compile(reads, fullgraph=True)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = dispatch.compile(reads)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), again(x))
    np.testing.assert_array_equal(dispatch.compile(apart, fullgraph=True)(x), x + 1)


class Slotted:
    __slots__ = ("n",)


HIDDEN = {  # ways to change what no name in the code says, and the words of the refusal
    "setattr(at, 'n', at.n + 1)": "anything (kernel names setattr, by which it may change what its code does not name)",
    "vars(at)['n'] += 1": "anything (kernel names vars, by which it may change what its code does not name)",
    "at.__dict__.update(n=at.n + 1)": "anything (kernel names __dict__, which leads to what nobody compares)",
    "exec('at.n += 1', {'at': at})": "anything (kernel names exec, by which it may change what its code does not name)",
    "slot.n += 1": "Slotted",
    "module.n += 1": "what is in counting",
    "own = items; own += [1.0]; own.reverse": "items",
    "np.add(array, 1.0, out=array)": "array",
    "array[:] += 1": "array",
    "view.fill(view[0] + 1)": "array",
    "np.copyto(several[0], several[0] + 1)": "several[0]",
    "memory[0] += 1": "anything (it refers to memory, a memoryview)",
    "heapq.heapreplace(items, 5.0); items.pop": "anything (kernel names heapq, by which it may change what its code does not name)",
    "far.bump()": "several[0]",
    "counter.bump()": "what is in elsewhere",
}


ELSEWHERE = """
class Counter:
    n = 1.0
    def bump(self):
        self.n += 1

def bump():
    own[:] = own + 1
"""


@pytest.mark.parametrize("how", HIDDEN)
def test_what_a_kernel_may_change_unseen_is_in_no_graph(how):
    text = f"""
def kernel(a: np.ndarray) -> np.ndarray:
    {how.replace("; ", chr(10) + "    ")}
    return a * 1

op = operator(kernel=kernel)

def f(a):
    before = at.n + slot.n + module.n + counter.n + len(items) + np.sum(np.sin(array) + several[0])
    return op(a) * (at.n + slot.n + module.n + counter.n + len(items) + np.sum(np.sin(array) + several[0])) + before
"""

    def made():
        array = np.ones(2)
        scope = {"np": np, "operator": operator, "at": types.SimpleNamespace(n=1.0), "slot": Slotted(), "items": [1.0]}
        scope |= {"array": array, "view": array[:1], "memory": memoryview(array), "several": [np.ones(2)]}
        scope["slot"].n, scope["module"] = 1.0, types.ModuleType("counting")
        scope["module"].n = 1.0
        scope["far"], scope["heapq"] = types.ModuleType("elsewhere"), heapq
        vars(scope["far"])["own"] = scope["several"][0]
        exec(ELSEWHERE, vars(scope["far"]))
        scope["counter"] = scope["far"].Counter() if "counter" in how else types.SimpleNamespace(n=1.0)
        exec(text, scope)
        return scope["f"]

    with pytest.raises(TracingError) as caught:
        dispatch.compile(made(), fullgraph=True)(x)
    said = f"may change {HIDDEN[how]}, to which it refers: a graph has that as it was before the kernel ran. Return it from the operator."
    assert said in str(caught.value)
    plain, compiled = made(), dispatch.compile(made())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x), plain(x))


def test_an_argument_that_a_kernel_may_write_to_is_read_where_the_function_reads_it():
    def made():
        held = np.ones(3)

        def kernel(a: np.ndarray) -> np.ndarray:
            held[:] = held + 1
            return a * 1

        op = operator(kernel=kernel)
        return lambda a: np.sin(a) + op(a * 1) + np.sin(a), held

    (plain, plains), (f, held) = made(), made()
    compiled = dispatch.compile(f)
    for mine, theirs in ((x, x), (held, plains), (x, x), (held[::-1], plains[::-1])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(compiled(mine), plain(theirs))
    assert sum(compiled.entries[0].fallbacks.values()) == 1


def test_a_kernel_that_does_more_runs_once_in_the_first_call_too():
    runs = []

    def kernel(a: np.ndarray) -> np.ndarray:
        runs.append(1)
        return a * 1

    op, quiet = operator(kernel=kernel), operator()

    def f(a, op):
        if a.ndim > 1:
            raise ValueError(f"{a.ndim} axes")
        return op(a)

    with pytest.raises(TracingError, match=r"a kernel of registered::op\d+ may do more than return something: it would run twice\."):
        dispatch.compile(lambda a: f(a, op), fullgraph=True)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dispatch.compile(lambda a: f(a, op))(x)
    assert runs == [1]
    np.testing.assert_array_equal(dispatch.compile(lambda a: f(a, quiet), fullgraph=True)(x), x * x)


def test_a_setup_context_that_reads_what_a_kernel_may_change_runs_as_it_is():
    count = [1.0]

    def kernel(a: np.ndarray) -> np.ndarray:
        count[0] += 1
        return a * 1

    op = operator(kernel=kernel)
    op.register_autograd(lambda ctx, g: g * ctx.n, setup_context=lambda ctx, inputs, output: setattr(ctx, "n", count[0]))
    f = dispatch.grad(lambda a: np.sum(op(a)))
    with pytest.raises(TracingError, match=r"a kernel of registered::op\d+ may change .*count, to which it refers"):
        dispatch.compile(f, fullgraph=True)(x)


def test_captured_as_a_constant_compares_no_rule():
    held = [2.0]
    op = operator(autograd=lambda ctx, g: g * held[0])
    g = dispatch.compile(dispatch.grad(lambda a: np.sum(op(a))), captured="constant")
    assert g(x)[0] == 2.0
    held[0] = 3.0
    assert g(x)[0] == 2.0


LIES = {  # a kernel, a fake rule, and a use of what the rule says
    "a size": (lambda a: np.concatenate([a, a]), np.empty_like, lambda y: y.shape[0]),
    "the rank": (lambda a: a[None] + 1, np.empty_like, lambda y: y.ndim),
    "the dtype": (lambda a: a.astype("f4"), np.empty_like, lambda y: 1 if y.dtype == float else 2),
    "the dtype of a number": (lambda a: np.float32(a.sum()), lambda a: np.empty((), a.dtype), lambda y: 1 if y.dtype == float else 2),
    "an item": (lambda a: [a + 1, a[:1] + 1], lambda a: [np.empty_like(a)] * 2, lambda y: y[1].shape[0]),
    "how many items": (lambda a: [a + 1], lambda a: [np.empty_like(a)] * 2, len),
    "a size that is unused": (lambda a: a[:2] + 1, np.empty_like, lambda y: 1),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_a_kernel_that_returns_something_else_than_its_fake_rule_says_is_told(lie, dynamic):
    kernel, rule, used = LIES[lie]
    schema = "(Tensor a) -> Tensor[]" if "item" in lie else "(Tensor a) -> Tensor"
    op = dispatch.custom_op(f"registered::lie{next(numbers)}", kernel, mutates_args=(), schema=schema)
    op.register_fake(rule)
    run = dispatch.compile(lambda a: a * used(op(a)), dynamic=dynamic)
    said = rf"^{op.name}: its fake rule says .*, and the kernel returned .*\. The program was made .* dispatch\.library\.opcheck shows where it differs"
    with pytest.raises(FakeTensorError, match=said) as caught:
        run(x)
    assert any(note.startswith("in node ") and "test_registered.py" in note for note in caught.value.__notes__)
    with pytest.raises(FakeTensorError, match=said):
        run(np.arange(5.0))
    report = dispatch.library.opcheck(op, (x,), raise_exception=False, test_utils="test_faketensor", isolate=False)
    assert report.failures


def nonzero(a):
    return np.flatnonzero(a)


def of_nonzero(a):
    return np.empty_like(a, shape=(dispatch.library.get_ctx().new_dynamic_size(),), dtype=np.intp)


TRUTHS = {  # kernels and rules that agree where it matters
    "a foreign byte order": (lambda a: a.astype(float) + 1, np.empty_like, x.astype(">f8")),
    "another order of strides": (lambda a: np.asfortranarray(a + 1), np.empty_like, np.ones((2, 3))),
    "a number": (lambda a: a.sum(), lambda a: np.empty((), a.dtype), x),
    "a size that data decide": (nonzero, of_nonzero, x),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("truth", TRUTHS)
def test_a_rule_that_is_true_of_shape_and_dtype_is_enough(truth, dynamic):
    kernel, rule, a = TRUTHS[truth]
    op = dispatch.custom_op(f"registered::truth{next(numbers)}", kernel, mutates_args=(), schema="(Tensor a) -> Tensor")
    op.register_fake(rule)
    run = dispatch.compile(lambda a: op(a) + 1, dynamic=dynamic, fullgraph=True)
    for given in (a, a, a[:-1]):
        assert np.array_equal(run(given), kernel(given) + 1)


def test_what_this_package_makes_of_a_signature_and_of_axis_names_is_no_state_of_a_users():
    jaxtyping = pytest.importorskip("jaxtyping")
    mean = dispatch.custom_op(
        "registered::signed", lambda a: np.asarray(a.mean()), mutates_args=(), signature="(n)->()", schema="(Tensor a) -> Tensor"
    )
    mean.register_autograd(lambda ctx, g: np.broadcast_to(g[..., None] / ctx.shape[-1], ctx.shape), setup_context=lambda ctx, given, _: setattr(ctx, "shape", given[0].shape))

    def of_rows(a: jaxtyping.Float[np.ndarray, "n m"]) -> jaxtyping.Float[np.ndarray, "n"]:  # noqa: F722, F821  axes
        return a.mean(-1)

    named = dispatch.custom_op("registered::named", of_rows, mutates_args=())
    rows = np.arange(6.0).reshape(2, 3)
    for f in (lambda a: mean(a) + 1, lambda a: named(a) + 1, dispatch.vmap(lambda a: mean(a) + 1), dispatch.grad(lambda a: np.sum(mean(a) ** 2))):
        np.testing.assert_array_equal(dispatch.compile(f, fullgraph=True)(rows), f(rows))
