"""From functions to schemas, mutates_args and tags, and an explicit schema held against a function."""

import functools
import operator
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pytest

from dispatch import custom_op
from dispatch.core import Residual
from dispatch.core.array_memory import expand
from dispatch.core.source import where
from dispatch.errors import DefinitionError, HintError
from dispatch.schema.infer import compare, infer, infer_schema
from dispatch.schema.schema import MISSING, Schema
from dispatch.schema.tags import Tag


def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


def fill(x: np.ndarray, /, y: np.ndarray, n: int = 0, *, value: float, out: np.ndarray | None = None) -> None: ...


def kept(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Residual]: ...


def named(x: "np.ndarray", mode: "str" = "full", *, device: "str | None" = None) -> "tuple[np.ndarray, np.ndarray]": ...


def many(
    xs: list[np.ndarray], axes: tuple[int, int] = (0, 1), dtype: np.dtype = np.float32
) -> list[np.ndarray]: ...


def nothing() -> None: ...


class Model:
    def step(self, x: np.ndarray, n: int = 1) -> np.ndarray: ...

    @staticmethod
    def static(x: np.ndarray) -> np.ndarray: ...

    @classmethod
    def of_class(cls, x: np.ndarray) -> np.ndarray: ...

    def __call__(self, x: "np.ndarray") -> "np.ndarray": ...


def text(fn, mutates_args=(), **more):
    return infer(fn, "ns::op", mutates_args=mutates_args, **more).signature


@pytest.mark.parametrize(
    ("fn", "signature"),
    [
        (scale, "(Tensor x, float factor=2.0) -> Tensor"),
        (fill, "(Tensor x, /, Tensor y, int n=0, *, float value, Tensor? out=None) -> ()"),
        (kept, "(Tensor a, Tensor b) -> (Tensor, Residual)"),
        (named, '(Tensor x, str mode="full", *, Device? device=None) -> (Tensor, Tensor)'),
        (many, "(Tensor[] xs, int[2] axes=[0, 1], ScalarType dtype=float32) -> Tensor[]"),
        (nothing, "() -> ()"),
        (Model().step, "(Tensor x, int n=1) -> Tensor"),
        (Model.static, "(Tensor x) -> Tensor"),
        (Model.of_class, "(Tensor x) -> Tensor"),
        (Model(), "(Tensor x) -> Tensor"),
        (staticmethod(scale), "(Tensor x, float factor=2.0) -> Tensor"),
        (functools.partial(scale, factor=3.0), "(Tensor x, *, float factor=3.0) -> Tensor"),
        (
            functools.partial(named, mode="same"),
            '(Tensor x, *, str mode="same", Device? device=None) -> (Tensor, Tensor)',
        ),
        (functools.wraps(scale)(lambda *args: None), "(Tensor x, float factor=2.0) -> Tensor"),
        (functools.lru_cache(scale), "(Tensor x, float factor=2.0) -> Tensor"),
    ],
)
def test_the_schema_of_a_function(fn, signature):
    assert text(fn) == signature
    assert str(infer(fn, "ns::op.ov", mutates_args=())) == "ns::op.ov" + signature


@pytest.mark.parametrize("fn", [scale, fill, kept, named, many, nothing])
def test_a_plain_function_and_its_wrapper_are_read_alike(fn):
    assert text(fn) == text(functools.wraps(fn)(lambda *args: None))
    assert Schema.parse(text(fn), name="ns::op") == infer(fn, "ns::op", mutates_args=())


def test_what_hints_say_about_arrays_is_kept():
    def fn(
        x: npt.NDArray[np.float64], y: Annotated[np.ndarray, "C", "writeable"], z: np.ndarray | float
    ) -> np.ndarray: ...

    x, y, z = infer(fn, "ns::op", mutates_args=()).arguments
    assert (x.dtype, x.layout, x.numbers) == (np.dtype("f8"), (), False)
    assert (y.dtype, y.layout, y.numbers) == (None, ("C", "writeable"), False)
    assert (z.dtype, z.layout, z.numbers) == (None, (), True)


LATER = """
from __future__ import annotations
from typing import Literal
import numpy as np

def make(infer):
    import dataclasses
    Local = np.ndarray
    Choice = Literal["a", "b"]
    class Method:
        Inner = float
        def step(self, x: Local, mode: Choice = "a", *, factor: Inner = 2.0) -> tuple[Local, Missing]: ...
    def fn(x: Local | None, xs: list[Local], mode: Choice = "a") -> Local: ...
    return infer(fn), lambda: infer(fn), Method().step
"""


def test_annotations_that_are_all_text_see_the_functions_around():
    scope = {"__name__": __name__}
    exec(LATER, scope)
    now, later, _ = scope["make"](text)
    assert now == "(Tensor? x, Tensor[] xs, Literal['a', 'b'] mode=\"a\") -> Tensor"
    with pytest.raises(HintError, match="No name 'Local' is known where the function is defined"):
        later()


def test_a_method_sees_the_function_around_its_class_and_not_the_class():
    scope = {"__name__": __name__}
    exec(LATER.replace("return infer(fn)", "Missing = int; return infer(Method().step)"), scope)
    with pytest.raises(HintError, match="No name 'Inner' is known"):
        scope["make"](text)


def test_an_operator_is_defined_where_its_hints_are_local():
    Local = np.ndarray

    @custom_op("infertests::local", mutates_args=())
    def doubled(x: "Local") -> "Local":
        return x * 2

    assert str(doubled.schema) == "infertests::local(Tensor x) -> Tensor"
    assert doubled(Local((2,)) * 0).tolist() == [0, 0]


# -- callables of every kind: each works, or says what to write -------------------------------------------------------------


CALLABLES = [
    (operator.matmul, "<builtin matmul> has no type hints to infer from.", "(Tensor a, Tensor b, /) -> Tensor"),
    (np.dot, "<builtin dot> has no ", "(Tensor a, Tensor b) -> Tensor"),
    (max, "<builtin max> has no signature to infer from.", "(Tensor x) -> float"),
    (np.ones(3).dot, "<builtin dot> has no ", "(Tensor b) -> Tensor"),
    (np.ndarray.copy, "copy> has no ", "(Tensor x) -> Tensor"),
    (expand, "parameter 'x' has no type hint. Hints allowed", "(Tensor(a) x, int[] shape) -> Tensor(a)?"),  # Cython
    (np.sum, "parameter 'a' has no type hint. Hints allowed", None),
    (np.vectorize(abs), "parameter '*args' is any number of arguments", None),
    (lambda x: x + 1, "parameter 'x' has no type hint, and a lambda can have none.", "(Tensor x) -> Tensor"),
    (functools.partial(lambda x, n: x * n, n=2), "parameter 'x' has no type hint, and a lambda can have none.", "(Tensor x, *, int n=2) -> Tensor"),
    (functools.partial(pow, 2.0), "<builtin pow> has no type hints to infer from.", "(Tensor exp) -> Tensor"),
]


@pytest.mark.parametrize(("fn", "message", "schema"), CALLABLES, ids=[where(fn) for fn, *_ in CALLABLES])
def test_a_callable_without_hints_says_what_to_write_and_takes_a_schema(fn, message, schema):
    with pytest.raises(HintError) as caught:
        text(fn)
    assert str(caught.value).startswith("ns::op: ")
    assert message in str(caught.value)
    assert 'rite schema="(' in str(caught.value) or 'Write the schema: schema="(Tensor x) -> Tensor"' in str(caught.value) or "*args" in message
    if schema is not None:
        op = custom_op("infertests::callable", fn, mutates_args=(), schema=schema)
        args = [np.arange(3.0) + 1] * len(op.schema.positional)
        if fn is expand:
            args[1] = (2, 3)
        assert np.array_equal(op(*args), fn(*args))


@pytest.mark.parametrize(
    "fn", [Model().step, Model.static, Model.of_class, Model(), functools.partial(Model().step, n=2), functools.wraps(scale)(lambda *a: scale(*a))]
)
def test_methods_objects_partials_and_wrappers_are_operators(fn):
    op = custom_op("infertests::bound", fn, mutates_args=())
    assert op.schema.signature == text(fn)
    assert op.__wrapped__ is fn


def test_text_hints_see_what_the_function_closes_over():
    Array = np.ndarray

    def fn(x: "Array") -> "Array":
        return Array(x)

    assert text(fn) == "(Tensor x) -> Tensor"


def test_a_default_is_the_functions_own_object():
    value = np.float64(0.5)

    def fn(x: np.ndarray, f: float = value, shape: list[int] = [1, 2]) -> np.ndarray: ...  # noqa: B006

    x, f, shape = infer(fn, "ns::op", mutates_args=()).arguments
    assert x.default is MISSING
    assert f.default is value
    assert shape.default == [1, 2]
    assert shape.default is not fn.__defaults__[1]


# --------------------------------------------------------------------------------------------------------- infer_schema
def test_infer_schema_gives_the_text():
    assert infer_schema(scale, mutates_args=()) == "(Tensor x, float factor=2.0) -> Tensor"
    assert infer_schema(scale, mutates_args=(), op_name="scale") == "scale(Tensor x, float factor=2.0) -> Tensor"
    assert infer_schema(scale, mutates_args=(), op_name="ns::scale.ov").startswith("ns::scale.ov(Tensor x")


@pytest.mark.torch
@pytest.mark.parametrize("mutates_args", [(), ("x",), "unknown"])
def test_infer_schema_is_torchs_with_int_for_symint(mutates_args):
    import torch

    def ours(x: np.ndarray, ys: list[np.ndarray], n: int = 2, f: float = 0.5, *, flag: bool = True) -> np.ndarray: ...

    def theirs(
        x: torch.Tensor, ys: list[torch.Tensor], n: int = 2, f: float = 0.5, *, flag: bool = True
    ) -> torch.Tensor: ...

    oracle = torch.library.infer_schema(theirs, mutates_args=mutates_args).replace("SymInt", "int")
    assert infer_schema(ours, mutates_args=mutates_args) == oracle


# --------------------------------------------------------------------------------------------------------- mutates_args
@pytest.mark.parametrize(
    ("mutates_args", "start"),
    [
        (("x",), "(Tensor(a0!) x, /, Tensor y"),
        (["y", "out"], "(Tensor x, /, Tensor(a1!) y, int n=0, *, float value, Tensor(a4!)? out=None)"),
        ((name for name in "xy"), "(Tensor(a0!) x, /, Tensor(a1!) y, int n=0, *, float value, Tensor? out"),
        ("unknown", "(Tensor(a0!) x, /, Tensor(a1!) y, int n=0, *, float value, Tensor(a4!)? out=None)"),
    ],
)
def test_what_is_written_is_marked(mutates_args, start):
    assert text(fill, mutates_args).startswith(start)


def test_lists_and_dictionaries_of_arrays_can_be_written():
    def fn(xs: list[np.ndarray], named: dict[str, np.ndarray | None]) -> None: ...

    assert text(fn, "unknown") == "(Tensor(a0!)[] xs, Dict(str, Tensor(a1!)?) named) -> ()"


@pytest.mark.parametrize(
    ("mutates_args", "message"),
    [
        (
            None,
            "mutates_args is None. Write the names of the arrays that are written to, mutates_args=() for none.",
        ),
        (["vaule"], "mutates_args names 'vaule', which is no parameter. Did you mean 'value'?"),
        ([0], "mutates_args names 0, which is no parameter."),
    ],
)
def test_refused_mutates_args(mutates_args, message):
    with pytest.raises(DefinitionError) as caught:
        text(fill, mutates_args)
    assert str(caught.value).startswith("ns::op: " + message)


# ----------------------------------------------------------------------------------------------------------------- tags
def test_in_place_operators_return_their_first_argument():
    def add_(x: np.ndarray, y: np.ndarray) -> np.ndarray: ...

    assert text(add_, ("x",), tags=Tag.inplace) == "(Tensor(a0!) x, Tensor y) -> Tensor(a0!)"
    assert text(add_, ("x",)) == "(Tensor(a0!) x, Tensor y) -> Tensor"


def test_out_operators_return_what_they_write():
    def split(x: np.ndarray, *, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...

    expected = "(Tensor x, *, Tensor(a1!) low, Tensor(a2!) high) -> (Tensor(a1!), Tensor(a2!))"
    assert text(split, ("low", "high"), tags=[Tag.out]) == expected


def test_views_share_the_memory_of_their_first_array():
    def halves(n: int, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]: ...

    assert text(halves, tags=(Tag.view,)) == "(int n, Tensor(a1) x, Tensor y) -> (Tensor(a1), Tensor(a1), int)"


@pytest.mark.parametrize(
    ("fn", "mutates_args", "tags", "message"),
    [
        (nothing, (), Tag.view, "Tag.view asks for a return that shares memory"),
        (scale, (), "inplace", "'inplace' is no Tag. Write Tag.inplace."),
    ],
)
def test_tags_that_the_function_does_not_bear_out(fn, mutates_args, tags, message):
    with pytest.raises(DefinitionError) as caught:
        text(fn, mutates_args, tags=tags)
    assert message in str(caught.value)


# ------------------------------------------------------------------------------------------------------------- refusals
def no_hint(x, y: int) -> int: ...


def no_return(x: np.ndarray): ...


def arguments(x: np.ndarray, *args: np.ndarray) -> None: ...


def keywords(x: np.ndarray, *args: int, y: int, **options: int) -> None: ...


def only_keywords(x: np.ndarray, **options: int) -> None: ...


def unknown(x: np.ndarray, y: set) -> None: ...


def none_default(x: np.ndarray = None) -> None: ...


def wrong_default(x: np.ndarray, n: int = 2.5) -> None: ...


def array_default(x: np.ndarray = np.zeros(3)) -> None: ...  # noqa: B008


def two_dtypes(x: tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]) -> None: ...


def early_residual(x: np.ndarray) -> tuple[Residual, np.ndarray]: ...


def returns_unknown(x: np.ndarray) -> set: ...


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (no_hint, "ns::op: parameter 'x' has no type hint. Hints allowed: np.ndarray, int, float,"),
        (no_hint, "e.g. `x: np.ndarray`."),
        (lambda x: x, "ns::op: parameter 'x' has no type hint, and a lambda can have none."),
        (functools.wraps(no_hint)(lambda *args: None), "ns::op: parameter 'x' has no type hint."),
        (no_return, "ns::op: the return has no type hint. Hints allowed: np.ndarray,"),
        (no_return, "e.g. `-> np.ndarray`."),
        (
            arguments,
            (
                "ns::op: parameter '*args' is any number of arguments, and an operator has a fixed "
                "number. Name them, or take a list of them."
            ),
        ),
        (keywords, "ns::op: parameter '*args' is any number"),
        (
            only_keywords,
            (
                "ns::op: parameter '**options' is any number of arguments, and an operator has a fixed "
                "number. Name them, or take a dict[str, ...] of them."
            ),
        ),
        (
            unknown,
            "ns::op: parameter 'y' has the hint set, which has no schema type.\nThe nearest hint that has one: list",
        ),
        (returns_unknown, "ns::op: the return has the hint set, which has no schema type."),
        (
            none_default,
            "ns::op: argument 'x': a default of None does not fit Tensor.\nWrite `x: ... | None = None` if it may be",
        ),
        (wrong_default, "ns::op: argument 'n': a default of type float does not fit int."),
        (
            array_default,
            "ns::op: argument 'x': a default of type ndarray does not fit Tensor: the default of a Tensor can ",
        ),
        (two_dtypes, "Two dtypes in one parameter"),
        (early_residual, "ns::op: Residual is the last return, or none. Write it behind the results."),
        (min, 'ns::op: <builtin min> has no signature to infer from. Write the schema: schema="(Tensor x) -> Tensor".'),
    ],
)
def test_refused_functions(fn, message):
    with pytest.raises(HintError) as caught:
        text(fn)
    assert message in str(caught.value)
    assert caught.value.operator == "ns::op"


def test_a_misspelt_name_in_a_text_hint_keeps_its_cause():
    def fn(x: "ndarray") -> None: ...  # noqa: F821

    with pytest.raises(HintError, match="No name 'ndarray' is known where the function is defined") as caught:
        text(fn)
    assert isinstance(caught.value.__cause__, NameError)


def test_a_name_that_is_none():
    with pytest.raises(DefinitionError, match=r"'scale' does not name an operator\. Write 'namespace::name'"):
        infer(scale, "scale", mutates_args=())


# -------------------------------------------------------------------------------------------------------------- compare
def check(signature, fn):
    compare(Schema.parse(signature, name="ns::op"), fn)


def by_all_means(x, /, y, n=1, *, k, flag=True): ...


@pytest.mark.parametrize(
    "fn", [scale, fill, kept, named, many, nothing, Model().step, Model(), functools.partial(scale, factor=3.0)]
)
def test_the_inferred_schema_always_fits(fn):
    check(text(fn), fn)


@pytest.mark.parametrize(
    ("signature", "fn"),
    [
        ("(Tensor x, /, Tensor y, int n=1, *, int k, bool flag=True) -> ()", by_all_means),
        ("(Tensor x) -> Tensor", np.sin),
        ("(Tensor x, Tensor y) -> Tensor", np.add),
    ],
)
def test_a_schema_that_fits(signature, fn):
    check(signature, fn)


@pytest.mark.parametrize(
    ("signature", "difference"),
    [
        ("(Tensor x, /, Tensor y, int n=1, *, int k) -> ()", "the function's 'flag' is not in the schema"),
        (
            "(Tensor x, /, Tensor y, int n=1, *, int k, bool flag=True, int z=1) -> ()",
            "the schema's 'z' is not in the function",
        ),
        (
            "(Tensor x, /, Tensor z, int n=1, *, int k, bool flag=True) -> ()",
            "argument 2 is 'z' in the schema and 'y' in the function",
        ),
        (
            "(Tensor x, Tensor y, int n=1, *, int k, bool flag=True) -> ()",
            "'x' is by position or keyword in the schema and positional-only in the function",
        ),
        (
            "(Tensor x, /, Tensor y, *, int n=1, int k, bool flag=True) -> ()",
            "'n' is keyword-only in the schema and by position or keyword in the function",
        ),
        (
            "(Tensor x, /, Tensor y, int n, *, int k, bool flag=True) -> ()",
            "'n' has a default in the function and none in the schema",
        ),
        (
            "(Tensor x, /, Tensor y, int n=1, *, int k=0, bool flag=True) -> ()",
            "'k' has a default in the schema and none in the function",
        ),
        (
            "(Tensor x, /, Tensor y, int n=2, *, int k, bool flag=True) -> ()",
            "'n' has two defaults, one in the schema and another in the function",
        ),
        (
            "(Tensor x, /, Tensor y, str n='1', *, int k, bool flag=True) -> ()",
            "'n' has two defaults, one in the schema and another in the function",
        ),
    ],
)
def test_a_schema_that_does_not_shows_both_lines(signature, difference):
    with pytest.raises(DefinitionError) as caught:
        check(signature, by_all_means)
    first, ours, theirs = str(caught.value).splitlines()
    assert first == f"ns::op: {difference}."
    assert ours == f"  schema:   {Schema.parse(signature, name='ns::op').signature}"
    line = by_all_means.__code__.co_firstlineno
    assert theirs == f"  function: (x, /, y, n=..., *, k, flag=...), test_infer.py:{line}. Make them the same."


@pytest.mark.parametrize(
    ("fn", "shown"), [(lambda *a: 0, "(*a)"), (lambda x, *a, k, **o: 0, "(x, *a, k, **o)"), (lambda x, /: 0, "(x, /)")]
)
def test_functions_of_every_kind_are_shown(fn, shown):
    with pytest.raises(DefinitionError) as caught:
        check("(Tensor x, Tensor y) -> Tensor", fn)
    assert f"  function: {shown}, test_infer.py:" in str(caught.value)


def test_any_number_of_arguments_is_no_match_for_one():
    with pytest.raises(
        DefinitionError, match="'x' is by position or keyword in the schema and any number of arguments"
    ):
        check("(Tensor x) -> Tensor", lambda *x: x)


def test_a_builtin_need_only_take_the_arguments():
    check("(Tensor x) -> int", len)
    with pytest.raises(DefinitionError, match=r"ns::op: <builtin len> cannot be called with the schema's arguments: "):
        check("(Tensor x, Tensor y) -> int", len)


def test_what_has_no_signature_at_all_is_let_through():
    check("(Tensor x) -> Tensor", min)
