"""Values that do what they like while they are looked at: a call raises, or returns, and the process goes on.

What crashed once is run in a process of its own.
"""

import re
import textwrap

import numpy as np
import pytest
from children import ROOT, ended
from making import made

import dispatch
from dispatch.core import DispatchKey, Level, Tensor, bound, run_at, seen_through, split, unwrap, wrap
from dispatch.core.program import Program, Slot
from dispatch.errors import AliasError, ArgumentError, DispatchError, EscapedValueError

A = np.arange(6.0)
START = """
import fractions, functools, gc
import numpy as np
import dispatch
from dispatch import core
from dispatch.core import DispatchKey
from dispatch.core.program import Program, Slot
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.arange(6.0)

def made(text, kernel=None):
    op = build(Schema.parse(text, name="hostile::op"))
    if kernel is not None:
        op.register_at(DispatchKey.CPU, kernel)
    return op

def cyclic():
    x = []
    x.append(x)
    return x

def deep(n=200_000):
    x = [1.0]
    for _ in range(n):
        x = [x]
    return x

def raised(call, *errors):
    try:
        call()
    except errors as error:
        return print("raised", type(error).__name__)
    raise SystemExit("nothing was raised")
"""

NUMPY = np.lib.NumpyVersion(np.__version__)


def survives(text):
    """Run a text in a process of its own, which must come to its end."""
    code = START + textwrap.dedent(text) + "\nprint('the end')\n"
    done = ended(code)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.endswith("the end\n")


# -- containers ------------------------------------------------------------------------------------------------------------

WALKS = {
    "compile": "dispatch.compile(lambda x: A)({x})",
    "make_fx": "dispatch.make_fx(lambda y: (made('(Tensor y, Any x) -> Tensor', lambda y, x: y + 1)(y, {x})))(A)",
    "a residual": "made('(Residual r) -> ()', lambda r: None)({x})",
    "redispatch": "made('(Any x) -> ()', lambda x: None).redispatch(DispatchKey.AUTOGRAD, {x})",
    "unwrap": "core.unwrap({x}, 5)",
    "split": "core.split(({x},))",
    "seen_through": "core.seen_through({x}, 1)",
    "the arguments of a program": "Program(1, (None,), [], [(made('(Any x) -> ()').whole, ({x},), -1, (), None, (), (), None, None)], None, str)",
    "the outputs of a program": "Program(0, (), [], [], {x}, str)",
}


@pytest.mark.parametrize("container", ["cyclic()", "deep()"])
@pytest.mark.parametrize("walk", WALKS)
def test_a_container_without_an_end_raises_recursion_error_wherever_it_is_walked(walk, container):
    survives(f"x = {container}\nraised(lambda: {WALKS[walk].format(x='x')}, RecursionError)")


KEPT = {
    "save_for_backward": ("setup_context=lambda ctx, inputs, output: ctx.save_for_backward(dict(x={x}))", "np.sum(op(y))"),
    "an attribute of ctx": ("setup_context=lambda ctx, inputs, output: setattr(ctx, 'x', {x})", "np.sum(op(y))"),
    "an output of any type": ("", "np.sum(returned(y)[0])"),
}


@pytest.mark.parametrize("container", ["cyclic()", "deep()"])
@pytest.mark.parametrize("place", KEPT)
def test_a_container_without_an_end_is_no_end_of_a_tape(place, container):
    setup, call = (text.format(x="x") for text in KEPT[place])
    survives(f"""
        x = {container}
        x.append(np.ones(3))
        op, returned = made("(Tensor y) -> Tensor", lambda y: y * 2), made("(Tensor y) -> (Tensor, Any)", lambda y: (y * 2, x))
        for each in (op, returned):
            dispatch.library.register_autograd(each, lambda ctx, *g: g[0], {setup})
        raised(lambda: dispatch.grad(lambda y: {call})(np.ones(3)), RecursionError)
    """)


def test_recursion_error_names_what_was_walked():
    x = []
    x.append(x)
    for walk in (lambda: unwrap(x, 5), lambda: split((x,)), lambda: seen_through(x, 1)):
        with pytest.raises(RecursionError, match="looking for arrays in a container, which holds itself or is nested too"):
            walk()


LYING = """
class L(list):
    def __len__(self): return 1_000_000
    def __iter__(self): return iter([A] * 5)
    def __getitem__(self, i): raise SystemError("asked")
class T(tuple):
    def __len__(self): return 1_000_000
    def __iter__(self): return iter([A] * 5)
    def __getitem__(self, i): raise SystemError("asked")
"""


@pytest.mark.parametrize("kind", ["L", "T"])
@pytest.mark.parametrize(
    "call",
    [
        "assert made('(Any x) -> Tensor', lambda x: A)(K([A + 1])).sum() == 15",
        "assert made('(Tensor[] x) -> Tensor', lambda x: A)(K([A + 1])).sum() == 15",
        "assert made('((Tensor, int) x) -> Tensor', lambda x: A)(K([A + 1, 2])).sum() == 15 if K is T else True",
        "made('() -> Tensor[]', lambda: K([A, A + 1]))()",
        "made('() -> (Tensor, Tensor)', lambda: K([A, A + 1]))()",
        "made('() -> (Tensor, Residual)', lambda: K([A, A + 1]))()",
        "made('() -> (Tensor, Tensor, Residual)', lambda: K([A, A + 1, A]))()",
        "made('(Residual x) -> ()', lambda x: None)(K([A]))",
        "raised(lambda: made('() -> (Tensor, Tensor)', lambda: K([A]))(), TypeError)",
    ],
)
def test_a_list_or_tuple_is_read_as_it_is_and_not_as_its_class_says(kind, call):
    survives(LYING + f"K = {kind}\n{call}")


@pytest.mark.parametrize("text", ["int[]", "Tensor[]", "float[]", "fractions.Fraction[]"])
def test_a_list_may_be_changed_by_an_item_while_it_is_checked(text):
    survives(f"""
    class Item:
        @property
        def __class__(self):
            if items:
                items.clear()
                gc.collect()
            return float
    items = [Item() for _ in range(100)]
    op = made("({text} x) -> ()", lambda x: None)
    raised(lambda: op(items), TypeError, RuntimeError)
    """)


def test_a_list_may_be_changed_by_an_item_while_the_output_is_checked():
    survives("""
    class Sub(np.ndarray):
        def __array_function__(self, function, types, args, keywords):
            items.clear()
            gc.collect()
            return False
    items = [A.view(Sub) for _ in range(100)]
    op = made("(Any x) -> Tensor", lambda x: A[1:])
    raised(lambda: op(items), dispatch.errors.AliasError)
    """)


# -- checks that raise -----------------------------------------------------------------------------------------------------


def classes_that_raise(error):
    class Instance:
        @property
        def __class__(self):
            raise error

    class Array(np.ndarray):
        @property
        def dtype(self):
            raise error

        @property
        def flags(self):
            raise error

    return Instance(), Array((2,))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("mine"), SystemExit(3), RecursionError("mine")])
@pytest.mark.parametrize("call", [lambda op, x: op(x), lambda op, x: op(x=x), lambda op, x: op.whole(x), lambda op, x: bound(op, (x,), {})])
def test_what_a_check_raises_is_raised_by_the_call(error, call):
    instance, _ = classes_that_raise(error)
    for text in ("int", "float", "bool", "Scalar", "complex", "fractions.Fraction", "int[]", "int?", "Dict(str, int)", "(int, int)"):
        value = {"int[]": [instance], "Dict(str, int)": {"a": instance}, "(int, int)": (1, instance)}.get(text, instance)
        op = made(f"({text} x) -> ()", lambda x: None)
        if call(made("(Any x) -> ()", lambda x: None), instance) is not None:  # bound: it does not check
            continue
        with pytest.raises(type(error)) as caught:
            call(op, value)
        assert caught.value is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("mine")])
def test_what_a_check_of_an_array_or_an_output_raises_is_raised_by_the_call(error):
    instance, array = classes_that_raise(error)
    for call in (
        lambda: made("(Tensor(a!) x) -> ()", lambda x: None)(array),
        lambda: made("() -> fractions.Fraction", lambda: instance)(),
        lambda: made("() -> (float, fractions.Fraction)", lambda: (1.0, instance))(),
        lambda: made("() -> fractions.Fraction[]", lambda: [instance])(),
    ):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error


def test_an_object_of_a_class_without_a_hash_is_no_array():
    class Meta(type):
        __hash__ = None

    class Odd(metaclass=Meta):
        pass

    for text in ("Tensor", "Tensor[]", "Tensor?", "int", "float[]"):
        with pytest.raises(ArgumentError):
            made(f"({text} x) -> ()", lambda x: None)([Odd()] if "[]" in text else Odd())
    assert made("(Any x) -> ()", lambda x: None)([Odd()]) is None


# -- kernels ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        "functools.partial(op)",
        "op.__call__",
        "functools.partial(functools.partial(op))",
        pytest.param(
            "np.frompyfunc(op, 1, 1)",
            marks=pytest.mark.skipif(NUMPY < "2.1.0", reason="NumPy 2.0 runs out of stack by itself when such a ufunc calls itself"),
        ),
        "op",
        "op.whole",
    ],
)
def test_a_kernel_that_calls_its_operator_again_ends_in_a_recursion_error(kernel):
    survives(f"""
    op = made("(Any x) -> Any")
    op.register_at(DispatchKey.CPU, {kernel})
    raised(lambda: op(1), RecursionError)
    raised(lambda: op(x=1), RecursionError)
    """)


def test_asking_for_a_kernel_again_does_not_free_the_one_in_its_slot():
    survives("""
    class Kernel:
        def __call__(self, x):
            return x + 1
        def __del__(self):
            for _ in range(3):
                op(A)
    class Layer:
        key = DispatchKey.CPU
        def check(self, op, rule): pass
        def lower(self, op, rule): return Kernel()
        def default(self, op): return Kernel()
    op = made("(Tensor x) -> Tensor")
    around = core.Registration(core.table.AROUND if hasattr(core.table, "AROUND") else 67, lambda op, key, kernel: Kernel())
    op.table.add(around)
    for _ in range(10):
        op.at(DispatchKey.CPU)
        op(A)
        op.table.reset()
    del op
    """)


def test_a_slot_is_filled_once():
    op = made("(Tensor x) -> Tensor", np.negative)
    op.table.add(dispatch.core.Registration(67, lambda op, key, kernel: lambda x: kernel()(x)))
    assert op.at(DispatchKey.CPU) is op.at(DispatchKey.CPU)


# -- aliases ---------------------------------------------------------------------------------------------------------------

VIEWS = {
    "a window": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2),
    "of a memoryview": lambda x: np.asarray(memoryview(x)),
    "of the buffer": lambda x: np.frombuffer(x.data, x.dtype),
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)),
    "backwards": lambda x: x[::-1],
    "a subclass": lambda x: x.view(np.recarray),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_an_argument_is_an_alias_whoever_owns_the_memory(view):
    for given in (A.copy(), A.copy()[1:], np.frombuffer(bytearray(48)), VIEWS["a window"](A.copy())[0]):
        with pytest.raises(AliasError, match="a view of its input 'x'"):
            made("(Tensor x) -> Tensor", VIEWS[view])(given)
        with pytest.raises(AliasError, match="a view of its input 'x'"):
            made("(Tensor[] x) -> Tensor", lambda x: VIEWS[view](x[0]))([given])


def test_disjoint_parts_of_one_buffer_are_no_aliases():
    owners = [np.arange(8.0), np.frombuffer(bytearray(64))]
    for owner in owners:
        out = made("(Tensor x) -> Tensor", lambda x, owner=owner: owner[4:])(owner[:4])
        assert np.shares_memory(out, owner)
        assert made("(Tensor x) -> Tensor", lambda x, owner=owner: owner[1::2])(owner[::2]).shape == (4,)  # interleaved
        assert made("(Tensor x) -> Tensor", lambda x, owner=owner: owner[:0])(owner).size == 0


# -- what only looks like a value of ours ------------------------------------------------------------------------------------


def test_a_wrapper_is_made_of_a_class_of_wrappers():
    with Level("t") as level:
        for cls in (int, np.ndarray, Level):
            with pytest.raises(TypeError, match="is no class of wrappers"):
                wrap(cls, A, level)
        for cls in (None, 3, "Tensor"):
            with pytest.raises(TypeError):
                wrap(cls, A, level)


def test_a_wrapper_that_wrap_has_not_made_is_taken_by_no_call():
    with pytest.raises(EscapedValueError, match=r"no transform \(made by __new__, and not by core.wrap\)"):
        made("(Tensor x) -> Tensor", np.negative)(Tensor.__new__(Tensor))


@pytest.mark.parametrize("args", [(), (A,), (A, A, A)])
def test_running_a_kernel_takes_every_argument(args):
    op = made("(Tensor x, Tensor y) -> Tensor", np.add)
    for kernel in (None, np.add):
        with pytest.raises(DispatchError):
            run_at(op, 0, args, kernel)


CALL = (made("(Tensor x) -> Tensor", np.negative).whole, (Slot(0),), 1, (), None, (), (), None, None)


@pytest.mark.parametrize(
    ("slots", "inputs", "constants", "call", "outputs"),
    [
        (1, (None, None), [], CALL, None),
        (2, (None,), [], (CALL[0], (Slot(7),), *CALL[2:]), None),
        (2, (None,), [], (CALL[0], (Slot(1),), *CALL[2:]), None),
        (2, (None,), [], (CALL[0], ([Slot(1)],), *CALL[2:]), None),
        (2, (None,), [], (*CALL[:2], 2, *CALL[3:]), None),
        (2, (None,), [], (*CALL[:2], 0, *CALL[3:]), None),
        (2, (None,), [], (*CALL[:6], (1,), None, None), None),
        (2, (None,), [], (*CALL[:6], (0, 0), None, None), None),
        (2, (None,), [], (*CALL[:5], (0,), (), None, None), None),
        (2, (None,), [(0, A, False)], CALL, None),
        (2, (None,), [(-1, A, False)], CALL, None),
        (2, (None,), [(9, A, True)], CALL, None),
        (2, (None,), [], CALL, [Slot(5)]),
        (2, (None,), [], (*CALL[:6], (0,), None, None), Slot(0)),
        (2, (None,), [], (None, (3, 0), *CALL[2:]), None),
    ],
)
def test_a_program_that_reads_what_is_not_there_is_not_made(slots, inputs, constants, call, outputs):
    with pytest.raises(ValueError, match=r"slot|is taken of|may write to"):
        Program(slots, inputs, constants, [call], outputs, str)


def test_a_program_is_made_whole_or_not_at_all():
    survives("raised(lambda: Program.__new__(Program)(), TypeError)\nraised(lambda: Slot.__new__(Slot), TypeError)")
    with pytest.raises(ValueError, match="a slot has a number from 0 up"):
        Slot(-1)


def test_nothing_a_check_was_made_of_can_be_changed():
    check = made("(Tensor[] x) -> Tensor").arguments.checks[0]
    with pytest.raises(TypeError):
        type(check).__new__(type(check))
    check.__init__("int")
    assert check([A])


# -- methods ---------------------------------------------------------------------------------------------------------------


def test_a_method_called_on_its_class_refuses_what_is_no_instance():
    sources = sorted((ROOT / "dispatch").rglob("*.pyx"))
    modules = [".".join(source.relative_to(ROOT).with_suffix("").parts) for source in sources]
    written = sum(len(re.findall(r"^cdef class ", source.read_text(), re.MULTILINE)) for source in sources)
    assert written > 50
    survives(f"""
    import importlib, sys

    def refused(call, *args, **keywords):
        try:
            call(*args, **keywords)
        except TypeError:
            return
        raise SystemExit(f"no TypeError of {{args}}")

    classes = []
    for name in {modules}:
        found = vars(importlib.import_module(name)).values()
        classes += [x for x in found if isinstance(x, type) and x.__module__ == name and not x.__flags__ & 1 << 9]  # not of Python
    assert len(classes) == {written}
    for cls in classes:
        several = None, A, 3.5, object(), object, made("() -> ()"), DispatchKey.CPU, Slot(0), dispatch.tensor(1.0, requires_grad=True)
        strangers = [x for x in several if not isinstance(x, cls)]
        for name, member in vars(cls).items():
            print(cls.__module__, cls.__name__, name, file=sys.stderr, flush=True)  # what a crash leaves
            if name == "__new__":
                for x in strangers:
                    refused(member, x)
            elif callable(member):
                refused(member)
                for x in strangers:
                    for count in range(6):
                        refused(member, x, *[None] * count)
                    refused(member, x, key=None)
            elif hasattr(type(member), "__set__"):
                for x in strangers:
                    refused(member.__get__, x)
                    refused(member.__set__, x, None)
                    refused(member.__delete__, x)
    """)
