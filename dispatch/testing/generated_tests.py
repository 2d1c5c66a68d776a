"""`generate_opcheck_tests`: runs every test of a test class again for each check of `opcheck`.

The test suite of a library calls its operators with the arguments that matter. While a generated test runs, each of these
calls goes through one check first. Known failures are listed in a file, so the suite passes and the list can get shorter.
"""

import inspect
import json
import os
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..core import OBSERVE, Definition, OpOverload, Setting, Tensor, Without, setting
from ..core.pytree import field_names, items_of
from ..core.wrong_calls import clear, holding
from ..dispatcher.observer import Watcher
from ..errors import DefinitionError, OpCheckError, did_you_mean, kind_of
from ..layers.autograd import TrackedTensor
from ..operators.namespaces import defined_now, ops
from .cases import arrays_in
from .operator_checks import ALL, opcheck

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

STATUSES = ("xfail", "skip")
ACCEPT = "DISPATCH_OPCHECK_ACCEPT"  # set to 1: what fails is entered into the file, what passes leaves it
SAVE = "DISPATCH_OPCHECK_PRINT_BETTER_REPRO"  # set to 1: the arguments of a failing call are saved, for the script
_MARK = "_dispatch_generates_no_opcheck_tests"
DESCRIPTION = [
    "What is known to fail: operator, test, and xfail (fails, as expected) or skip (not run).",
    f"Run the tests with {ACCEPT}=1 to bring this file up to date.",
]


@holding("reason")
def dont_generate_opcheck_tests(reason: str) -> Callable[[F], F]:
    """Return a decorator that excludes a test from `generate_opcheck_tests`.

    Parameters
    ----------
    reason : str
        Why; for those who read the test.

    Returns
    -------
    callable
        The decorator, which returns the test itself.

    Examples
    --------
    >>> class TestSlow:
    ...     @dont_generate_opcheck_tests("it calls np::sin a million times")
    ...     def test_sin(self): ...
    >>> _ = generate_opcheck_tests(TestSlow, ["np"])
    >>> [name for name in vars(TestSlow) if name.startswith("test")]
    ['test_sin']
    """

    def mark(test: F) -> F:
        setattr(test, _MARK, reason)
        return test

    return mark


@clear
def is_inside_opcheck_mode() -> bool:
    """Return whether this code runs because a check of `generate_opcheck_tests` called an operator in this thread.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_inside_opcheck_mode()
    False
    """
    return setting(OBSERVE) is not None

SHAPE = '{"data": {"ns::name": {"test_vmap": {"status": "xfail"}}}}'


class Failures:
    """The file of known failures."""

    def __init__(self, path: str | os.PathLike[str] | None, *, known: bool = False) -> None:
        self.path = None if path is None else os.fspath(path)  # pathlib is 3 ms of every import
        self.data: dict[str, dict[str, dict[str, str]]] = {}
        if known and self.path is not None and not (os.path.exists(self.path) or os.environ.get(ACCEPT) == "1"):
            raise DefinitionError(f"there is no file {self.path}. A run with {ACCEPT}=1 in the environment writes it.")
        if self.path is not None and os.path.exists(self.path):
            try:
                with open(self.path, encoding="utf-8") as file:
                    self.data = json.load(file)["data"]
                entries = [(op, test, e["status"]) for op, tests in self.data.items() for test, e in tests.items()]
            except OSError as error:  # a folder, or what may not be read
                raise DefinitionError(f"{self.path} cannot be read: {error.strerror}. Name a file of failures.") from None
            except json.JSONDecodeError as error:
                place = f"line {error.lineno}, column {error.colno}"
                said = f"{self.path} is no JSON: {error.msg[0].lower()}{error.msg[1:]}, {place}"
                raise DefinitionError(f"{said}. Write {SHAPE}.") from None
            except (ValueError, KeyError, TypeError, AttributeError):
                raise DefinitionError(f"{self.path} is no file of failures. Write {SHAPE}.") from None
            for op, test, status in entries:
                if status not in STATUSES:
                    raise DefinitionError(
                        f"{self.path}: {op}, {test} has the status {status!r}. Write one of {', '.join(STATUSES)}."
                    )

    def status(self, op: str, test: str) -> str:
        """Return the known status of an operator in a test, or an empty string."""
        return self.data.get(op, {}).get(test, {}).get("status", "")

    def enter(self, op: str, test: str, status: str) -> None:
        """Add a failure, or remove it if the status is empty, and write the file."""
        if status:
            self.data.setdefault(op, {})[test] = {"status": status}
        else:
            self.data.get(op, {}).pop(test, None)
        self.data = {name: dict(sorted(tests.items())) for name, tests in sorted(self.data.items()) if tests}
        if self.path is not None:
            text = json.dumps({"_description": DESCRIPTION, "_version": 1, "data": self.data}, indent=1)
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def check_names(self, testcase: type, tests: Sequence[str]) -> None:
        """Raise for entries about tests that the class no longer has."""
        for op, entries in self.data.items():
            for entry in entries:
                name, _, test = entry.partition(".")
                if name == testcase.__name__ and test not in tests:
                    raise DefinitionError(
                        f"{self.path}: {op} names {entry}, and {name} generates no such test.{did_you_mean(test, tests)}"
                    )

    def check_operators(self, namespaces: Collection[str]) -> None:
        """Raise for entries of operators of these namespaces that nothing defines."""
        for op in self.data:
            namespace, _, name = op.partition("::")
            if namespace in namespaces and op not in (names := [each.name for each in defined_now()]):
                near = did_you_mean(name, [each.partition("::")[2] for each in names if each.startswith(f"{namespace}::")])
                raise DefinitionError(f"{self.path}: there is no operator {op}.{near} Take its entry out, or mend its name.")

    def check_tests(self, op: str, checks: Sequence[str]) -> None:
        """Raise for entries of an operator about checks that there are not; a test is a check, or `check[sample]`."""
        for test in self.data.get(op, {}):
            name = test.partition("[")[0]
            if "." not in name and name not in checks:  # Class.test is of generate_opcheck_tests
                raise DefinitionError(f"{self.path}: {op} has no test {test}.{did_you_mean(name, checks)}")


class Checking(Watcher):
    """A mode that runs one check of `opcheck` on every call from the test, before the call."""

    def __init__(self, namespaces: Sequence[str], util: str, test: str, failures: Failures) -> None:
        super().__init__()
        self.namespaces, self.util, self.test, self.failures = namespaces, util, test, failures
        self.inside = False

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]
    ) -> Any:
        if self.inside:
            return proceed()
        self.inside = True
        try:
            if op.schema.namespace in self.namespaces and all(_is_checkable(x) for x in arrays_in(args)):
                self.check(op, args, proceed)
            return proceed()
        finally:
            self.inside = False

    def check(self, op: OpOverload, args: tuple[Any, ...], proceed: Callable[[], Any]) -> None:
        """Run the check and compare its outcome with the known failures."""
        status = self.failures.status(op.name, self.test)
        if status == "skip":
            return
        count = op.arguments.positional
        named = dict(zip(op.arguments.keyword_names, args[count:], strict=True))
        with Without(self), Setting(OBSERVE, self):
            report = opcheck(op, args[:count], named, test_utils=self.util, raise_exception=False, isolate=False)
        failed = self.util in report.failures
        if failed == (status == "xfail"):
            return
        if os.environ.get(ACCEPT) == "1":
            self.failures.enter(op.name, self.test, "xfail" if failed else "")
        elif failed:
            error = report.failures[self.util]
            text = f"{error}\n{repro(op, args[:count], named, self.util)}"
            proceed()  # a test of what a call raises sees that, and no fault
            raise OpCheckError(text, operator=op.name) from error
        else:
            raise OpCheckError(
                f"{op.name} passes {self.test}, and {self.failures.path} says that it fails. Remove it there, or run the tests "
                f"with {ACCEPT}=1.",
                operator=op.name,
            )


def _is_checkable(x: Any) -> bool:
    """Whether a check can vary a value: an array with data, plain or tracked at level 0."""
    tracked = isinstance(x, TrackedTensor) and x.level.number == 0 and not isinstance(x.value, Tensor)
    return tracked or not isinstance(x, Tensor)


def repro(op: OpOverload, args: Sequence[Any], kwargs: dict[str, Any], util: str) -> str:
    """Return a script that runs one check again, with the values of the arguments if they are saved."""
    saved: dict[str, Any] = {}

    def text(x: Any) -> str:
        if isinstance(x, TrackedTensor):
            return f"dispatch.tensor({text(x.value)}, requires_grad=True)"
        if isinstance(x, (np.ndarray, np.generic)):
            saved[f"a{len(saved)}"] = x
            return f"saved['a{len(saved) - 1}']" if save else f"np.ones({x.shape}, {x.dtype.str!r})"
        if isinstance(x, dict):
            return "{" + ", ".join(f"{key!r}: {text(item)}" for key, item in x.items()) + "}"
        items, names = items_of(x), field_names(type(x))
        if items is not None and names is not None:
            return f"{type(x).__qualname__}({', '.join(f'{n}={text(item)}' for n, item in zip(names, items, strict=True))})"
        if isinstance(x, (list, tuple)):
            inside = ", ".join(map(text, x))
            return f"[{inside}]" if isinstance(x, list) else f"({inside}{',' if len(x) == 1 else ''})"
        return repr(x)

    save = os.environ.get(SAVE) == "1"
    given, named = text(tuple(args)), "{" + ", ".join(f"{name!r}: {text(x)}" for name, x in kwargs.items()) + "}"
    lines = ["To see it alone:", "  import numpy as np, dispatch"]
    if save:
        path = os.path.abspath(f"opcheck_{op.schema.namespace}_{op.schema.name}_{util}.npz")
        np.savez(path, **saved)
        lines.append(f"  saved = np.load({path!r})")
    name = f"{op.schema.namespace}.{op.schema.name}" + (f".{op.schema.overload}" if op.schema.overload else "")
    lines.append(f"  dispatch.testing.opcheck(dispatch.ops.{name}, {given}, {named}, test_utils={util!r})")
    if not save and saved:
        lines.append(f"with arrays of ones; run the tests with {SAVE}=1 to save the values of the failing call.")
    return "\n".join(lines)


@holding("testcase", "namespaces", "failures_dict_path", "additional_decorators", "test_utils")
def generate_opcheck_tests(
    testcase: C,
    namespaces: Sequence[str],
    failures_dict_path: str | os.PathLike[str] | None = None,
    additional_decorators: dict[str, Callable[[Any], Any]] | None = None,
    test_utils: str | Sequence[str] = ALL,
) -> C:
    """Add to a test class, for each of its tests and each check, a test `check__test` under which operators are checked.

    Parameters
    ----------
    testcase : type
        A class with methods named `test_...`, of unittest or of pytest.
    namespaces : sequence of str
        The operators that are checked.
    failures_dict_path : path, optional
        The JSON file of known failures.
    additional_decorators : dict, optional
        A decorator for each name of a generated test.
    test_utils : str or sequence of str
        The checks, all by default.

    Returns
    -------
    type
        The class, so that `functools.partial` of this can decorate it.

    Raises
    ------
    DefinitionError
        If the file of failures names a test that is not there.

    Examples
    --------
    >>> class TestSin:
    ...     def test_ones(self):
    ...         dispatch.ops.np.sin(np.ones(2))
    >>> _ = generate_opcheck_tests(TestSin, ["np"], test_utils=["test_schema"])
    >>> [name for name in vars(TestSin) if name.startswith("test")]
    ['test_ones', 'test_schema__test_ones']
    """
    cls: object = testcase
    if not isinstance(cls, type):
        raise DefinitionError(f"generate_opcheck_tests adds tests to a class of tests, and was given {kind_of(cls)}.")
    if isinstance(namespaces, str):
        raise DefinitionError(f"generate_opcheck_tests: namespaces is a list of names. Write [{namespaces!r}].")
    utils = ALL if test_utils == "ALL" else (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    failures = Failures(failures_dict_path)
    made: dict[str, Any] = {}
    for name, test in list(vars(testcase).items()):
        if name.startswith("test") and inspect.isfunction(test) and not hasattr(test, _MARK):
            for util in utils:
                generated = _generated(testcase, test, f"{util}__{name}", namespaces, util, failures)
                decorate = (additional_decorators or {}).get(generated.__name__)
                made[generated.__name__] = generated if decorate is None else decorate(generated)
    if not any(name.startswith("test") for name in vars(testcase)):
        raise DefinitionError(
            f"generate_opcheck_tests adds a test for each test of a class, and {testcase.__name__} has none: write methods of "
            "the names test_... in the class itself."
        )
    failures.check_names(testcase, list(made))
    for name, test in made.items():
        setattr(testcase, name, test)
    return testcase


def _generated(
    testcase: type, test: Callable[..., Any], name: str, namespaces: Sequence[str], util: str, failures: Failures
) -> Callable[..., Any]:
    @wraps(test)
    def checking(*args: Any, **keywords: Any) -> Any:
        with Checking(namespaces, util, f"{testcase.__name__}.{name}", failures):
            result = test(*args, **keywords)
        for namespace in namespaces:  # which the test may have defined
            if namespace not in dir(ops):
                said = f"generate_opcheck_tests: there is no namespace {namespace!r}, so that nothing is checked."
                raise DefinitionError(said + (did_you_mean(namespace, dir(ops)) or f" Namespaces: {', '.join(dir(ops))}."))
        return result

    checking.__name__ = name
    checking.__qualname__ = f"{testcase.__qualname__}.{name}"
    return checking
