"""Attributes that wrapped values do not have, by the names that torch, JAX and pandas have: each says the line to write.

The oracle of a line is NumPy: what is told can be written, and gives what NumPy gives.
"""

import traceback

import numpy as np
import pytest

import dispatch
from dispatch.core import Level, wrap

A = np.arange(1.0, 4.0)
HELD: dict[str, object] = {}  # what a transform gives a function, which holds after it


def held(name):
    def f(x):
        HELD[name] = x
        return x * 2

    return f


def values():
    dispatch.vmap(held("batched"))(np.ones((2, 3)))
    dispatch.functionalize(held("functional"))(A)
    dispatch.jvp(held("dual"), (A,), (A,))
    dispatch.make_fx(held("traced"))(A)
    return {"tracked": dispatch.tensor(A, requires_grad=True), "fake": dispatch.FakeTensorMode().from_array(A), **HELD}


TORCH = """
addmm apply_ bmm bool byte cat char chunk clamp clone contiguous copy_ cpu cuda data_ptr detach_ dim div_ double element_size expand expand_as
float ceil gather half index_add_ index_select int is_complex is_contiguous is_cuda is_floating_point layout lerp logsumexp long masked_fill
masked_fill_ masked_select median mm mul_ narrow ndimension neg nelement new_empty new_full new_ones new_tensor new_zeros norm numel numpy
permute pin_memory pow reciprocal relu repeat_interleave requires_grad_ roll rsqrt scatter scatter_ share_memory_ short sigmoid sign softmax
split stack storage stride sub_ t tanh to topk tril triu type type_as unbind unique unsqueeze view_as where zero_
""".split()  # fmt: skip
JAX = "at aval block_until_ready copy_to_host_async delete devices device_buffer sharding weak_type".split()
PANDAS = "iloc loc to_numpy values".split()
VALUES = values()


@pytest.mark.parametrize("name", [*TORCH, *JAX, *PANDAS])
def test_other_libraries_names_say_what_to_write(name):
    for what in VALUES:
        x = VALUES[what]
        if name in dir(x):
            continue
        with pytest.raises(AttributeError, match=rf"a {type(x).__name__} has no attribute '{name}'.* Write .+\.$"):
            getattr(x, name)


@pytest.mark.parametrize("what", [what for what in VALUES if what != "tracked"])
@pytest.mark.parametrize("name", ["grad", "backward", "is_leaf", "grad_fn", "requires_grad", "retain_grad"])
def test_what_a_tape_alone_has_is_asked_of_another_value(what, name):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'.* Write dispatch\.grad\(f\)\(x\), the gradient of"):
        getattr(VALUES[what], name)


def test_a_line_that_is_told_can_be_written():
    """The functions of NumPy that stand for a name of torch's take the value; the oracle is NumPy."""
    x = dispatch.tensor(A, requires_grad=True)
    for name in ("ceil", "median", "sign", "reciprocal", "tanh", "unique", "triu", "roll"):
        with pytest.raises(AttributeError, match=rf"Write np\.{name}\(x\)\."):
            getattr(x, name)
    np.testing.assert_array_equal(dispatch.detach(np.ceil(x)), np.ceil(A))


LINES = ["x.copy()", "x.ndim", "x.size", "x.T", "np.expand_dims(x, 0)", "x.astype(np.float32)", "np.maximum(x, 2)", "x @ x", "1 / np.sqrt(x)"]


@pytest.mark.parametrize("line", LINES)
def test_the_lines_give_what_numpy_gives(line):
    found = eval(line, {"np": np, "x": VALUES["tracked"]})
    np.testing.assert_array_equal(np.asarray(dispatch.detach(found)), eval(line, {"np": np, "x": A}))


def test_what_no_library_has_is_told_where_names_are():
    with pytest.raises(AttributeError, match=r"^a TrackedTensor has no attribute 'qqqqqq'\. It has those of an ndarray: dir\(x\) lists them\.$"):
        _ = VALUES["tracked"].qqqqqq
    with pytest.raises(AttributeError, match=r"^'TrackedTensor' object has no attribute '__qq__'$"):
        _ = VALUES["tracked"].__qq__
    with pytest.raises(AttributeError, match=r"no attribute 'requires_gard' that could be set\. Did you mean 'requires_grad'"):
        VALUES["tracked"].requires_gard = True
    with pytest.raises(AttributeError, match=r"no attribute 'grda'\. Did you mean 'grad'"):
        _ = VALUES["tracked"].grda


def test_what_a_property_raises_is_raised_as_it_is_and_the_property_runs_once():
    runs = []

    class Odd(type(VALUES["tracked"])):
        @property
        def odd(self):
            runs.append(self)
            raise AttributeError("what the property says")

    with Level("test") as level, pytest.raises(AttributeError, match=r"^what the property says$"):
        _ = wrap(Odd, A, level).odd
    assert len(runs) == 1


def test_python_adds_no_guess_of_its_own_to_the_line_to_write():
    with pytest.raises(AttributeError) as caught:
        dispatch.tensor(np.ones(2), requires_grad=True).numpy()
    assert "".join(traceback.format_exception_only(caught.value)).endswith("or dispatch.detach(x), a constant.\n")
