"""Every class is ours and the builtin a caller expects; misspelt names find their match."""

import builtins
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch import errors
from dispatch.errors import DispatchError, close_matches, did_you_mean

BUILTIN = {
    "SchemaError": ValueError,
    "HintError": TypeError,
    "DefinitionError": ValueError,
    "ArgumentError": TypeError,
    "OutputError": TypeError,
    "AliasError": TypeError,
    "OperatorNotFoundError": AttributeError,
    "LayerNotFoundError": AttributeError,
    "LibraryError": RuntimeError,
    "MissingOpProfileError": TypeError,
    "NoKernelError": NotImplementedError,
    "NoRuleError": NotImplementedError,
    "DeviceMismatchError": ValueError,
    "EscapedValueError": RuntimeError,
    "GuardError": RuntimeError,
    "GradientError": TypeError,
    "BatchingError": ValueError,
    "FakeTensorError": TypeError,
    "DataDependentError": TypeError,
    "TracedDataError": RuntimeError,
    "DataDependentSizeError": TypeError,
    "NewSizeError": TypeError,
    "CheckError": RuntimeError,
    "ConversionError": TypeError,
    "TracingError": RuntimeError,
    "ControlFlowError": ValueError,
    "GraphError": ValueError,
    "MutationError": RuntimeError,
    "UnsupportedError": NotImplementedError,
    "MissingExtraError": ImportError,
    "OpCheckError": AssertionError,
    "GradcheckError": AssertionError,
}
CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DispatchError)]


def test_the_table_is_complete():
    assert {cls.__name__ for cls in CLASSES} == {*BUILTIN, "DispatchError"}


@pytest.mark.parametrize("name", BUILTIN)
def test_each_is_ours_and_the_builtin_a_caller_expects(name):
    cls = getattr(errors, name)
    assert issubclass(cls, DispatchError)
    assert issubclass(cls, BUILTIN[name])
    assert not hasattr(builtins, name)


@pytest.mark.parametrize("cls", CLASSES)
def test_each_travels_between_processes_with_its_fields(cls):
    error = pickle.loads(pickle.dumps(cls("what is so", operator="mylib::scale", argument="x")))
    assert type(error) is cls
    assert (str(error), error.operator, error.argument) == ("what is so", "mylib::scale", "x")


@pytest.mark.parametrize("cls", CLASSES)
def test_the_fields_are_empty_where_nothing_is_known(cls):
    assert (cls("x").operator, cls("x").argument, cls().args) == ("", "", ())


def test_an_alias_error_is_an_output_error_and_a_data_dependent_one_a_fake_one():
    assert issubclass(errors.AliasError, errors.OutputError)
    assert issubclass(errors.DataDependentError, errors.FakeTensorError)


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("facotr", ["x", "factor", "axis"], ["factor"]),  # a swap is one edit
        ("Factor", ["factor"], ["factor"]),
        ("autograd_", ["autograd", "fake"], ["autograd"]),
        ("vmpa", ["vmap", "vmaps", "fake"], ["vmap"]),
        ("q", ["x", "y", "Q"], ["Q"]),  # any two letters are one edit apart
        ("tensor", ["quux"], []),
        ("", ["x"], []),
        ("aaa", ["aab", "aac", "aad", "aae"], ["aab", "aac", "aad"]),
    ],
)
def test_close_matches(name, known, found):
    assert close_matches(name, known) == found


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_the_distance_is_symmetric_and_zero_for_equal_names_only(a, b):
    assert errors._distance(a, b) == errors._distance(b, a)
    assert (errors._distance(a, b) == 0) == (a == b)
    assert abs(len(a) - len(b)) <= errors._distance(a, b) <= max(len(a), len(b))


def test_the_closing_sentence():
    assert did_you_mean("scael", ["scale", "scales"]) == " Did you mean 'scale'?"
    assert did_you_mean("aaa", ["aab", "aac"]) == " Did you mean 'aab' or 'aac'?"
    assert did_you_mean("zzz", ["scale"]) == ""
