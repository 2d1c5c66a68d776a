"""TestCustomOp, schemas and how they are inferred: what has one, what has none, and what is said."""

import collections.abc
import copy
import itertools
import numbers
import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from making import said

from dispatch import Schema, Tag, custom_op, infer_schema, make_fx, vmap
from dispatch.errors import (
    AliasError,
    ArgumentError,
    BatchingError,
    DefinitionError,
    HintError,
    OutputError,
    SchemaError,
)
from dispatch.library import register_opaque_type
from dispatch.schema.types import ListOf, OptionalOf

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray
ListOfArrays = list[np.ndarray]
counts = itertools.count()


def types_of(text):
    return [a.type for a in Schema.parse(f"ns::f({text}) -> ()").arguments]


# -- which schemas there are -----------------------------------------------------------------------------------------------


def test_functionalize_error(lib, ops):
    """Where the results of calls are put together, an operator that writes to what the calls share is refused by name.

    Differs: functional forms
    """
    lib.define("foo(Tensor(a!) x, Tensor y) -> Tensor(a!)", tags=Tag.inplace)
    lib.impl("foo", lambda x, y: np.add(x, y, out=x), "CompositeExplicitAutograd")
    lib.define("bar(Tensor(a) x) -> Tensor(a)")
    lib.impl("bar", lambda x: x.reshape(-1), "CompositeExplicitAutograd")
    with pytest.raises(BatchingError, match=f"^{ops.foo.name}:? .*(writes to x|'x' is written), and "):
        vmap(ops.foo, in_dims=(None, 0))(np.ones(3), np.ones((2, 3)))
    assert vmap(ops.bar)(np.ones((2, 3, 4))).shape == (2, 12)


@pytest.mark.parametrize(
    "text", ["(", "()", "() ->", "Tensor x -> Tensor", "(Tensor x) -> Tensor)", "(Tensor x Tensor y) -> ()"]
)
def test_invalid_schemas(text, ns):
    """A text that is no schema is refused with the place where it stops making sense."""
    message = said(lambda: custom_op(f"{ns}::foo", lambda x: x, mutates_args=(), schema=text), SchemaError)
    assert message.startswith(f"{ns}::foo: ")
    assert message.endswith("^")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("foo", "'foo' does not name an operator. Write 'namespace::name', e.g. 'mylib::scale'."),
        ("a::b::c", "'a::b::c' does not name an operator. Write 'namespace::name', e.g. 'mylib::scale'."),
        ("a::b.c.d", "'c.d' cannot name an overload: a name is letters, digits and '_', and starts with no digit."),
        ("a::1b", "'1b' cannot name an operator: a name is letters, digits and '_', and starts with no digit."),
        ("a::b.default", "an overload cannot be named 'default': that is the one without a name. Leave it out."),
        ("a::b.__c", "'__c' begins with '__', which Python keeps for itself. Take another name."),
    ],
)
def test_invalid_qualname(name, message):
    """A name is ns::name, and what is none is refused with a line that says how one is written.

    Adapted: the entry is of torch's old interface; as in torch.library, custom_op takes the name of an overload,
    ns::name.overload.
    """
    assert said(lambda: custom_op(name, lambda: None, mutates_args=(), schema="() -> ()"), SchemaError) == message


def test_name_must_match(ns):
    """The operator has the name it is given, and keeps the function's own beside it.

    Adapted: the entry is of torch's old interface; as in torch.library, the function's name is free; it is the `__name__`
    of the operator.
    """

    @custom_op(f"{ns}::foo", mutates_args=())
    def baz(x: Array) -> Array:
        return x.copy()

    assert (baz.name, baz.__name__) == (f"{ns}::foo", "baz")
    assert np.array_equal(baz(X), X)


def test_unsupported_schemas(ns):
    """A kernel that does not keep to its schema is refused at the call.

    Adapted: the entry is of torch's old interface; as in torch.library, writes, views, operators without a result and an
    argument named self are as good.
    """

    def op(schema, kernel, mutates_args=()):
        return custom_op(f"{ns}::foo{next(counts)}", kernel, mutates_args=mutates_args, schema=schema)

    written = X.copy()
    out = op("(Tensor(a!) x) -> Tensor(a!)", lambda x: np.sin(x, out=x), ("x",))(written)
    assert out is written
    assert np.array_equal(written, np.sin(X))
    assert np.shares_memory(op("(Tensor(a) x) -> Tensor(a)", lambda x: x[1:])(X), X)
    assert op("(Tensor x) -> ()", lambda x: None)(X) is None
    assert op("(Tensor self) -> ()", lambda self: None)(self=X) is None
    with pytest.raises(AliasError, match="returned a view of its input 'x'"):
        op("(Tensor x) -> Tensor", lambda x: x[1:])(X)
    with pytest.raises(OutputError, match=r"its schema says -> \(\)\. Return None"):
        op("(Tensor x) -> ()", lambda x: x + 1)(X)
    with pytest.raises(SchemaError, match="no argument is in the alias set 'b' before the call"):
        op("(Tensor(a) x) -> Tensor(b)", lambda x: x[1:])


@pytest.mark.parametrize(
    ("schema", "function", "message"),
    [
        ("(Tensor y) -> Tensor", lambda x: x, "argument 1 is 'y' in the schema and 'x' in the function"),
        (
            "(Tensor x, *, Tensor y) -> Tensor",
            lambda x, y: x,
            "'y' is keyword-only in the schema and by position or keyword in the function",
        ),
        (
            "(Tensor x, *, Tensor w, Tensor z) -> Tensor",
            lambda x, *, y, z: x,
            "argument 2 is 'w' in the schema and 'y' in the function",
        ),
        (
            "(Tensor x, *, Tensor z, Tensor y) -> Tensor",
            lambda x, *, y, z: x,
            "argument 2 is 'z' in the schema and 'y' in the function",
        ),
        ("(Tensor x) -> Tensor", lambda *args: args, "argument 1 is 'x' in the schema and 'args' in the function"),
        (
            "(*, Tensor z, Tensor y) -> Tensor",
            lambda **kwargs: kwargs,
            "argument 1 is 'z' in the schema and 'kwargs' in the function",
        ),
        (
            "(Tensor x, *, Tensor y) -> Tensor",
            lambda x=1, *, y: x,
            "'x' has a default in the function and none in the schema",
        ),
        (
            "(Tensor x, *, Tensor y) -> Tensor",
            lambda x, *, y=1: x,
            "'y' has a default in the function and none in the schema",
        ),
    ],
)
def test_schema_matches_signature(schema, function, message, ns):
    """A schema that is given has the function's parameters: names, order, kinds and defaults."""
    text = said(lambda: custom_op(f"{ns}::foo", function, mutates_args=(), schema=schema), DefinitionError)
    assert text.startswith(f"{ns}::foo: {message}.\n  schema:   {schema}\n  function: (")
    custom_op(f"{ns}::works", lambda x, *, y: x, mutates_args=(), schema="(Tensor x, *, Tensor y) -> Tensor")


SUPPORTED_SCHEMAS = (
    "(Tensor x) -> Tensor",
    "(Tensor x) -> Tensor y",
    "(Tensor[] x) -> Tensor y",
    "(Tensor x) -> (Tensor, Tensor)",
    "(Tensor x) -> (Tensor y, Tensor z)",
    "(Tensor x, Tensor w) -> (Tensor y, Tensor z)",
    "(Tensor x, Tensor w) -> Tensor",
    "(Tensor? x, Tensor[] w) -> Tensor",
    "(Tensor x, int[] w) -> Tensor",
    "(Tensor x, Scalar w) -> Tensor",
    "(Tensor x, float? w) -> Tensor",
    "(Tensor x, bool[] w) -> Tensor",
)


@pytest.mark.parametrize("text", SUPPORTED_SCHEMAS)
def test_supported_schemas(text, lib, ops):
    """What a library defines with a schema has that schema, and its text reads back as the same."""
    lib.define(f"foo{text}")
    assert ops.foo.schema.signature == text
    assert Schema.parse(str(ops.foo.schema)) == ops.foo.schema


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(Tensor x) -> Tensor", True),
        ("(Tensor(a) x) -> Tensor", True),
        ("(Tensor(a!) x) -> Tensor", False),
        ("(Tensor(a) x) -> Tensor(a)", False),
        ("(Tensor x) -> ()", False),
    ],
)
def test_is_functional_schema(text, expected):
    """A schema is functional if nothing is written and every result is fresh, and there is one: what returns nothing does something
    else.
    """
    assert Schema.parse(text, name="ns::foo").is_functional is expected


class Handle:
    """What a schema names by its class."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(Tensor a) -> asdfasdf", "there is no type 'asdfasdf'. Types: Tensor, int, "),
        ("(asdf a) -> Tensor", "there is no type 'asdf'. Types: Tensor, int, "),
        ("(int64_t a) -> Tensor", "there is no type 'int64_t'. Write int."),
        ("(double a) -> Tensor", "there is no type 'double'. Write float."),
        ("(PyObject a) -> Tensor", "there is no type 'PyObject'. Types: Tensor, int, "),
        ("(no.such.Class a) -> Tensor", "the class no.such.Class is not known. Import its module, or register_opaque_type it."),
    ],
)
def test_incorrect_schema_types(text, message, lib, ops, ns):
    """A type that is none is refused with the one to write instead; a class of a user's is a type once it is registered.
    `SymInt` is one, and is printed as `int`.
    """
    assert str(Schema.parse("ns::f(SymInt a, SymInt[2]? b=None) -> Tensor")) == "ns::f(int a, int[2]? b=None) -> Tensor"
    assert said(lambda: lib.define(f"foo12{text}"), SchemaError).startswith(f"{ns}::foo12: {message}")
    register_opaque_type(Handle)
    lib.define(f"foo12({Handle.__module__}.Handle a) -> Tensor")
    lib.impl("foo12", lambda a: X + 1, "CompositeExplicit")
    assert np.array_equal(ops.foo12(Handle()), X + 1)
    with pytest.raises(ArgumentError, match=r"argument 'a' is .*Handle, and was given an int"):
        ops.foo12(3)


def test_is_tensorlist_like_type():
    """Lists of arrays are told from arrays and from other lists, whatever of them may be None."""

    def inside(kind):
        return kind.element if isinstance(kind, OptionalOf) else kind

    lists = types_of("Tensor[] a, Tensor?[] b, Tensor[]? c, Tensor?[]? d")
    others = types_of("Tensor a, int[] b, Tensor? c, int[]? d")
    for kind in lists:
        assert isinstance(inside(kind), ListOf)
        assert kind.has_tensor
    for kind in others:
        assert not (isinstance(inside(kind), ListOf) and kind.has_tensor)


def test_list_scalar_type(lib, ops):
    """A list of dtypes reaches the kernel as it was given."""
    received = []
    lib.define("scalar_list(Tensor x, ScalarType[] dts) -> Tensor")
    lib.impl("scalar_list", lambda x, dts: (received.extend(dts), x.copy())[1], "CPU")
    ops.scalar_list(X, [np.float32, np.dtype("i8"), "f2"])
    assert received == [np.float32, np.dtype("i8"), "f2"]
    with pytest.raises(ArgumentError, match=r"argument 'dts' is ScalarType\[\], .* Item 1 is a str"):
        ops.scalar_list(X, [np.float32, "no dtype"])


# -- which hints have a type -----------------------------------------------------------------------------------------------


def test_infer_schema_no_return(ns):
    """A function without a hint for its return is refused by name, with a hint to write."""

    def foo(x: Array, y: int):
        return x * y

    message = said(lambda: custom_op(f"{ns}::foo", foo, mutates_args={}), HintError)
    assert message.startswith(f"{ns}::foo: the return has no type hint. Hints allowed: np.ndarray, int, ")
    assert "e.g. `-> np.ndarray`." in message


INT32 = np.dtype("i4")


def one(x: Array) -> Array: ...
def kwonly1(x: Array, *, y: int, z: float) -> Array: ...
def kwonly2(*, y: Array) -> Array: ...
def numbers_and_others(
    x: Array, y: int, z: bool, a: float, b: np.dtype, device: str, d: numbers.Number
) -> tuple[Array, int, float, bool]: ...
def lists(x: Array, y: Sequence[Array], z: Array | None, w: Sequence[Array | None]) -> list[Array]: ...
def nested(x: Array) -> tuple[list[Array], Array]: ...
def nothing_in() -> Array: ...
def no_result(x: Array) -> None: ...
def write(x: Array, y: list[Array], z: list[Array], w: list[Array | None]) -> None: ...
def defaults(
    x: Array,
    a: int | None = None,
    b: float = 3.14,
    c: bool = True,
    d: int = 3,
    e: str = "foo",
    f: np.dtype = float,
    g: np.dtype = np.float32,
    h: np.dtype = INT32,
    device: str = "cpu",
) -> None: ...
def stringy(x: Array) -> "ListOfArrays": ...
def substringy(x: Array) -> list["Array"]: ...
def inplace(x: Array) -> Array: ...
def out(x: Array, *, out: Array) -> Array: ...


def test_infer_schema_supported():
    """The schema of a function follows from its hints, defaults, keyword-only parameters, and what it writes to.

    Adapted: a device is a string, known by the name of its parameter; a dtype is NumPy's.

    Differs: SymInt
    """

    for function, text in {
        one: "(Tensor x) -> Tensor",
        kwonly1: "(Tensor x, *, int y, float z) -> Tensor",
        kwonly2: "(*, Tensor y) -> Tensor",
        numbers_and_others: "(Tensor x, int y, bool z, float a, ScalarType b, Device device, Scalar d) -> (Tensor, int, float, bool)",
        lists: "(Tensor x, Tensor[] y, Tensor? z, Tensor?[] w) -> Tensor[]",
        nested: "(Tensor x) -> (Tensor[], Tensor)",
        nothing_in: "() -> Tensor",
        no_result: "(Tensor x) -> ()",
        write: "(Tensor x, Tensor[] y, Tensor[] z, Tensor?[] w) -> ()",
        defaults: (
            '(Tensor x, int? a=None, float b=3.14, bool c=True, int d=3, str e="foo", ScalarType f=float64, '
            'ScalarType g=float32, ScalarType h=int32, Device device="cpu") -> ()'
        ),
        stringy: "(Tensor x) -> Tensor[]",
        substringy: "(Tensor x) -> Tensor[]",
    }.items():
        assert infer_schema(function, mutates_args=()) == text
    assert infer_schema(write, mutates_args={"x", "w", "z"}) == (
        "(Tensor(a0!) x, Tensor[] y, Tensor(a2!)[] z, Tensor(a3!)?[] w) -> ()"
    )
    assert infer_schema(write, mutates_args="unknown") == (
        "(Tensor(a0!) x, Tensor(a1!)[] y, Tensor(a2!)[] z, Tensor(a3!)?[] w) -> ()"
    )
    assert infer_schema(one, op_name="myop", mutates_args={}) == "myop(Tensor x) -> Tensor"
    assert infer_schema(inplace, mutates_args={"x"}, tags=Tag.inplace) == "(Tensor(a0!) x) -> Tensor(a0!)"
    assert infer_schema(out, mutates_args={"out"}, tags=Tag.out) == "(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"


def test_generators(ns):
    """A schema's Generator is NumPy's, and so is the hint; an operator that takes one draws from it, and has the tag `random`.

    Beyond: two draws stay two in a graph, and vmap asks whether items share one, without the tag being written.
    """

    def noise(x: Array, *, generator: np.random.Generator | None = None) -> Array:
        return x + np.random.default_rng(generator).standard_normal(x.shape)

    schema = "(Tensor x, *, Generator? generator=None) -> Tensor"
    assert infer_schema(noise, mutates_args=()) == schema
    written = custom_op(f"{ns}::written", noise, mutates_args=(), schema=schema)
    for op in (written, custom_op(f"{ns}::inferred", noise, mutates_args=())):
        op.register_fake(lambda x, *, generator=None: np.empty_like(x))
        assert Tag.nondeterministic_seeded in op.tags
        expected = noise(X, generator=np.random.default_rng(3))
        assert np.array_equal(op(X, generator=np.random.default_rng(3)), expected)
        rng = np.random.default_rng(3)
        graph = make_fx(lambda x, op=op, rng=rng: op(x, generator=rng) - op(x, generator=rng))(X)
        rng.bit_generator.state = np.random.default_rng(3).bit_generator.state
        assert np.array_equal(graph(X), expected - noise(X, generator=_after_one_draw()))
        assert np.any(graph(X))
        with pytest.raises(BatchingError, match="vmap was not told whether for all items or for each"):
            vmap(lambda x, op=op, rng=rng: op(x, generator=rng))(np.stack([X, X]))
    assert said(lambda: written(X, generator=3), ArgumentError) == (
        f"{ns}::written: argument 'generator' is Generator?, and was given an int. Write np.random.default_rng(generator)."
    )
    assert said(lambda: written(X, generator=np.random.RandomState(3)), ArgumentError) == (
        f"{ns}::written: argument 'generator' is Generator?, and was given a RandomState. Write np.random.default_rng(seed)."
    )


def _after_one_draw():
    rng = np.random.default_rng(3)
    rng.standard_normal(X.shape)
    return rng


def test_infer_schema_unsupported():
    """Any number of arguments, a missing hint, a write to a number and a name that is not known are refused by parameter.

    Differs: more hints
    """

    def varargs(*args): ...
    def varkwargs(**kwargs): ...
    def bare(x): ...
    def number(x: Array, y: int) -> Array: ...
    def unknown(x: Array) -> "list[HintReader]": ...  # noqa: F821 - that is the point
    def any_length(x: Array) -> tuple[Array, ...]: ...

    def message(function, mutates_args=(), error=HintError):
        return said(lambda: infer_schema(function, mutates_args=mutates_args), error)

    assert "parameter '*args' is any number of arguments, and an operator has a fixed number" in message(varargs)
    assert "parameter '**kwargs' is any number of arguments, and an operator has a fixed number" in message(varkwargs)
    assert "parameter 'x' has no type hint. Hints allowed: np.ndarray, " in message(bare)
    assert "mutates_args names 'y', which is int. Only arrays can be written to." in message(number, {"y"}, DefinitionError)
    # dispatch.schema.hints has this name, and this file has not
    assert "No name 'HintReader' is known where the function is defined." in message(unknown)
    assert infer_schema(any_length, mutates_args=()) == "(Tensor x) -> Tensor[]"


RETURNS = [
    (Array, X), (list[Array], [X, X + 1]), (int, 17), (float, 3.14), (bool, True), (numbers.Number, 2.718), (str, "foo"),
    (complex, 2j), (np.dtype, np.dtype("f4")), (list[int], [1, 2]), (Array | None, None), (Any, {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "example"), RETURNS)
def test_supported_return_types_single_return(hint, example, ns):
    """Whatever a return may be hinted as comes back from the call as the kernel gave it."""

    def foo(x: Array):
        return example

    foo.__annotations__["return"] = hint
    op = custom_op(f"{ns}::foo", foo, mutates_args=())
    assert op(np.zeros(3)) is example


@pytest.mark.parametrize(("hint", "example"), RETURNS)
def test_supported_return_types_multi_return(hint, example, ns):
    """A tuple of such returns comes back as a tuple; two arrays are two."""

    def foo(x: Array):
        return example, other

    foo.__annotations__["return"] = tuple[hint, hint]
    other = copy.deepcopy(example)  # for one array cannot be two outputs
    op = custom_op(f"{ns}::foo", foo, mutates_args=())
    out = op(np.zeros(3))
    assert type(out) is tuple
    assert out[0] is example
    assert out[1] is other


PARAMETERS = {
    int: [17], float: [3.14, 3], bool: [True], str: ["foo"], complex: [2j, 1.5], bytes: [b"foo"], numbers.Number: [2.718, 3, True],
    np.dtype: [np.dtype("f4"), np.float32, "f4"], Array: [X, np.float64(1.0)], Callable: [np.sin], Any: [object()],
}  # fmt: skip


@pytest.mark.parametrize("form", ["{}", "{} | None", "list[{}]", "Sequence[{}]", "list[{} | None]", "list[{}] | None"])
@pytest.mark.parametrize("hint", PARAMETERS)
def test_supported_param_types(form, hint, ns):
    """A parameter of any type, optional, in a list, or in a list that may be None, reaches the kernel as it was given.

    Beyond: lists of strings, of dtypes and of what may be None, complex numbers and bytes; an int is no bool.
    """
    received = []

    def foo(x: Array, y):
        received.append(y)
        return x.copy()

    hint_of = {"{}": hint, "{} | None": hint | None, "list[{}]": list[hint], "Sequence[{}]": Sequence[hint],
               "list[{} | None]": list[hint | None], "list[{}] | None": list[hint] | None}  # fmt: skip
    foo.__annotations__.update(y=hint_of[form], **{"return": Array})
    op = custom_op(f"{ns}::foo", foo, mutates_args=())
    examples = PARAMETERS[hint]
    given = {
        "{}": examples,
        "{} | None": [*examples, None],
        "list[{} | None]": [[*examples, None], (), [None]],
        "list[{}] | None": [examples, None],
    }.get(form, [examples, tuple(examples), []])
    for example in given:
        op(X, example)
        assert received.pop() is example


def test_sequences(ns):
    """A parameter hinted as a sequence takes lists, tuples, ranges and sequences of any class, and hands them to the kernel untouched.

    Differs: sequences as given
    """

    class MySequence(collections.abc.Sequence):
        def __getitem__(self, i):
            return [1, 2, 3][i]

        def __len__(self):
            return 3

    received = []

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(x: Array, sizes: Sequence[int]) -> Array:
        received.append(sizes)
        return x.copy()

    for sizes in ([1, 2, 3], (1, 2, 3), range(1, 4), MySequence(), collections.deque([1, 2, 3])):
        foo(X, sizes)
        assert received.pop() is sizes
    for other, what in (({1, 2}, "a set"), ("12", "a str"), (b"12", "a bytes"), (collections.deque([1, "2"]), "a deque")):
        with pytest.raises(ArgumentError, match=rf"argument 'sizes' is int\[\], and was given {what}"):
            foo(X, other)


@pytest.mark.parametrize(
    ("hint", "advice"),
    [
        (list, "The nearest hint that has one: list[np.ndarray], or list[int] for numbers."),
        (tuple, "The nearest hint that has one: tuple[np.ndarray, ...], or tuple[int, ...] for numbers."),
        (dict, "The nearest hint that has one: dict[str, np.ndarray]."),
        (typing.Iterable[int], "The nearest hint that has one: "),
        (set[int], "The nearest hint that has one: list[int]."),
        (object, "The nearest hint that has one: typing.Any."),
        (range, "The nearest hint that has one: list[int]."),
        (np.float64, "The nearest hint that has one: float, or numpy.typing.NDArray[np.float64] for an array."),
    ],
)
def test_unsupported_param_types(hint, advice):
    """A hint without a schema type is refused by parameter, with the nearest that has one.

    Differs: more hints
    """

    def foo(x: Array, y) -> Array: ...

    foo.__annotations__["y"] = hint
    message = said(lambda: infer_schema(foo, mutates_args=()), HintError)
    assert message.startswith("inferred::foo: parameter 'y' has the hint ")
    assert ", which has no schema type.\n" + advice in message
    for supported, text in {
        list[int | None]: "int?[] y",
        tuple[int, int]: "int[2] y",
        tuple[int, float]: "(int, float) y",
        Callable: "Callable y",
    }.items():
        foo.__annotations__["y"] = supported
        assert infer_schema(foo, mutates_args=()) == f"(Tensor x, {text}) -> Tensor"
