"""A wrong call is refused with what the function has: whatever Python would refuse is refused, and nothing else."""

import inspect
import itertools

import numpy as np
import pytest

import dispatch
from dispatch import autograd, library, testing
from dispatch.core.wrong_calls import Block, BlockFunction, clear
from dispatch.errors import ArgumentError

FUNCTIONS = {
    "none": lambda: None,
    "one": lambda x: None,
    "a default": lambda x, y=1: None,
    "by name": lambda x, *, y: None,
    "by name with a default": lambda x, *, y=1: None,
    "by position": eval("lambda x, /, y: None"),
    "any by position": lambda x, *more: None,
    "any by name": lambda x, **more: None,
}
CALLS = [
    (args, dict.fromkeys(names, 0))
    for count in range(4)
    for args in [(0,) * count]
    for names in itertools.chain.from_iterable(itertools.combinations(("x", "y", "z"), n) for n in range(4))
]
BLOCKS = [
    dispatch.no_grad, dispatch.enable_grad, dispatch.set_grad_enabled, dispatch.FakeTensorMode, dispatch.Mode,
    dispatch.detect_anomaly, dispatch.log_calls, dispatch.profile, dispatch.validate, library.Library,
    library.ExcludeDispatchKeyGuard, library.IncludeDispatchKeyGuard,
]  # fmt: skip
WRITTEN = {
    "set_grad_enabled": "set_grad_enabled(enabled)", "validate": "validate(level)", "Library": "Library(ns, kind)",
    "ExcludeDispatchKeyGuard": "ExcludeDispatchKeyGuard(*keys)", "IncludeDispatchKeyGuard": "IncludeDispatchKeyGuard(key)",
}  # fmt: skip
DECORATORS = {
    "no_grad": dispatch.no_grad, "enable_grad": dispatch.enable_grad, "set_grad_enabled": lambda: dispatch.set_grad_enabled(True),
    "FakeTensorMode": dispatch.FakeTensorMode, "Mode": dispatch.Mode, "detect_anomaly": dispatch.detect_anomaly,
    "CallLog": dispatch.log_calls, "Profile": dispatch.profile, "Validation": lambda: dispatch.validate("full"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_python_takes_is_taken_and_what_it_refuses_is_refused(name):
    function = FUNCTIONS[name]
    function.__name__ = "function"
    wrapped = clear(function)
    for args, keywords in CALLS:
        try:
            inspect.signature(function).bind(*args, **keywords)
        except TypeError:
            with pytest.raises(ArgumentError, match=r"^function\(.*\.$"):
                wrapped(*args, **keywords)
        else:
            assert wrapped(*args, **keywords) is None


def test_a_type_error_of_the_function_itself_is_left_alone():
    def broken(x):
        return x + "text"

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        clear(broken)(1)
    assert not isinstance(caught.value, ArgumentError)

    def calls_wrongly(x):
        return (lambda: x)(1)

    with pytest.raises(TypeError, match="takes 0 positional arguments") as caught:
        clear(calls_wrongly)(1)
    assert not isinstance(caught.value, ArgumentError)


def test_names_of_others_are_said_where_the_function_has_ours():
    for call, said in [
        (lambda: dispatch.vmap(np.sin, in_axes=0), "vmap(f, in_dims, out_dims, randomness, *, chunk_size, workers) has no parameter 'in_axes'. Write in_dims=."),
        (lambda: dispatch.grad(np.sin, argnum=0), "grad(f, argnums, has_aux) has no parameter 'argnum'. Write argnums=."),
        (lambda: testing.gradcheck(np.sin, (np.ones(1),), argnum=0), "gradcheck(f, inputs, *, eps, atol, rtol, raise_exception) has no parameter 'argnum'."),
        (lambda: autograd.grad(np.ones(1)), "grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize): 'inputs' must be given. This is autograd.grad, of a result: grad(y, x). The gradient of a function is dispatch.grad(f)(x)."),
    ]:  # fmt: skip
        with pytest.raises(ArgumentError) as caught:
            call()
        assert str(caught.value).partition("(")[0] == said.partition("(")[0]
        assert str(caught.value).partition(")")[2] == said.partition(")")[2]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_a_block_that_is_not_called_says_so(block):
    kind = "class" if isinstance(block, Block) else "function"
    call = WRITTEN.get(block.__name__, f"{block.__name__}()")
    with pytest.raises(ArgumentError) as caught, block:
        pass
    assert str(caught.value) == (
        f"{block.__name__} is a {kind}, and a block is made by calling it. Write `with {call}:`."
    )


def test_every_block_that_is_exported_is_asked():
    def is_block(x):
        return isinstance(x, (Block, BlockFunction))

    found = {getattr(face, name) for face in (dispatch, library, autograd) for name in face.__all__ if is_block(getattr(face, name))}
    assert found == set(BLOCKS)


@pytest.mark.parametrize("name", DECORATORS)
def test_a_block_is_a_decorator(name):
    @DECORATORS[name]()
    def double(x):
        """Twice x."""
        return x * 2

    assert double.__doc__ == "Twice x."
    np.testing.assert_array_equal(double(np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(double(np.ones(2)), [2.0, 2.0])


@pytest.mark.parametrize("name", DECORATORS)
def test_what_runs_later_is_not_decorated(name):
    def items():
        yield 1

    async def later():
        return 1

    class Made:
        pass

    block = DECORATORS[name]()
    for function, kind in ((items, "a generator"), (later, "async")):
        with pytest.raises(ArgumentError) as caught:
            block(function)
        assert str(caught.value) == (
            f"{name} decorates a function, and {function.__name__} is {kind}: its body runs after the call has returned, outside "
            f"the block. Write `with {name}(...):` inside it."
        )
    with pytest.raises(ArgumentError, match="was given the class Made"):
        block(Made)


NOTE = "{who}: {what}, and the function gets a {kind}, with a value for each item. For one array give {one}."


@pytest.mark.parametrize(("call", "who", "what", "kind", "one"), [
    (lambda: dispatch.grad(lambda x: (x * x).sum())([1.0, 2.0]), "grad", "argument 0 is a list of 2", "list", "np.asarray(x)"),
    (lambda: dispatch.jacrev(lambda x: x**2)((1.0, 2.0)), "jacrev", "argument 0 is a tuple of 2", "tuple", "np.asarray(x)"),
    (lambda: dispatch.jvp(lambda x: -x, ([1.0],), ([1.0],)), "jvp", "argument 0 is a list of 1", "list", "the item alone"),
    (lambda: dispatch.while_loop(lambda i: i < 3, lambda i: i + 1, (0,)), "while_loop", "init is a tuple of 1", "tuple", "the item alone"),
], ids=["grad", "jacrev", "jvp", "while_loop"])  # fmt: skip
def test_what_is_raised_of_a_list_says_that_one_was_given(call, who, what, kind, one):
    with pytest.raises(TypeError) as caught:
        call()
    assert caught.value.__notes__ == [NOTE.format(who=who, what=what, kind=kind, one=one)]


@pytest.mark.parametrize(("call", "written"), [
    (lambda f, x: dispatch.vjp(f, (x,)), "vjp(f, *x)"),
    (lambda f, x: dispatch.eval_shape(f, (x,)), "eval_shape(f, *x)"),
    (lambda f, x: dispatch.grad(f)((x,)), "grad(f)(*x)"),
], ids=["vjp", "eval_shape", "grad"])  # fmt: skip
def test_arguments_in_a_tuple_are_told_the_call_of_the_transform(call, written):
    with pytest.raises(TypeError) as caught:
        call(lambda x: np.sum(x**2), np.ones(2))
    assert f"For arguments of the function give them one by one, {written}." in caught.value.__notes__[0]


@pytest.mark.parametrize("given", [np.ones(2), [1.0, 2.0]])
def test_what_is_raised_of_something_else_has_no_note(given):
    def f(x):
        raise TypeError("of something else")

    with pytest.raises(TypeError) as caught:
        dispatch.grad(f)(given)
    assert not hasattr(caught.value, "__notes__")
