"""Right calls of the whole public face, from which wrong ones are made: every parameter given every wrong value.

`FACES` has one right call of each function, class and method, with what is done with its result; `VALUES` are the wrong values.
`outcome` makes one wrong call and says what came of it. What may be given, by the documentation, is in `test_wrong_arguments.py`.
"""

import contextlib
import functools
import inspect
import io
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import dispatch
from dispatch import autograd, control_flow, library, testing
from dispatch import numpy as dnp
from dispatch.errors import DispatchError

A = np.arange(1.0, 4.0)
_numbers = itertools.count()


class Plain:
    """A class of a user's that nothing knows."""


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "3": lambda: 3, "-1": lambda: -1, "2.5": lambda: 2.5, "text": lambda: "x", "bytes": lambda: b"x",
    "[]": list, "{}": dict, "object": object, "lambda:0": lambda: lambda: 0, "lambda5": lambda: lambda a, b, c, d, e: a,
    "class": lambda: Plain, "ndarray": lambda: np.arange(1.0, 4.0), "ragged": lambda: [[1.0], [1.0, 2.0]], "True": lambda: True,
    "set": lambda: {1}, "generator": lambda: (i for i in (1, 2)),
}  # fmt: skip
# What a message calls the value: its class, or what it is.
CALLED = {
    "None": "None", "3": "int|3", "-1": "int|-1", "2.5": "float|2.5", "text": "str|'x'", "bytes": "bytes|b'x'|int|120", "[]": r"list|\[\]|empty|no |none",
    "{}": r"dict|empty|\{\}", "object": "object", "lambda:0": r"function|takes \(\)|lambda", "lambda5": "function|a, b, c, d, e|lambda|5",
    "class": "type|class|Plain", "ndarray": "ndarray|array|shape|float", "ragged": "list|different|ragged|lengths|items|float", "True": "bool|True",
    "set": r"set|int|\b1\b", "generator": r"generator|int|\b1\b",
}  # fmt: skip


class Face(NamedTuple):
    """A right call: the function, its arguments by name in order, and what is done with what it returns."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    then: Callable[[Any], Any] = lambda result: None


def f(x):
    return (x * x).sum()


def same(x):
    return x * 2.0


def step(carry, x):
    return carry + x, carry


def pair(carry, i):
    return carry + i


def fresh(**rules: Any) -> Any:
    """A new operator, `(Tensor x, float factor) -> Tensor`, with a shape rule where nothing else is asked."""
    op = dispatch.custom_op(
        f"wrongargs::f{next(_numbers)}", lambda x, factor=2.0: x * factor, mutates_args=(), schema="(Tensor x, float factor=2.0) -> Tensor"
    )
    for verb, rule in rules.items():
        getattr(op, f"register_{verb}")(rule)
    return op


def kernelled() -> Any:
    op = fresh()
    op.register_kernel("cpu", lambda x, factor=2.0: x)
    return op


def hinted(x: np.ndarray) -> np.ndarray:
    return x * 2


def backward(ctx, g):
    return g * ctx.factor, None


def setup(ctx, inputs, output):
    ctx.factor = inputs[1]


def tracked():
    return dispatch.tensor(A, requires_grad=True)


def run(result: Any) -> Any:
    return result(A)


def enter(block: Any) -> None:
    with block:
        pass


def graph() -> Any:
    return dispatch.make_fx(same)(A)


def program() -> Any:
    return dispatch.export(same, (A,))


def differentiated(op: Any) -> None:
    dispatch.grad(lambda x: op(x).sum())(A)


def saved(result: Any = None) -> str:
    graph().save("graph.txt")
    return "graph.txt"


def saved_program() -> str:
    program().save("program.txt")
    return "program.txt"


def name() -> str:
    return f"wrongargs::n{next(_numbers)}"


def lib(kind: str = "DEF") -> Any:
    return library.Library(f"wrongargs_lib{next(_numbers)}", kind)


def lib_of(schema: str = "f(Tensor x) -> Tensor") -> Any:
    made = lib()
    made.define(schema)
    return made


def context() -> Any:
    """A ctx, in its setup_context."""
    found: list[Any] = []
    op = fresh()

    def keep(ctx, inputs, output):
        found.append(ctx)
        ctx.factor = 2.0

    op.register_autograd(backward, setup_context=keep)
    op(tracked())
    return found[0]


def in_setup(method: str, *given: Any, **keywords: Any) -> Any:
    """Call a method of a ctx in setup_context."""
    op = fresh()

    def keep(ctx, inputs, output):
        ctx.factor = inputs[1]
        getattr(ctx, method)(*given, **keywords)

    op.register_autograd(backward, setup_context=keep)
    return op(tracked()).sum()


def save_for_backward(*tensors: Any) -> Any:
    return in_setup("save_for_backward", *tensors)


def mark_non_differentiable(*outputs: Any) -> Any:
    return in_setup("mark_non_differentiable", *outputs)


def set_materialize_grads(*given: Any, **keywords: Any) -> Any:
    return in_setup("set_materialize_grads", *given, **keywords)


def fallback() -> Face:
    """A kernel for all operators, taken back at once, whatever it was given."""
    every = library.Library("_", "IMPL")

    @functools.wraps(every.fallback)
    def once(*args: Any, **keywords: Any) -> None:
        try:
            every.fallback(*args, **keywords)
        finally:
            every.destroy()

    return Face(once, {"fn": lambda op, *args: op(*args), "dispatch_key": "CPU", "with_keyset": False})


def verb(which: str, *rest: Any, then: Any = lambda op: None, **keywords: Any) -> Callable[[], Face]:
    """The face `op.register_<which>`, whose parameters are those of `dispatch.register_<which>` without the operator."""

    def make() -> Face:
        op = fresh()
        function = getattr(library, f"register_{which}")
        names = list(inspect.signature(function).parameters)[1:]
        return Face(getattr(op, f"register_{which}"), {**dict(zip(names, rest, strict=False)), **keywords}, lambda _: then(op))

    return make


def registered(which: str, *rest: Any, then: Any = lambda op: None, **keywords: Any) -> Callable[[], Face]:
    def make() -> Face:
        op = fresh()
        function = getattr(library, f"register_{which}")
        names = list(inspect.signature(function).parameters)
        return Face(function, {**dict(zip(names, (op, *rest), strict=False)), **keywords}, lambda _: then(op))

    return make


def batched(op: Any) -> None:
    dispatch.vmap(op)(np.ones((2, 3)))


def faked(op: Any) -> None:
    with dispatch.FakeTensorMode() as mode:
        op(mode.from_array(A))


def called(op: Any) -> None:
    op(A)


def pushed(op: Any) -> None:
    dispatch.jvp(op, (A,), (A,))


RULES = {
    "kernel": (("cpu", lambda x, factor=2.0: x * factor), {"workers": 1}, called),
    "fake": ((lambda x, factor=2.0: np.empty_like(x),), {}, faked),
    "autograd": ((backward,), {"setup_context": setup, "batched": False, "opaque": False}, differentiated),
    "jvp": ((lambda tangents, output, x, factor: tangents[0] * factor,), {"opaque": False}, pushed),
    "vmap": (("broadcast_all",), {}, batched),
}

# By a name, what makes a right call.
FACES: dict[str, Callable[[], Face]] = {
    # transforms
    "grad": lambda: Face(dispatch.grad, {"f": f, "argnums": 0, "has_aux": False}, run),
    "value_and_grad": lambda: Face(dispatch.value_and_grad, {"f": f, "argnums": 0, "has_aux": False}, run),
    "hessian": lambda: Face(dispatch.hessian, {"f": f, "argnums": 0}, run),
    "jacfwd": lambda: Face(dispatch.jacfwd, {"f": same, "argnums": 0, "has_aux": False, "randomness": "error"}, run),
    "jacrev": lambda: Face(dispatch.jacrev, {"f": same, "argnums": 0, "has_aux": False, "chunk_size": None}, run),
    "jvp": lambda: Face(dispatch.jvp, {"f": same, "primals": (A,), "tangents": (A,), "has_aux": False}),
    "vjp": lambda: Face(dispatch.vjp, {"f": same, "*primals": A, "has_aux": False}, lambda r: r[1](A)),
    "vjp's pullback": lambda: Face(dispatch.vjp(same, A)[1], {"*cotangents": A}),
    "vmap": lambda: Face(
        dispatch.vmap, {"f": same, "in_dims": 0, "out_dims": 0, "randomness": "error", "chunk_size": None, "workers": None}, run
    ),
    "vectorize": lambda: Face(dispatch.vectorize, {"f": lambda x: x * 2.0, "signature": "()->()", "excluded": (), "otypes": None}, run),
    "functionalize": lambda: Face(dispatch.functionalize, {"f": same}, run),
    "make_fx": lambda: Face(dispatch.make_fx, {"f": same, "tracing_mode": "real"}, run),
    "eval_shape": lambda: Face(dispatch.eval_shape, {"f": same, "*args": A}),
    "compile": lambda: Face(
        dispatch.compile,
        {
            "f": same, "fullgraph": False, "dynamic": False, "mode": None, "backend": None, "static_argnames": (),
            "captured": "inputs", "verify": 0, "cache_dir": None, "workers": None,
        },
        run,
    ),
    "export": lambda: Face(dispatch.export, {"f": same, "args": (A,), "kwargs": None, "dynamic_shapes": None}),
    "load": lambda: Face(dispatch.load, {"file": saved_program()}),
    "checkpoint": lambda: Face(dispatch.checkpoint, {"f": f}, run),
    "carry": lambda: Face(dispatch.carry, {"f": same}, run),
    "detach": lambda: Face(dispatch.detach, {"x": A}),
    "tensor": lambda: Face(dispatch.tensor, {"data": A, "dtype": None, "requires_grad": True}),
    "check": lambda: Face(dispatch.check, {"condition": True, "message": "said"}),
    # control flow
    "cond": lambda: Face(control_flow.cond, {"pred": True, "true": same, "false": same, "*operands": A}),
    "fori_loop": lambda: Face(control_flow.fori_loop, {"lower": 0, "upper": 2, "body": lambda i, c: c * 2.0, "init": A}),
    "while_loop": lambda: Face(
        control_flow.while_loop, {"cond": lambda c: c.sum() < 9.0, "body": lambda c: c * 2.0, "init": A, "max_steps": 9}
    ),
    "scan": lambda: Face(control_flow.scan, {"f": step, "init": 0.0, "xs": A, "length": None, "reverse": False, "checkpoint": False}),
    "map": lambda: Face(control_flow.map, {"f": lambda x: x * 2.0, "xs": A}),
    # definitions
    "custom_op": lambda: Face(
        dispatch.custom_op,
        {
            "name": name(), "fn": hinted, "mutates_args": (), "device_types": None, "schema": None, "tags": None,
            "signature": None, "broadcasts": False, "workers": 1, "functional": False,
        },
        called,
    ),
    "from_ufunc": lambda: Face(dispatch.from_ufunc, {"f": np.frompyfunc(lambda x: x, 1, 1), "name": name(), "derivative": None, "opaque": None}),
    "infer_schema": lambda: Face(library.infer_schema, {"fn": hinted, "mutates_args": (), "op_name": None, "tags": ()}),
    "define": lambda: Face(library.define, {"qualname": name(), "schema": "(Tensor x) -> Tensor", "lib": None, "tags": ()}),
    "impl": lambda: Face(library.impl, {"qualname": defined(), "types": "cpu", "func": same, "lib": None}),
    "impl_abstract": lambda: Face(library.impl_abstract, {"qualname": fresh().name, "func": lambda x, factor=2.0: x, "lib": None}),
    "get_kernel": lambda: Face(library.get_kernel, {"op": fresh(), "dispatch_key": "CPU"}),
    "register_array_type": lambda: Face(library.register_array_type, {"cls": type("Own", (), {}), "device": "cpu", "beside_numpy": False}),
    "register_opaque_type": lambda: Face(library.register_opaque_type, {"cls": type("Own", (), {})}),
    "register_backend": lambda: Face(
        dispatch.register_backend, {"name": f"b{next(_numbers)}", "fn": lambda graph, examples: graph, "claims": None}
    ),
    "Library": lambda: Face(library.Library, {"ns": "wrongargs_library", "kind": "FRAGMENT", "dispatch_key": ""}),
    "Library.define": lambda: Face(lib().define, {"schema": "f(Tensor x) -> Tensor", "alias_analysis": "", "tags": ()}),
    "Library.impl": lambda: Face(
        lib_of().impl, {"op_name": "f", "fn": same, "dispatch_key": "CPU", "with_keyset": False, "allow_override": True}
    ),
    "Library.fallback": fallback,
    "Schema.parse": lambda: Face(dispatch.Schema.parse, {"text": "wrongargs::f(Tensor x) -> Tensor", "name": None}),
    "Residual": lambda: Face(dispatch.Residual, {}),
    # rules
    **{f"register_{which}": registered(which, *rest, then=then, **options) for which, (rest, options, then) in RULES.items()},
    **{f"op.register_{which}": verb(which, *rest, then=then, **options) for which, (rest, options, then) in RULES.items()},
    "register_fake(lib)": registered("fake", lambda x, factor=2.0: x, lib=None, allow_override=True),
    "register_autograd(linear)": registered("autograd", linear=True, then=differentiated),
    "register_autograd(elementwise)": registered("autograd", elementwise=lambda x, factor: factor, then=differentiated),
    "register_autograd(jacobian)": registered("autograd", jacobian=lambda x, factor: np.diag(np.full(3, factor)), then=differentiated),
    "register_autograd(implicit)": registered("autograd", implicit=lambda y, x, factor: y - x * factor, then=differentiated),
    "register_autograd(finite_difference)": registered("autograd", finite_difference=1e-6, then=differentiated),
    "register_kernel(cfunc)": registered("kernel", "cpu", cfunc=None),
    "register_dispatch": lambda: Face(library.register_dispatch, {"op": fresh(), "cls_or_mode": type("M", (dispatch.Mode,), {}), "func": lambda mode, op, types, args, kwargs: op(*args)}),
    "op.register_samples": lambda: Face(fresh().register_samples, {"func": lambda rng: [(A,)], "fixed": (), "gradients": "compare"}),
    "op": lambda: Face(fresh(), {"x": A, "factor": 2.0}),
    "op.explain": lambda: Face(fresh().explain, {"x": A}),
    "op.set_kernel_enabled": lambda: Face(kernelled().set_kernel_enabled, {"device_type": "cpu", "enabled": True}, enter),
    "op.redispatch": lambda: Face(fresh().redispatch, {"below": dispatch.DispatchKey.VMAP, "*args": A}),
    # testing
    "opcheck": lambda: Face(
        testing.opcheck,
        {
            "op": fresh(), "args": (A,), "kwargs": None, "test_utils": "test_schema", "raise_exception": True, "atol": None,
            "rtol": None, "eps": None, "gradients": "compare", "fixed": (), "isolate": False, "timeout": 20.0,
        },
    ),
    "gradcheck": lambda: Face(
        testing.gradcheck, {"f": f, "inputs": (A,), "eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "raise_exception": True}
    ),
    "gradgradcheck": lambda: Face(
        testing.gradgradcheck, {"f": f, "inputs": (A,), "eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "raise_exception": True}
    ),
    "assert_close": lambda: Face(testing.assert_close, {"actual": A, "expected": A, "rtol": None, "atol": None, "equal_nan": True}),
    "samples": lambda: Face(testing.samples, {"op": fresh(), "seed": 0}, next),
    "sample_strategy": lambda: Face(testing.sample_strategy, {"op": fresh()}),
    "Sample": lambda: Face(testing.Sample, {"args": (A,), "kwargs": {}, "what": "", "fixed": (), "gradients": "compare"}),
    "OpProfile": lambda: Face(testing.OpProfile, {"args": (), "outputs": ()}),
    "generate_fake_kernels": lambda: Face(testing.generate_fake_kernels, {"profiles": {}}, enter),
    "save_op_profiles": lambda: Face(testing.save_op_profiles, {"profiles": {}, "path": "profiles.txt"}),
    "load_op_profiles": lambda: Face(testing.load_op_profiles, {"path": saved_profiles()}),
    "record_op_profiles": lambda: Face(testing.record_op_profiles, {"*namespaces": "wrongargs"}, enter),
    "layouts": lambda: Face(testing.layouts, {"args": (A,)}, list),
    "sizes": lambda: Face(testing.sizes, {"args": (A,), "fixed": (), "only_longer": False}, list),
    "values": lambda: Face(testing.values, {"args": (A,), "kept": ()}, list),
    "dont_generate_opcheck_tests": lambda: Face(testing.dont_generate_opcheck_tests, {"reason": "slow"}, lambda d: d(f)),
    "generate_opcheck_tests": lambda: Face(
        testing.generate_opcheck_tests,
        {
            "testcase": type("T", (), {"test_a": lambda self: None}), "namespaces": ["wrongargs"], "failures_dict_path": None,
            "additional_decorators": None, "test_utils": "test_schema",
        },
    ),
    "is_inside_opcheck_mode": lambda: Face(testing.is_inside_opcheck_mode, {}),
    "validate": lambda: Face(dispatch.validate, {"level": "full"}, enter),
    "log_calls": lambda: Face(dispatch.log_calls, {"file": None}, enter),
    "profile": lambda: Face(dispatch.profile, {}, enter),
    # the tape
    "autograd.backward": lambda: Face(
        autograd.backward, {"tensors": f(tracked()), "grad_tensors": None, "retain_graph": None, "create_graph": False, "inputs": None}
    ),
    "autograd.grad": lambda: Face(autograd.grad, of_grad()),
    "autograd.nbytes": lambda: Face(autograd.nbytes, {"*values": tracked()}),
    "x.backward": lambda: Face(f(tracked()).backward, {"gradient": None, "retain_graph": None, "create_graph": False, "inputs": None}),
    "x.register_hook": lambda: Face(tracked().register_hook, {"hook": lambda g: g}),
    "x.register_post_accumulate_grad_hook": lambda: Face(tracked().register_post_accumulate_grad_hook, {"hook": lambda x: None}),
    "x.retain_grad": lambda: Face(tracked().retain_grad, {}),
    "x.detach": lambda: Face(tracked().detach, {}),
    "no_grad": lambda: Face(dispatch.no_grad, {}, enter),
    "enable_grad": lambda: Face(dispatch.enable_grad, {}, enter),
    "set_grad_enabled": lambda: Face(dispatch.set_grad_enabled, {"enabled": True}, enter),
    "detect_anomaly": lambda: Face(dispatch.detect_anomaly, {"check_nan": True}, enter),
    "ctx.save_for_backward": lambda: Face(save_for_backward, {"*tensors": A}),
    "ctx.set_materialize_grads": lambda: Face(set_materialize_grads, {"value": True}),
    # fakes, sizes, modes
    "FakeTensorMode": lambda: Face(
        dispatch.FakeTensorMode, {"allow_non_fake_inputs": False, "shape_env": None, "static_shapes": None}, enter
    ),
    "FakeTensorMode.from_array": lambda: Face(dispatch.FakeTensorMode().from_array, {"a": A, "static_shapes": None}),
    "ShapeEnv": lambda: Face(dispatch.ShapeEnv, {}),
    "ShapeEnv.new_size": lambda: Face(dispatch.ShapeEnv().new_size, {"hint": 3}),
    "ShapeEnv.new_dynamic_size": lambda: Face(dispatch.ShapeEnv().new_dynamic_size, {"min": 0, "max": None}),
    "ShapeEnv.new_symbol": lambda: Face(dispatch.ShapeEnv().new_symbol, {"name": "n", "hint": 3, "low": 0, "high": None}),
    "SymInt.evaluate": lambda: Face(dispatch.ShapeEnv().new_symbol("n", hint=3).evaluate, {"values": {"n": 4}}),
    "SymBool.evaluate": lambda: Face((dispatch.ShapeEnv().new_symbol("n", hint=3) > 2).evaluate, {"values": {"n": 4}}),
    "Mode": lambda: Face(dispatch.Mode, {}, enter),
    "ExcludeDispatchKeyGuard": lambda: Face(library.ExcludeDispatchKeyGuard, {"*keys": "AUTOGRAD"}, enter),
    "IncludeDispatchKeyGuard": lambda: Face(library.IncludeDispatchKeyGuard, {"key": "MODE"}, enter),
    # graphs and programs
    "graph": lambda: Face(graph(), {"*args": A}),
    "graph.holds": lambda: Face(graph().holds, {"*args": A}),
    "graph.print_readable": lambda: Face(graph().print_readable, {"print_output": False}),
    "graph.save": lambda: Face(graph().save, {"file": "graph2.txt"}),
    "graph.dumps": lambda: Face(graph().dumps, {}),
    "graph.to_dot": lambda: Face(graph().to_dot, {}),
    "Graph.load": lambda: Face(dispatch.Graph.load, {"file": saved()}),
    "Graph.loads": lambda: Face(dispatch.Graph.loads, {"text": graph().dumps(), "name": ""}),
    "graph.find_nodes": lambda: Face(graph().find_nodes, {"op": None, "kind": None}),
    "graph.inserting_before": lambda: Face(*of_graph("inserting_before", "node"), enter),
    "graph.erase_node": lambda: Face(*of_graph("erase_node", "node")),
    "graph.replace_all_uses_with": lambda: Face(*of_graph("replace_all_uses_with", "node", "other")),
    "graph.lint": lambda: Face(graph().lint, {}),
    "graph.copy": lambda: Face(graph().copy, {}),
    "program": lambda: Face(program(), {"*args": A}),
    "program.save": lambda: Face(program().save, {"file": "program2.txt"}),
    "ExportedProgram.load": lambda: Face(dispatch.ExportedProgram.load, {"file": saved_program()}),
    "ExportedProgram": lambda: Face(dispatch.ExportedProgram, {"graph": program().graph}),
    "compiled": lambda: Face(dispatch.compile(same), {"x": A}),
    "compiled.explain": lambda: Face(dispatch.compile(same).explain, {"x": A}),
    # dispatch.numpy's own
    "numpy.astype": lambda: Face(dnp.astype, {"x": A, "dtype": np.float32, "copy": True, "device": None}),
    "numpy.asarray": lambda: Face(dnp.asarray, {"a": A, "dtype": np.float32}),
    "numpy.random.normal": lambda: Face(dnp.random.normal, {"rng": np.random.default_rng(0), "loc": 0.0, "scale": 1.0, "size": None}),
    "numpy.random.uniform": lambda: Face(dnp.random.uniform, {"rng": np.random.default_rng(0), "low": 0.0, "high": 1.0, "size": None}),
    "numpy.random.gamma": lambda: Face(dnp.random.gamma, {"rng": np.random.default_rng(0), "shape": 1.0, "scale": 1.0, "size": None}),
    "numpy.random.multivariate_normal": lambda: Face(
        dnp.random.multivariate_normal,
        {"rng": np.random.default_rng(0), "mean": np.zeros(2), "cov": np.eye(2), "size": None, "method": "svd"},
    ),
}  # fmt: skip


def defined() -> str:
    made = name()
    library.define(made, "(Tensor x) -> Tensor")
    return made


def saved_profiles() -> str:
    testing.save_op_profiles({}, "profiles2.txt")
    return "profiles2.txt"


def of_grad() -> dict[str, Any]:
    x = tracked()
    return {
        "outputs": f(x), "inputs": x, "grad_outputs": None, "retain_graph": None, "create_graph": False, "allow_unused": False,
        "materialize": False,
    }  # fmt: skip


def of_graph(method: str, *names: str) -> tuple[Any, dict[str, Any]]:
    made = graph()
    made.call(made.nodes[-1].op, made.nodes[-1].args, A) if method == "erase_node" else None
    return getattr(made, method), dict.fromkeys(names, made.nodes[-1])


def split(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments as a call gives them: by name, save for those that come before one that can only be by position."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}
    kinds = {n: p.kind for n, p in parameters.items()}
    only = [
        n.startswith("*") or kinds.get(n, inspect.Parameter.KEYWORD_ONLY) is inspect.Parameter.POSITIONAL_ONLY for n in arguments
    ]
    last = max((i for i, one in enumerate(only) if one), default=-1)
    values = list(arguments.items())
    return [value for _, value in values[: last + 1]], dict(values[last + 1 :])


class Outcome(NamedTuple):
    """What came of a call: `accepted`, `said` with the exception, or `late` with it."""

    what: str
    error: BaseException | None = None


def outcome(face: Face, args: list[Any], keywords: dict[str, Any]) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            result = face.function(*args, **keywords)
        except Exception as error:
            return Outcome("said", error)
        try:
            face.then(result)
        except Exception as error:
            return Outcome("late", error)
    return Outcome("accepted")


def with_value(title: str, parameter: str, value: str) -> Outcome:
    face = FACES[title]()
    return outcome(face, *split(face.function, {**face.arguments, parameter: VALUES[value]()}))


def misspelt(word: str) -> list[str]:
    """A name with a letter left out, and with its last two swapped."""
    short, last = word[:-2], word[-2:]
    return [wrong for wrong in (short + last[-1:], short + last[::-1]) if len(word) > 3 and wrong != word]


SISTERS = {"axis": 0, "device_type": "cpu", "keepdims": True, "in_dim": 0, "like": None, "nam": "x"}


def wrong_shapes(title: str) -> Iterator[str]:
    """What may be wrong with the number and the names of a call's arguments."""
    parameters = list(FACES[title]().arguments)
    for parameter in parameters:
        yield f"without {parameter}"
        if not parameter.startswith("*"):
            yield from (f"{parameter} as {wrong}" for wrong in misspelt(parameter))
    yield "one too many"
    yield from (f"beside {sister}" for sister in SISTERS if sister not in parameters)


def with_shape(title: str, wrong: str) -> Outcome:
    """What came of a call that is wrong so."""
    face = FACES[title]()
    arguments, extra = dict(face.arguments), {}
    if wrong == "one too many":
        return outcome(face, [*arguments.values(), 0], {})
    if wrong.startswith("without "):
        del arguments[wrong.partition(" ")[2]]
    elif wrong.startswith("beside "):
        word = wrong.partition(" ")[2]
        extra = {word: SISTERS[word]}
    else:
        parameter, _, word = wrong.partition(" as ")
        extra = {word: arguments.pop(parameter)}
    args, keywords = split(face.function, arguments)
    return outcome(face, args, {**keywords, **extra})


PYTHONS = re.compile(
    r"object is not (callable|iterable|subscriptable)|has no attribute|unhashable|not subscriptable|unexpected keyword argument"
    r"|required (positional|keyword-only) argument|takes \d+ positional|positional arguments? but|cannot be interpreted|not supported between"
    r"|unsupported operand|expected (str|bytes|string)|must be (str|a string|real number|an? \w+, not)|has no len|invalid literal|0x[0-9a-f]{6}"
)
INNER = re.compile(r"(?<![\w'])_[a-z]\w+\b(?!_)|dispatch\.(core|dispatcher|operators|layers|schema|graph|compiler|numpy_ops|autodiff|symbolic)\b|NoneType|object at")


# What a parameter is, where a message names that.
IS = {
    "actual": "array", "additional_decorators": "decorator", "data": "array", "excluded": "argument", "expected": "array",
    "fixed": "array", "grad_outputs": "gradient", "grad_tensors": "gradient", "gradient": "gradient", "inputs": "differentiate|inputs",
    "node": "node", "ns": "namespace", "outputs": "outputs", "testcase": "class", "text": "operator|line", "failures_dict_path": "file",
    "argnums": "argument", "args": "sample|argument", "backend": "backend", "cls": "class|opaque type", "cls_or_mode": "class|mode",
    "below": "key", "device": "device", "device_type": "device", "device_types": "device", "dispatch_key": "key", "f": "function|ufunc|class",
    "file": "file|path", "fn": "function|kernel|backend|hint", "func": "function|kernel|rule", "keys": "key", "key": "key",
    "keyword": "keyword", "kind": "kind", "name": "name", "op": "operator|::", "op_name": "operator", "qualname": "operator|name",
    "rule": "rule", "schema": "schema|inferred", "signature": "signature", "tags": "Tag", "tensors": "tensor|value", "types": "key|device",
}  # fmt: skip


def raised_by_user(error: BaseException) -> bool:
    """Whether it came up in a function that was given, which Python explains by its line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename == __file__ and trace.tb_frame.f_code.co_name != "outcome"


def fault(title: str, parameter: str, value: str | None, error: BaseException) -> str:
    """What is wrong with a refusal; empty where nothing is."""
    message = str(error)
    if not isinstance(error, DispatchError):
        return "" if raised_by_user(error) else "not ours"
    if PYTHONS.search(message):
        return "Python's words"
    if INNER.search(message):
        return "inner name"
    named = title.rpartition(".")[2].partition("(")[0].partition("'")[0]
    word = parameter.lstrip("*")
    if not re.search(f"{re.escape(named)}|{word}|wrongargs::|{IS.get(word, word)}", message):
        return "names neither"
    if value is not None and re.search(r"\band was given|given as", message) and not re.search(CALLED[value], message):
        return "does not say what it got"
    return ""
