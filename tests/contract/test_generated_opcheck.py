"""TestGenerateOpcheckTests: the tests that are generated, the scripts they print, the file of what is known, opcheck itself."""

import json
import subprocess
import sys

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch import custom_op
from dispatch.errors import ArgumentError, DefinitionError, OpCheckError
from dispatch.testing import dont_generate_opcheck_tests, generate_opcheck_tests, is_inside_opcheck_mode, opcheck
from dispatch.testing.generated_tests import SAVE
from dispatch.testing.operator_checks import ALL

X = np.array([0.5, 1.0, 2.0])


def operator(ns, kernel=np.sin, name="op", fake=np.empty_like):
    op = custom_op(f"{ns}::{name}", lambda x: kernel(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: fake(x))
    return op


def suite(op, path=None, utils="test_schema"):
    """A class whose one test calls an operator, its checks generated."""

    class TestIt:
        def test_it(self):
            assert op(X.copy()).shape == X.shape

    return generate_opcheck_tests(TestIt, [op.schema.namespace], path, test_utils=utils)


def twice_secretly(x):
    x += 1
    return x * 2


def test_MiniOpTest(ns):
    """Every test of a class comes once more for each check, named check__test, and stays as it was by itself.

    Differs: checks of opcheck
    """
    op = operator(ns)
    cls = suite(op, utils="ALL")
    assert [name for name in vars(cls) if name.startswith("test")] == ["test_it", *(f"{util}__test_it" for util in ALL)]
    for name in [name for name in vars(cls) if name.startswith("test")]:
        getattr(cls(), name)()
    torchs = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    assert (*torchs, "test_vmap", "test_gradients", "test_jvp") == ALL


def test_generate_repro_save_data(ns, monkeypatch, tmp_path):
    """On request a failing call's arguments are saved, and the script that is printed loads them and fails as the test did."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SAVE, "1")
    message = said(suite(operator(ns, twice_secretly))().test_schema__test_it, OpCheckError)
    (saved,) = tmp_path.glob("*.npz")
    assert str(saved) in message
    with np.load(saved) as arrays:
        assert np.array_equal(arrays["a0"], X)
    scope = {}
    lines = [line.strip() for line in message.partition("To see it alone:\n")[2].splitlines()]
    with pytest.raises(OpCheckError, match="writes to its argument 'x'"):
        exec("\n".join(lines), scope)
    scope["saved"].close()


def test_generate_repro_no_save_data(ns, tmp_path, monkeypatch):
    """Otherwise the script has arrays of the same shape and dtype, nothing is saved, and how to save is said."""
    monkeypatch.chdir(tmp_path)
    message = said(suite(operator(ns, twice_secretly))().test_schema__test_it, OpCheckError)
    script = message.partition("To see it alone:\n")[2]
    assert f"dispatch.testing.opcheck(dispatch.ops.{ns}.op, (np.ones((3,), '<f8'),), {{}}, test_utils='test_schema')" in script
    assert script.endswith(f"with arrays of ones; run the tests with {SAVE}=1 to save the values of the failing call.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"TestIt.test_schema__test_it": {"status": "fails"}}, "has the status 'fails'. Write one of xfail, skip."),
        ({"TestIt.test_schema__test_at": {"status": "xfail"}}, "and TestIt generates no such test. Did you mean"),
        ({"TestIt.test_schema__test_it": "xfail"}, "is no file of failures. Write "),
    ],
    ids=["status", "test", "shape"],
)
def test_failures_dict_validation(entry, message, ns, tmp_path):
    """A file of what is known to fail is held to its form, to the statuses, and to the tests that there are."""
    op, path = operator(ns), tmp_path / "failures.json"
    path.write_text(json.dumps({"data": {op.name: entry}}))
    found = said(lambda: suite(op, path), DefinitionError)
    assert found.startswith(str(path))
    assert message in found


def test_failures_dict_says_what_is_known(ns, tmp_path):
    """What is known to fail has to fail, and what is skipped is not run."""
    op, path = operator(ns, twice_secretly), tmp_path / "failures.json"
    for status in ("xfail", "skip"):
        path.write_text(json.dumps({"data": {op.name: {"TestIt.test_schema__test_it": {"status": status}}}}))
        suite(op, path)().test_schema__test_it()
    good = operator(ns, name="good")
    path.write_text(json.dumps({"data": {good.name: {"TestIt.test_schema__test_it": {"status": "xfail"}}}}))
    message = said(suite(good, path)().test_schema__test_it, OpCheckError)
    assert message.startswith(f"{good.name} passes TestIt.test_schema__test_it, and {path} says that it fails.")


def test_dont_generate_decorator(ns):
    """A test that is marked, with a reason, has no checks generated."""
    op = operator(ns)

    class TestIt:
        @dont_generate_opcheck_tests(reason="it is slow")
        def test_slow(self):
            return op(X)

        def test_it(self):
            return op(X)

    generate_opcheck_tests(TestIt, [ns], test_utils="test_schema")
    assert [name for name in vars(TestIt) if "test_" in name] == ["test_slow", "test_it", "test_schema__test_it"]
    assert np.array_equal(TestIt().test_slow(), np.sin(X))


@pytest.mark.parametrize("target", ["overload", "operator", "name"])
def test_opcheck(target, ns, lib, ops):
    """Opcheck takes an overload, an operator of one overload, or a name; it returns a report, or raises all that failed.

    Differs: checks of opcheck
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", np.sin, "CPU")
    lib.impl("foo", lambda x: np.empty_like(x), "Meta")
    op = {"overload": ops.foo.default, "operator": ops.foo, "name": f"{ns}::foo"}[target]
    report = opcheck(op, (X,))
    assert list(report) == list(ALL)
    assert {report[check] for check in ("test_schema", "test_faketensor", "test_vmap")} == {"SUCCESS"}
    assert list(opcheck(op, (X,), test_utils="test_faketensor")) == ["test_faketensor"]
    lib.impl("foo", lambda x: np.empty(1), "Meta")
    assert said(lambda: opcheck(op, (X,)), OpCheckError).startswith(f"opcheck of {ns}::foo(x: float64[3]): 1 check failed.")
    report = opcheck(op, (X,), raise_exception=False)
    assert list(report.failures) == ["test_faketensor"]
    assert isinstance(report["test_faketensor"], OpCheckError)


def test_opcheck_customopdef(ns):
    """What custom_op returns is checked like any operator, with its gradient where an argument is tracked."""
    sample_inputs = [(X,), (leaf(X),), (leaf(X.reshape(3, 1)),)]
    op = operator(ns)
    op.register_autograd(
        lambda ctx, g: g * np.cos(ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    for args in sample_inputs:
        assert not opcheck(op, args).failures
    assert opcheck(op, sample_inputs[1])["test_gradients"] == "SUCCESS"


def test_is_inside_opcheck_mode(ns):
    """A function can tell whether a generated check is running it."""
    seen = []
    op = operator(ns, lambda x: (seen.append(is_inside_opcheck_mode()), np.sin(x))[1])
    assert not is_inside_opcheck_mode()
    op(X)
    assert seen == [False]
    suite(op)().test_schema__test_it()
    assert True in seen
    assert not is_inside_opcheck_mode()


def test_opcheck_bad_op(lib, ops, ns):
    """What is no operator is refused, of several overloads one is asked for, and an operator that returns a view without saying so
    fails the checks that call it.

    Differs: checks of opcheck; aliases of library operators
    """
    assert said(lambda: opcheck(5, (X,)), ArgumentError) == (
        "opcheck checks an operator or its name, 'ns::name', and was given an int."
    )
    lib.define("view(Tensor x) -> Tensor")
    lib.impl("view", lambda x: x[:], "CPU")
    assert "returned a view of its input 'x'" in said(lambda: opcheck(ops.view, (X,)), OpCheckError)
    assert isinstance(opcheck(ops.view, (X,), raise_exception=False)["test_schema"], OpCheckError)
    lib.define("foo(Tensor x) -> Tensor")
    lib.define("foo.two(Tensor x, Tensor y) -> Tensor")
    assert said(lambda: opcheck(ops.foo, (X,)), ArgumentError) == (
        f"opcheck checks one overload, and {ns}::foo has several: default, two. Name one: {ns}.foo.default."
    )
    assert said(lambda: opcheck(ops.foo.default, (X,), test_utils="test_shema"), ArgumentError).startswith(
        "opcheck has no check 'test_shema'. Did you mean 'test_schema'? Checks: "
    )


def test_opcheck_does_not_require_extra_deps():
    """Opcheck and the generated tests need NumPy and nothing else: no test framework is imported."""
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['pytest', 'hypothesis', 'scipy', 'expecttest', 'torch']))\n"
        "import numpy as np, dispatch\n"
        "print(dispatch.testing.opcheck(dispatch.ops.np.sin, (np.ones(3),))['test_schema'])\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "SUCCESS\n")
    assert dispatch.library.opcheck is opcheck
