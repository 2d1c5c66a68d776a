"""Each test of a class comes once more for each check, finds what the check finds, and keeps to the file of what is known."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hint_table import State
from making import said

import dispatch
from dispatch import custom_op
from dispatch.errors import DefinitionError, OpCheckError
from dispatch.schema.schema import Schema
from dispatch.testing import dont_generate_opcheck_tests, generate_opcheck_tests, is_inside_opcheck_mode
from dispatch.testing.generated_tests import ACCEPT, SAVE, Failures, repro
from dispatch.testing.kernel_runs import past_first_call
from dispatch.testing.operator_checks import ALL

numbers = itertools.count()
X = np.arange(3.0)


def operator(kernel, schema="(Tensor x) -> Tensor"):
    op = custom_op(f"generated{next(numbers)}::f", kernel, mutates_args=(), schema=schema)
    op.register_fake(lambda x: np.empty_like(x))
    past_first_call(op)  # which raises by itself for what these tests let the checks find
    return op


def suite(op, *args, path=None, utils=("test_schema",), **options):
    """A class whose one test calls an operator."""

    class TestIt:
        def test_call(self):
            return op(*args)

        @dont_generate_opcheck_tests("it is slow")
        def test_slow(self):
            return op(*args)

        def other(self):
            return op(*args)

    return generate_opcheck_tests(TestIt, [op.schema.namespace], path, test_utils=utils, **options)


def secretly(x):
    x += 1
    return x * 2


def known(path, op, status):
    path.write_text(json.dumps({"data": {op.name: {"TestIt.test_schema__test_call": {"status": status}}}}))


def test_every_test_comes_once_more_for_each_check_unless_it_is_left_out():
    cls = suite(operator(np.sin), X, utils="ALL")
    assert [name for name in vars(cls) if "test_" in name] == ["test_call", "test_slow", *(f"{u}__test_call" for u in ALL)]
    for util in ALL:
        assert np.array_equal(getattr(cls(), f"{util}__test_call")(), np.sin(X))


def test_what_a_check_finds_is_raised_with_a_script_that_shows_it():
    op = operator(secretly)
    message = said(lambda: suite(op, X.copy())().test_schema__test_call(), OpCheckError)
    assert "writes to its argument 'x'" in message
    script = message.partition("To see it alone:\n")[2].partition("\nwith arrays of ones")[0]
    with pytest.raises(OpCheckError, match="writes to its argument 'x'"):
        exec("\n".join(line.strip() for line in script.splitlines()), {})


def test_the_values_of_a_failing_call_are_saved_on_request(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SAVE, "1")
    op = operator(secretly)
    message = said(lambda: suite(op, X.copy())().test_schema__test_call(), OpCheckError)
    lines = [line.strip() for line in message.partition("To see it alone:\n")[2].splitlines()]
    scope = {}
    exec("\n".join(lines[:2]), scope)
    assert np.array_equal(scope["saved"]["a0"], X)
    scope["saved"].close()


def test_a_script_spells_every_argument():
    Schema.parse(f"ns::op({State.__module__}.State s) -> ()")  # from here on it is a record
    op = dispatch.ops.np.sin
    tracked = dispatch.tensor(X, requires_grad=True)
    state = repro(op, ({"x": X}, State(X)), {}, "test_schema")
    assert "({'x': np.ones((3,), '<f8')}, State(position=np.ones((3,), '<f8'), velocity=None, steps=1, note=set()))" in state
    text = repro(op, (tracked, [1, (2.5,)], X), {"n": None}, "test_schema")
    assert (
        "dispatch.testing.opcheck(dispatch.ops.np.sin, (dispatch.tensor(np.ones((3,), '<f8'), requires_grad=True), "
        "[1, (2.5,)], np.ones((3,), '<f8')), {'n': None}, test_utils='test_schema')"
    ) in text


def test_only_calls_from_outside_and_of_the_namespaces_are_checked():
    inner = operator(secretly)
    outer = operator(lambda x: inner(x.copy()))
    suite(outer, X)().test_schema__test_call()
    cls = type("TestOther", (), {"test_call": lambda self: inner(X.copy())})
    generate_opcheck_tests(cls, ["np"], test_utils="test_schema")
    cls().test_schema__test_call()


def test_a_namespace_that_nothing_defines_is_told_when_a_test_has_run():
    op = operator(np.sin)
    cls = type("TestMisspelt", (), {"test_call": lambda self: op(X.copy())})
    generate_opcheck_tests(cls, [op.schema.namespace, "scipy_spezial"], test_utils="test_schema")
    assert said(cls().test_schema__test_call, DefinitionError) == (
        "generate_opcheck_tests: there is no namespace 'scipy_spezial', so that nothing is checked. Did you mean 'scipy_special'?"
    )


def test_under_a_transform_nothing_is_checked():
    op = operator(secretly)
    cls = type("TestMapped", (), {"test_call": lambda self: dispatch.vmap(lambda x: op(x))(X.reshape(3, 1).copy())})
    generate_opcheck_tests(cls, [op.schema.namespace], test_utils="test_schema")
    cls().test_schema__test_call()


def test_the_operator_knows_that_it_is_checked():
    seen = []
    op = operator(lambda x: (seen.append(is_inside_opcheck_mode()), np.sin(x))[1])
    suite(op, X)().test_schema__test_call()
    assert seen[:-1] == [True] * (len(seen) - 1)
    assert len(seen) > 1
    assert seen[-1] is is_inside_opcheck_mode() is False


def test_what_is_known_to_fail_has_to_fail(tmp_path):
    path, op = tmp_path / "failures.json", operator(secretly)
    known(path, op, "xfail")
    suite(op, X.copy(), path=path)().test_schema__test_call()
    good = operator(np.sin)
    known(path, good, "xfail")
    message = said(lambda: suite(good, X, path=path)().test_schema__test_call(), OpCheckError)
    assert message == (
        f"{good.name} passes TestIt.test_schema__test_call, and {path} says that it fails. Remove it there, or run the tests "
        f"with {ACCEPT}=1."
    )


def test_what_is_skipped_is_not_run(tmp_path):
    path, op = tmp_path / "failures.json", operator(secretly)
    known(path, op, "skip")
    suite(op, X.copy(), path=path)().test_schema__test_call()


def test_the_file_is_brought_up_to_date_on_request(monkeypatch, tmp_path):
    monkeypatch.setenv(ACCEPT, "1")
    path, bad, good = tmp_path / "failures.json", operator(secretly), operator(np.sin)
    known(path, good, "xfail")
    suite(good, X, path=path)().test_schema__test_call()
    assert json.loads(path.read_text())["data"] == {}
    suite(bad, X.copy(), path=path)().test_schema__test_call()
    monkeypatch.delenv(ACCEPT)
    assert json.loads(path.read_text())["data"] == {bad.name: {"TestIt.test_schema__test_call": {"status": "xfail"}}}
    suite(bad, X.copy(), path=path)().test_schema__test_call()


SHAPE = '{"data": {"ns::name": {"test_vmap": {"status": "xfail"}}}}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "{path} is no JSON: expecting value, line 1, column 1. Write {shape}."),
        ("{'data': {}}", "{path} is no JSON: expecting property name enclosed in double quotes, line 1, column 2. Write {shape}."),
        ('{"data": {"a::f": {"T.t": {}}}}', "{path} is no file of failures. Write {shape}."),
        ('{"data": {"a::f": {"T.t": {"status": "no"}}}}', "{path}: a::f, T.t has the status 'no'. Write one of xfail, skip."),
        (
            '{"data": {"a::f": {"TestIt.test_schema__test_cal": {"status": "skip"}}}}',
            ("{path}: a::f names TestIt.test_schema__test_cal, and TestIt generates no such test. "
            "Did you mean 'test_schema__test_call'?"),
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text, message, tmp_path):
    path = tmp_path / "failures.json"
    path.write_text(text)
    assert said(lambda: suite(operator(np.sin), X, path=path), DefinitionError) == message.format(path=path, shape=SHAPE)


def test_decorators_go_to_the_tests_they_name():
    cls = suite(operator(np.sin), X, additional_decorators={"test_schema__test_call": lambda test: "decorated"})
    assert cls.test_schema__test_call == "decorated"


def test_nothing_beside_numpy_is_imported():
    code = "import sys, dispatch.testing; print(sorted({'pytest', 'hypothesis', 'scipy', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_entry_of_an_operator_that_nothing_defines_is_refused_where_its_namespace_is_checked(tmp_path):
    path, op = tmp_path / "failures.json", operator(np.sin)
    namespace, _, name = op.name.partition("::")
    path.write_text(json.dumps({"data": {f"{op.name}s": {"test_schema": {"status": "xfail"}}}}))
    known = Failures(path, known=True)
    known.check_operators({"of_another_package"})
    with pytest.raises(DefinitionError) as caught:
        known.check_operators({namespace})
    said = f"{path}: there is no operator {op.name}s. Did you mean '{name}'"
    assert str(caught.value).startswith(said)
    assert str(caught.value).endswith("? Take its entry out, or mend its name.")
