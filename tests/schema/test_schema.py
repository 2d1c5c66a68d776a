"""The schema language as a whole: the round trip, the properties, and all that is refused."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from random_schemas import schemas

from dispatch.errors import SchemaError
from dispatch.schema.schema import MISSING, Argument, Return, Schema
from dispatch.schema.types import FLOAT, INT, NONE, RESIDUAL, SCALAR, STR, TENSOR, Alias, ListOf, OptionalOf

SPELLED = [
    "ns::op() -> ()",
    "ns::op(Tensor x) -> Tensor",
    "ns::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    "ns::op(Tensor x, /, Tensor y, *, int n=1) -> (Tensor, Tensor)",
    "ns::op(Tensor x, /) -> ((Tensor))",
    "ns::op(Tensor(a) x) -> Tensor(a)",
    "ns::op(Tensor(a -> *) x) -> Tensor(a)[]",
    "ns::op(Tensor(a! -> a|b) x, Tensor(b) y) -> ()",
    "ns::op(Tensor(a!)[] xs, Tensor(b!)? y, Tensor(c)?[] zs) -> Tensor?[]",
    "ns::op(int[]? a, int[2] b=3, int[2][] c=[[1, 2]], float[3] d=[0.0, inf, nan]) -> float values",
    "ns::op((Tensor, int) pair, Dict(str, Tensor[]) named, fractions.Fraction? f=None) -> ((Tensor, int)[])",
    'ns::op(str s="a\\"b\\n\\u20ac", bytes b=b"\'\\x00", complex z=1+2j, ScalarType t=float32, Device d="cpu") -> Any',
    'ns::op(ScalarType t=">f4", Scalar s=True, float f=-inf, Callable? c=None) -> (Tensor values, int)',
    "ns::op(Tensor x, Residual kept) -> (Tensor, Residual)",
]


def build(*arguments, returns=()):
    return Schema("ns", "op", "", arguments, returns)


# ----------------------------------------------------------------------------------------------------------- round trip
@given(schemas())
def test_what_is_printed_reads_back_as_the_same(schema):
    again = Schema.parse(str(schema))
    assert again == schema
    assert str(again) == str(schema)
    assert hash(again) == hash(schema)


@given(schemas())
def test_the_signature_reads_back_under_the_name(schema):
    assert Schema.parse(schema.signature, name=schema.full_name) == schema


@given(schemas())
def test_schemas_pickle_and_copy(schema):
    assert pickle.loads(pickle.dumps(schema)) == schema == copy.deepcopy(schema)


@pytest.mark.parametrize("text", SPELLED)
def test_the_canonical_text_is_a_fixed_point(text):
    assert str(Schema.parse(text)) == text


@pytest.mark.parametrize(
    ("loose", "text"),
    [
        ("  ns::op ( Tensor( a! )x,*,int n =1 )->( ) ", "ns::op(Tensor(a!) x, *, int n=1) -> ()"),
        (
            "ns::op(\n  Tensor x,\n  int[ 2 ] n = [1,2]\n) -> (Tensor y)",
            "ns::op(Tensor x, int[2] n=[1, 2]) -> Tensor y",
        ),
        ("ns::op(str s='it''s') -> ()", None),
        ("ns::op(str s='it is') -> ()", 'ns::op(str s="it is") -> ()'),
        (
            "ns::op(ScalarType t=double, complex z=2j, float f=1e-8) -> ()",
            "ns::op(ScalarType t=float64, complex z=2j, float f=1e-08) -> ()",
        ),
        ("ns::op(Tensor(b|a) x) -> Tensor(a|b)", "ns::op(Tensor(a|b) x) -> Tensor(a|b)"),
        ("ns::op(Tensor(a -> a) x) -> ()", "ns::op(Tensor(a) x) -> ()"),
    ],
)
def test_spacing_and_spelling_are_free(loose, text):
    if text is None:
        with pytest.raises(SchemaError, match="expected ',' or '\\)'"):
            Schema.parse(loose)
    else:
        assert str(Schema.parse(loose)) == text


def test_a_name_may_be_given_apart():
    assert Schema.parse("(Tensor x) -> Tensor", name="ns::op.out") == Schema.parse("ns::op.out(Tensor x) -> Tensor")


# ------------------------------------------------------------------------------------------------------------- equality
def test_nan_equals_itself_and_the_sign_of_zero_counts():
    assert Argument("x", FLOAT, math.nan) == Argument("x", FLOAT, -math.nan)
    assert Argument("x", FLOAT, 0.0) != Argument("x", FLOAT, -0.0)


def test_one_as_integer_float_and_truth_are_three_defaults():
    assert len({Argument("x", SCALAR, value) for value in (1, 1.0, True, 1 + 0j)}) == 4


def test_what_hints_add_does_not_count_and_the_kind_does():
    plain = Argument("x", TENSOR)
    assert plain == Argument("x", TENSOR, dtype=np.dtype("f8"), layout=("C",), numbers=True)
    assert hash(plain) == hash(Argument("x", TENSOR, numbers=True))
    assert plain != Argument("x", TENSOR, kwarg_only=True)
    assert plain != Argument("x", TENSOR, positional_only=True)
    assert plain != "Tensor x"


def test_schemas_are_frozen_and_say_what_they_are():
    schema = Schema.parse("ns::op(Tensor x) -> Tensor")
    with pytest.raises(AttributeError) as caught:
        schema.name = "other"
    assert str(caught.value) == "a Schema cannot be changed. Make another: x.replace(name=...)."
    assert str(schema.replace(name="other")) == "ns::other(Tensor x) -> Tensor"
    assert repr(schema) == "Schema('ns::op(Tensor x) -> Tensor')"
    assert repr(MISSING) == "MISSING"


# ----------------------------------------------------------------------------------------------------------- properties
def test_a_default_that_can_be_written_to_is_kept_as_a_copy_and_anything_else_as_it_is():
    value, sizes = np.float32(0.5), [1, 2]
    kept = Argument("n", ListOf(INT), sizes)
    sizes.append(3)
    assert (kept.default, str(kept)) == ([1, 2], "int[] n=[1, 2]")
    assert Argument("n", ListOf(INT), (1, 2)).default == (1, 2)
    assert Argument("n", ListOf(INT), range(3)).default == [0, 1, 2]
    assert Argument("x", FLOAT, value).default is value


@pytest.mark.parametrize(
    ("text", "mutable", "functional", "view", "residual", "written"),
    [
        ("ns::op(Tensor x) -> Tensor", False, True, False, False, ()),
        ("ns::op(Tensor(a) x) -> Tensor(a)", False, False, True, False, ()),
        ("ns::op(Tensor(a!) x) -> Tensor(a!)", True, False, False, False, ("x",)),
        ("ns::op(Tensor(a!) x) -> Tensor(a)", True, False, True, False, ("x",)),
        ("ns::op(Tensor x, Tensor(a!)[] ys, *, Tensor(b!)? z=None) -> ()", True, False, False, False, ("ys", "z")),
        ("ns::op(Tensor x) -> (Tensor, Residual)", False, True, False, True, ()),
        ("ns::op(Tensor x, Residual r) -> Tensor", False, True, False, False, ()),
    ],
)
def test_properties(text, mutable, functional, view, residual, written):
    schema = Schema.parse(text)
    assert schema.is_mutable is mutable
    assert schema.is_functional is functional
    assert schema.is_view is view
    assert schema.has_residual is residual
    assert schema.mutable_arguments == written


def test_the_parts_of_the_name_and_of_the_arguments():
    schema = Schema.parse("ns::op.ov(Tensor x, /, int n, *, int k=1) -> ()")
    assert (schema.namespace, schema.name, schema.overload) == ("ns", "op", "ov")
    assert (schema.qualname, schema.full_name) == ("ns::op", "ns::op.ov")
    assert [a.name for a in schema.positional] == ["x", "n"]
    assert [a.name for a in schema.kwarg_only] == ["k"]
    assert [a.positional_only for a in schema.arguments] == [True, False, False]
    assert [a.has_default for a in schema.arguments] == [False, False, True]
    assert Schema.parse("ns::op() -> ()").full_name == "ns::op"


# ------------------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("Tensor x, int x", "two arguments are named 'x'"),
        ("int n=1, Tensor x", "argument 'x' has no default and follows 'n', which has one"),
        ("Tensor x, *", "'*' is followed by no argument"),
        ("*", "'*' is followed by no argument"),
        ("*, *, Tensor x", "a second '*'"),
        ("*, Tensor x, *, Tensor y", "a second '*'"),
        ("/, Tensor x", "'/' stands once, after the positional-only arguments and before '*'"),
        ("Tensor x, /, Tensor y, /", "'/' stands once"),
        ("*, Tensor x, /", "'/' stands once"),
        ("...", "'...' has no signature that a call could be checked against. Take a list, e.g. Tensor[] xs"),
        ("Tensor x, ...", "'...' has no signature"),
        ("Tensor x,", "a comma, and nothing after it"),
        ("Tensor", "expected the name of an argument after its type, Tensor"),
        ("Tensor x y", "expected ',' or ')', found 'y'"),
        ("Tensor x int y", "expected ',' or ')', found 'i'"),
        ("Tensor 2x", "'2x' cannot name an argument: a name is letters, digits and '_'"),
        ("Tensor lambda", "'lambda' cannot name an argument: it is a keyword of Python. Write 'lambda_'"),
        ("Tensor None", "'None' cannot name an argument: it is a keyword"),
        ("Tensr x", "there is no type 'Tensr'. Did you mean 'Tensor'?"),
        ("quux x", "there is no type 'quux'. Types: Tensor, int,"),
        ("int64_t n", "there is no type 'int64_t'. Write int."),
        ("double n", "there is no type 'double'. Write float."),
        ("Optional(Tensor) x", "there is no type 'Optional'. Write T?."),
        ("Union(int) x", "Union(int): a union is of two different types at least, each once."),
        ("Union(int, int) x", "Union(int, int): a union is of two different types at least, each once."),
        ("Union(int, str?) x", "Union(int, str?): str? stands in no union. Write Union(A, B)? where None is taken, Any for any"),
        ("Union(Any, str) x", "Union(Any, str): Any stands in no union. Write Union(A, B)? where None is taken, Any for any"),
        ("Union(int, Union(str, bytes)) x", "Union(str, bytes) stands in no union."),
        ("Union(Tensor(a!), Tensor[]) x", "the Tensors of one argument share one alias: write the same after each."),
        ("Union[int, str] x", "expected '(', found '['"),
        (
            "Layout x",
            "the type 'Layout' has no meaning for arrays. For a Python object write its class, module.Class, or Any",
        ),
        ("generator? x", "there is no type 'generator'. Did you mean 'Generator'?"),
        ("MemoryFormat x", "the type 'MemoryFormat' has no meaning for arrays"),
        ("fractions. x", "'fractions.' does not name a class: write module.Class"),
        ("a.<locals>.B x", "'a.' does not name a class"),
        ("int[2 x", "expected ']', found 'x'"),
        ("int[n] x", "the length of a list is a number, not 'n'"),
        ("int[0] x", "int[0]: a fixed length is at least 1"),
        ("int?? x", "int?? says None twice"),
        ("None? x", "None? says None twice"),
        ("() x", "expected a type"),
        ("[Tensor] x", "expected a type. A list is Tensor[], and several results are (Tensor, Tensor)."),
        ("Dict(int) x", "Dict has two types, Dict(K, V)"),
        ("Dict(Tensor, int) x", "Dict(Tensor, int): the keys of a dictionary are str or int"),
        ("Residual[] x", "Residual[]: Residual stands alone, not inside another type"),
        ("Residual? x", "Residual stands alone"),
        ("(Tensor, Residual) x", "Residual stands alone"),
        ("Dict(str, Residual) x", "Residual stands alone"),
        ("Tensor! x", "a write names its set: Tensor(a!)"),
        ("Tensor() x", "expected an alias set, as in Tensor(a!)"),
        ("Tensor(a! -> ) x", "expected an alias set"),
        ("Tensor(a x", "expected ')', found 'x'"),
        ("Tensor(*|a) x", "the alias set '*' is everything: it stands alone"),
        ("Tensor(*!) x", "a write names its set: Tensor(a!), not Tensor(*!)"),
        (
            "Tensor[](a!) x",
            "an alias stands right after Tensor, or a class with arrays, before [] and ?, and after no other type: Tensor(a!)[]",
        ),
        ("Tensor?(a!)[] x", "an alias stands right after Tensor"),
        ("int(a!) x", "an alias stands right after Tensor, or a class with arrays, before [] and ?, and after no other type"),
        ("(Tensor(a), Tensor) x", "the Tensors of one argument share one alias"),
        (
            "Tensor(a!) x, Tensor(a!) y",
            "arguments 'x' and 'y' share the alias set 'a', and one is written. Give each its own",
        ),
        ("Tensor(a) x, Tensor(a!) y", "arguments 'x' and 'y' share the alias set 'a', and one is written"),
        ("Tensor(a! -> b) x", "no argument is in the alias set 'b' before the call"),
        ("int n=3.5", "argument 'n': a default of type float does not fit int"),
        ("int n=True", "argument 'n': a default of type bool does not fit int"),
        ('int n="x"', "a default of type str does not fit int"),
        ("bool b=3", "a default of type int does not fit bool"),
        ("float f=1j", "a default of type complex does not fit float"),
        ("float f=None", "a default of None does not fit float. Write float? for a value that may be left out"),
        ("Tensor x=None", "a default of None does not fit Tensor. Write Tensor?"),
        ("Tensor x=0", "a default of type int does not fit Tensor: the default of a Tensor can only be None"),
        ("Tensor? x=0", "the default of a Tensor can only be None"),
        ("Tensor[] x=[0]", "the default of a Tensor can only be None"),
        ("int[] n=3", "a default of type int does not fit int[]"),
        ("int[2] n=[1]", "a default of type list of length 1 does not fit int[2]"),
        ("float[2] f=1.0", "a default of type float does not fit float[2]"),
        ("(int, str) p=(1,)", "a default of type tuple of length 1 does not fit (int, str)"),
        ("(int, str) p=(1, 2)", "a default of type int does not fit str"),
        ("Dict(str, int) d=3", "a default of type int does not fit Dict(str, int)"),
        ("Callable f=3", "a default of type int does not fit Callable"),
        ("Callable f=...", "argument 'f': '...' stands for a default that has no text, an object or a function. Define the"),
        ("Callable[] f=[...]", "argument 'f': '...' stands for a default"),
        ("Dict(str, Any) d={'a': ...}", "argument 'd': '...' stands for a default"),
        ("Dict(str, int) d={1.5: 1}", "the keys of a dictionary are str or int"),
        ("Dict(str, int) d={'a' 1}", "expected ':', found '1'"),
        ("Dict(str, int) d={'a': 1 2}", "expected ',' or '}', found '2'"),
        ("enum.Flag f=enum.Flag.NOTHING", "'enum.Flag.NOTHING' is no member of an enumeration"),
        ("int n=fractions.Fraction.x", "'fractions.Fraction.x' is no member of an enumeration"),
        ("int n=nowhere.Class.x", "the class nowhere.Class is not known"),
        ("ScalarType t=np.float32", "'np.float32' is no default. A string needs quotes; a dtype is one of NumPy's names"),
        ("Literal s", "expected '[', found 's'"),
        ("Literal[] s", "expected a default"),
        ("Literal['a', 'a'] s", "Literal['a', 'a'] names a choice twice"),
        ("Literal[1.5] s", "a float cannot stand in Literal[...]: write str, bytes, int or bool"),
        ("Literal['a', 1] s='b'", "a default of type str is none of the choices of Literal['a', 1]"),
        ("fractions.Fraction(a!) f", "an alias stands right after Tensor, or a class with arrays"),
        ("str s=float32", "a default of type dtype does not fit str"),
        ('ScalarType t="f4,f4"', "a default of type str does not fit ScalarType"),
        ('ScalarType t="quux"', "a default of type str does not fit ScalarType"),
        ("str s=cpu", "'cpu' is no default. A string needs quotes; a dtype is one of NumPy's names"),
        ("bool b=true", "'true' is written as in Python: True, False, None"),
        ("str s='\\xzz'", "this string has an escape that Python does not know"),
        ("str s='open", "expected a default"),
        ("int n=", "expected a default"),
        ("int n=1x", "'1x' is no default"),
        ("int[] n=[1 2]", "expected ',' or ']', found '2'"),
    ],
)
def test_refused_arguments(arguments, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(f"ns::op({arguments}) -> ()")
    text = str(caught.value)
    assert message in text
    assert text.startswith("ns::op: ")


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ("", "expected '->', found the end"),
        ("-> ", "expected a type"),
        ("Tensor", "expected '->', found 'T'"),
        ("-> Tensor y z", "expected the end of the schema"),
        ("-> (Tensor", "expected ',' or ')', found the end"),
        (
            "-> (Tensor, int)[]",
            "a single return whose type begins with '(' needs parentheses of its own: -> ((A, B)[])",
        ),
        ("-> ...", "'...' has no signature"),
        ("-> None", "an operator that returns nothing is written -> ()"),
        ("-> Tensor(b)", "no argument is in the alias set 'b' before the call"),
        ("-> Tensor(a!)", "the return is written as 'a!', and no argument is. Write Tensor(a)"),
        ("-> Tensor(a -> *)", "the alias of a return has no '->'"),
        ("-> int(a)", "an alias stands right after Tensor"),
        ("-> (Tensor y, Tensor y)", "two returns are named 'y'"),
        ("-> Tensor class", "'class' cannot name a return: it is a keyword"),
        ("-> (Residual, Tensor)", "Residual is the last return, or none"),
        ("-> Residual[]", "Residual stands alone"),
    ],
)
def test_refused_returns(returns, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(f"ns::op(Tensor(a) x) {returns}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", None, "schema: the schema has no name. Begin with ns::name, or pass name="),
        ("(Tensor x) -> ()", None, "schema: the schema has no name"),
        ("ns::op(Tensor x) -> ()", "ns::op", "the name is given already, as 'ns::op'. Begin with '('"),
        ("op(Tensor x) -> ()", None, "'op' does not name an operator. Write 'namespace::name'"),
        ("a::b::c() -> ()", None, "'a::b::c' does not name an operator"),
        ("::op() -> ()", None, "'::op' does not name an operator"),
        ("ns::op", None, "expected '(', found the end"),
        ("ns::op.() -> ()", None, "'ns::op.' ends with a dot"),
        ("ns::op.default() -> ()", None, "an overload cannot be named 'default'"),
        ("ns::op.__init__() -> ()", None, "'__init__' begins with '__', which Python keeps for itself"),
        ("ns::__op() -> ()", None, "'__op' begins with '__'"),
        ("ns::if() -> ()", None, "'if' cannot name an operator: it is a keyword"),
        ("ns::op.a.b() -> ()", None, "'a.b' cannot name an overload"),
        ("my-ns::op() -> ()", None, "'my-ns' cannot name a namespace"),
    ],
)
def test_refused_names(text, name, message):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text, name=name)
    assert message in str(caught.value)


def test_the_message_shows_the_place():
    with pytest.raises(SchemaError) as caught:
        Schema.parse("ns::op(Tensor x,\n       double f) -> ()")
    first, line, mark = str(caught.value).splitlines()
    assert first == "ns::op: there is no type 'double'. Write float."
    assert line[mark.index("^") :].startswith("double")


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: build(Argument("x", TENSOR), Argument("x", TENSOR)), "ns::op: two arguments are named 'x'"),
        (lambda: build(Argument("x", INT, 1), Argument("y", INT)), "'y' has no default and follows 'x'"),
        (lambda: build(Argument("x", INT, kwarg_only=True), Argument("y", INT)), "'y' is positional and follows 'x'"),
        (
            lambda: build(Argument("x", INT), Argument("y", INT, positional_only=True)),
            "'y' is positional-only and follows 'x'",
        ),
        (
            lambda: build(Argument("x", INT, kwarg_only=True, positional_only=True)),
            "both keyword-only and positional-only",
        ),
        (lambda: build(returns=[Return(RESIDUAL), Return(TENSOR)]), "Residual is the last return"),
        (
            lambda: Argument("x", STR, alias=Alias(frozenset("a"), frozenset("a"), True)),
            "has an alias, and str holds no Tensor",
        ),
        (
            lambda: Return(INT, alias=Alias(frozenset("a"), frozenset("a"), False)),
            "has an alias, and holds no Tensor",
        ),
        (lambda: Return(NONE), r"written -> \(\)"),
        (lambda: Argument("x y", TENSOR), "'x y' cannot name an argument"),
        (lambda: Argument("x", OptionalOf(TENSOR), np.zeros(3)), "a default of type ndarray does not fit Tensor"),
        (lambda: Schema("ns", "op", "default", ()), "cannot be named 'default'"),
    ],
)
def test_what_is_built_by_hand_obeys_the_same_laws(build_it, message):
    with pytest.raises(SchemaError, match=message):
        build_it()


def test_the_names_that_torch_has_for_what_a_schema_says():
    schema = Schema.parse("ns::f.out(Tensor(a!) x, int n=3) -> Tensor(a!)")
    x, n = schema.arguments
    for thing, name, line in [
        (schema, "overload_name", "schema.overload"),
        (x, "alias_info", "argument.alias, or argument.is_write"),
        (n, "default_value", "argument.default"),
        (n, "has_default_value", "argument.has_default"),
        (schema.returns[0], "alias_info", "result.alias"),
    ]:
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\. Write {line}\.$"):
            getattr(thing, name)
    assert (schema.overload, n.default, n.has_default) == ("out", 3, True)
    assert x.is_write
    assert x.alias == schema.returns[0].alias == Alias(frozenset("a"), frozenset("a"), True)
