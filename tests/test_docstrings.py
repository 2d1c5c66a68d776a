"""What `help()` says of every public name: it has an example, its parameters, what it returns, and nothing that is not there.

The examples themselves are run as doctests.
"""

import inspect
import re
from functools import cached_property
from inspect import Parameter

import numpy as np
import pytest

import dispatch
import dispatch.graph
import dispatch.testing
from dispatch.layers.autograd import TrackedTensor
from dispatch.layers.autograd.context import Context
from dispatch.layers.autograd.gradient_hooks import Handle
from dispatch.layers.fake.rule_context import FakeContext
from dispatch.layers.trace.tensor import TracedTensor
from dispatch.layers.vmap import BatchedTensor
from dispatch.numpy_ops.protocols import ON_TENSORS
from dispatch.operators.kernel_handle import KernelFunction

FACES = [dispatch, dispatch.library, dispatch.autograd, dispatch.testing, dispatch.graph]
SHORT = [(dispatch.graph, "dumps"), (dispatch.graph, "loads")]  # methods of Graph by a second name
NAMES = {
    f"{face.__name__}.{name}": getattr(face, name)
    for face in FACES
    for name in face.__all__
    if not inspect.ismodule(getattr(face, name)) and (face, name) not in SHORT
}
IN_HAND = [TrackedTensor, BatchedTensor, TracedTensor, Context, FakeContext, Handle, KernelFunction]  # what users are given
CLASSES = {cls.__name__: cls for cls in [*NAMES.values(), *IN_HAND] if inspect.isclass(cls)}


def public_members(cls):
    """The methods and properties that a class defines itself, but for those of NumPy's arrays, which NumPy describes.

    A method that overrides a documented one says no more.
    """
    for name, member in vars(cls).items():
        member = getattr(member, "__func__", member)
        member = property(member.func) if isinstance(member, cached_property) else member
        if name.startswith("_") or (cls is dispatch.Tensor and name in ON_TENSORS):
            continue
        inherits = not member.__doc__ and inspect.getdoc(getattr(cls, name))
        if isinstance(member, property) or (inspect.isroutine(member) and not inherits):
            yield f"{cls.__name__}.{name}", member


MEMBERS = {name: member for cls in CLASSES.values() for name, member in public_members(cls)}
FUNCTIONS = {name: f for name, f in (NAMES | MEMBERS).items() if inspect.isroutine(f)}


def described(doc, section):
    """The names that a section of a numpydoc docstring describes."""
    _, _, rest = doc.partition(f"{section}\n{'-' * len(section)}\n")
    body = re.split(r"\n\n\w[\w ]*\n-{3,}\n", rest)[0]
    entries = re.findall(r"^(?! )([^\n:]+?)(?: : |$)", body, flags=re.MULTILINE)
    return [name.lstrip("*") for entry in entries for name in entry.split(", ")]


def parameters_of(name, kinds):
    """The parameters of a function of some kinds; of a method those after the first."""
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters.values())[name in MEMBERS :]
    return [p.name for p in parameters if p.kind in kinds]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_has_an_example(name):
    assert "\n>>> " in inspect.getdoc(NAMES[name])


@pytest.mark.parametrize("name", [name for name in ON_TENSORS if hasattr(np.ndarray, name) and not name.startswith("__") and name != "data"])
def test_a_method_of_numpy_s_arrays_refers_to_numpy(name):
    name_of_both = {"conj": "conjugate"}.get(name, name)
    assert getattr(dispatch.Tensor, name).__doc__ == f"Do what `numpy.ndarray.{name_of_both}` does, on a wrapper."


@pytest.mark.parametrize("name", sorted(NAMES | MEMBERS))
def test_a_docstring_opens_with_one_sentence_on_one_line(name):
    doc = inspect.getdoc((NAMES | MEMBERS)[name])
    summary, _, rest = doc.partition("\n")
    if re.match(r"\w[\w.]*\(.*\)( -> \w+)?$", summary):  # the signature, which Cython puts there
        summary, _, rest = rest.lstrip("\n").partition("\n")
    assert re.search(r"[.:`]$", summary), summary
    assert not rest or rest.startswith("\n"), "the summary goes on in a second line"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_docstring_describes_each_parameter_and_no_other(name):
    said = described(inspect.getdoc(FUNCTIONS[name]), "Parameters")
    variadic = parameters_of(name, (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD))  # which only some need to describe
    assert [word for word in said if word not in variadic] == parameters_of(
        name, (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_docstring_says_what_comes_back(name):
    returns, doc = inspect.signature(FUNCTIONS[name]).return_annotation, inspect.getdoc(FUNCTIONS[name])
    if returns not in (None, "None", inspect.Signature.empty) and "Iterator[None]" not in str(returns):
        assert "Returns\n---" in doc or "Yields\n---" in doc or doc.startswith(("Return ", "Raise "))
