"""What was recorded comes back, through a file too, and nothing else does."""

import itertools

import numpy as np
import pytest
from hint_table import Factors, State
from making import said

import dispatch
from dispatch import custom_op
from dispatch.errors import MissingOpProfileError, NoRuleError, SchemaError
from dispatch.testing import generate_fake_kernels, load_op_profiles, record_op_profiles, save_op_profiles

numbers = itertools.count()
X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def op():
    """An operator without a fake rule, whose results have other shapes, dtypes and strides than its argument."""

    def kernel(x, n):
        return np.asfortranarray(np.repeat(x, n, axis=0)), [x[0].astype("f4")], n

    name = f"profiles{next(numbers)}::f"
    return custom_op(name, kernel, mutates_args=(), schema="(Tensor x, int n) -> (Tensor, Tensor[], int)")


def faked(op, *args):
    with dispatch.FakeTensorMode() as mode:
        return op(*[mode.from_array(x) if isinstance(x, np.ndarray) else x for x in args])


def test_dicts_and_records_are_played_back_through_a_file(tmp_path):
    name = f"profiles{next(numbers)}::f"
    op = custom_op(
        name,
        lambda s: (Factors(s.position * 2, s.position[:1] * 2, 3), {"x": s.position.astype("f4")}),
        mutates_args=(),
        schema=f"({State.__module__}.State s) -> ({Factors.__module__}.Factors, Dict(str, Tensor))",
    )
    with record_op_profiles(op.schema.namespace) as profiles:
        op(State(X))
    save_op_profiles(profiles, tmp_path / "profiles.json")
    with generate_fake_kernels(load_op_profiles(tmp_path / "profiles.json")), dispatch.FakeTensorMode() as mode:
        factors, named = op(State(mode.from_array(X)))
        with pytest.raises(MissingOpProfileError):
            op(State(mode.from_array(X[0])))
    assert type(factors) is Factors
    assert (factors.q.shape, factors.r.shape, factors.rank) == ((2, 3), (1, 3), 3)
    assert list(named) == ["x"]
    assert (named["x"].shape, named["x"].dtype) == ((2, 3), np.dtype("f4"))


def test_recorded_calls_are_played_back_by_shape_dtype_strides_and_value(op):
    with record_op_profiles(op.schema.namespace) as profiles:
        real = op(X, 2)
    with pytest.raises(NoRuleError, match="it has no fake rule"):
        faked(op, X, 2)
    with generate_fake_kernels(profiles):
        whole, (part,), n = faked(op, X, 2)
    assert [(y.shape, y.dtype, y.strides) for y in (whole, part)] == [(y.shape, y.dtype, y.strides) for y in (real[0], real[1][0])]
    assert n == 2
    with pytest.raises(NoRuleError, match="it has no fake rule"):
        faked(op, X, 2)


def test_only_plain_calls_of_the_named_namespaces_are_recorded(op):
    with record_op_profiles("another") as profiles:
        op(X, 2)
    assert profiles == {}
    with record_op_profiles("np") as profiles:
        dispatch.grad(lambda x: np.sin(x).sum())(X)
        np.cos(X)
    assert set(profiles) >= {"np::sin", "np::cos", "np::multiply"}
    assert len(profiles["np::sin"]) == 1


def test_without_a_namespace_calls_of_every_one_are_recorded(op):
    with record_op_profiles() as profiles:
        op(X, 2)
        dispatch.ops.np.cos(X)
    assert {op.name, "np::cos"} <= set(profiles)


def test_a_call_that_was_not_recorded_says_so(op):
    with record_op_profiles(op.schema.namespace) as profiles:
        op(X, 2)
    with generate_fake_kernels(profiles):
        assert said(lambda: faked(op, X.T, 2), MissingOpProfileError) == (
            f"{op.name} was called with (float64[3, 2], int), for which no profile was recorded; there are 1. "
            "Record one, or write its fake rule: f.register_fake(rule)."
        )


def test_a_file_keeps_them_and_is_the_same_for_the_same(op, tmp_path):
    with record_op_profiles(op.schema.namespace) as profiles:
        op(X, 2)
        op(X, 1)
        op(X, 2)
    assert len(profiles[op.name]) == 2
    save_op_profiles(profiles, tmp_path / "a.json")
    loaded = load_op_profiles(tmp_path / "a.json")
    assert {name: sorted(known) for name, known in loaded.items()} == {name: sorted(known) for name, known in profiles.items()}
    save_op_profiles(loaded, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    with generate_fake_kernels(loaded):
        assert faked(op, X, 1)[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "holds no profiles. save_op_profiles writes a file that does."),
        ("[]", "holds no profiles. save_op_profiles writes a file that does."),
        ('{"version": 9, "profiles": {}}', "holds profiles of version 9, and 1 is read here. Record them again."),
    ],
)
def test_what_is_no_file_of_profiles(text, message, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(text)
    assert said(lambda: load_op_profiles(path), SchemaError) == f"{path} {message}"


def test_a_profile_may_come_without_results(tmp_path):
    op = custom_op(f"profiles{next(numbers)}::g", lambda x: None, mutates_args=(), schema="(Tensor x) -> ()")
    with record_op_profiles(op.schema.namespace) as profiles:
        op(X)
    with generate_fake_kernels(profiles):
        assert faked(op, X) is None
