"""Signatures of gufuncs: read as NumPy reads them, and bound as NumPy binds them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import said

from dispatch.errors import ArgumentError, SchemaError
from dispatch.operators.gufunc.signature import Signature

names = st.sampled_from(["m", "n", "k", "a_1", "3", "0"])
cores = st.lists(names, max_size=3).map(tuple)
sizes = st.integers(1, 3)


@given(st.lists(cores, min_size=1, max_size=3), st.lists(cores, min_size=1, max_size=2), st.sets(names))
def test_a_signature_is_what_its_text_says(inputs, outputs, optional):
    used = {name for core in inputs + outputs for name in core}
    signature = Signature(tuple(inputs), tuple(outputs), frozenset(optional & used))
    assert Signature.parse(str(signature)) == signature


def test_spaces_and_leading_zeros_do_not_count():
    assert str(Signature.parse(" ( m , n ),( n ) -> ( m, 03 ) ")) == "(m,n),(n)->(m,3)"
    assert str(Signature.parse("()->( )")) == "()->()"


@pytest.mark.parametrize("ufunc", [np.matmul, np.linalg._umath_linalg.solve, np.linalg._umath_linalg.eigh_lo], ids=str)
def test_numpys_own_are_read(ufunc):
    signature = Signature.parse(ufunc.signature)
    assert str(signature) == ufunc.signature.replace(" ", "")
    assert (len(signature.inputs), len(signature.outputs)) == (ufunc.nin, ufunc.nout)


EXAMPLE = 'Write the axes of each array in parentheses, "(m,n),(n)->(m)"; "()" for one number.'
UNREADABLE = [
    (None, f"a signature is a text, and was given as NoneType. {EXAMPLE}"),
    ("(m,n)", f"signature '(m,n)' has no '->'. {EXAMPLE}"),
    ("m->n", f"signature 'm->n' cannot be read at 'm'. {EXAMPLE}"),
    ("->()", f"signature '->()' cannot be read at its end, where an array is due. {EXAMPLE}"),
    ("(n),->()", f"signature '(n),->()' cannot be read at its end, where an array is due. {EXAMPLE}"),
    ("(n)(m)->()", f"signature '(n)(m)->()' cannot be read at '(m)'. {EXAMPLE}"),
    ("(n)->()->()", f"signature '(n)->()->()' cannot be read at '->()'. {EXAMPLE}"),
    ("(n-1)->()", "signature '(n-1)->()': 'n-1' is no dimension. A dimension is a name, a size, or a name with '?'."),
    ("(n,)->()", "signature '(n,)->()': '' is no dimension. A dimension is a name, a size, or a name with '?'."),
    ("(n?),(n)->()", "signature '(n?),(n)->()': 'n' stands there with '?' and without. Write it at every place, or at none."),
]


@pytest.mark.parametrize(("text", "message"), UNREADABLE)
def test_a_text_that_is_no_signature_says_why(text, message):
    assert said(lambda: Signature.parse(text), SchemaError) == message


def test_what_only_the_kernel_can_tell_is_known():
    assert Signature.parse("(m,n)->(p),(3),(p,q)").unknown == ("p", "q")
    signature = Signature.parse("(n)->(p)")
    assert signature.shapes(signature.bind(((2,),))) is None


@st.composite
def calls(draw):
    """A signature and shapes, which fit more often than not."""
    inputs = draw(st.lists(st.lists(st.sampled_from("mnk"), max_size=2).map(tuple), min_size=1, max_size=3))
    known = sorted({name for core in inputs for name in core})
    outputs = (tuple(draw(st.lists(st.sampled_from(known), max_size=2))) if known else (),)
    length = {name: draw(sizes) for name in "mnk"}
    shapes = []
    for core in inputs:
        loop = draw(st.lists(st.sampled_from([1, 1, 2]), max_size=2))
        item = [length[name] if draw(st.integers(0, 9)) else draw(sizes) for name in core]
        shapes.append((*loop, *item)[draw(st.integers(0, 9)) == 0 :])
    return Signature(tuple(inputs), outputs), tuple(shapes)


@given(calls())
def test_shapes_bind_as_numpys_vectorize_binds_them(call):
    signature, shapes = call

    def item(*xs):
        found = {name: n for core, x in zip(signature.inputs, xs, strict=True) for name, n in zip(core, np.shape(x), strict=True)}
        return np.zeros([found[name] for name in signature.outputs[0]])

    oracle = np.vectorize(item, signature=str(signature))
    try:
        expected = oracle(*map(np.zeros, shapes)).shape
    except ValueError:
        with pytest.raises(ArgumentError):
            signature.bind(shapes)
    else:
        assert signature.shapes(signature.bind(shapes)) == (expected,)


@given(st.lists(sizes, max_size=4).map(tuple), st.lists(sizes, max_size=4).map(tuple))
def test_optional_dimensions_bind_as_matmuls(x, y):
    signature = Signature.parse(np.matmul.signature)
    try:
        expected = np.matmul(np.zeros(x), np.zeros(y)).shape
    except ValueError:
        with pytest.raises(ArgumentError):
            signature.bind((x, y))
    else:
        binding = signature.bind((x, y))
        assert signature.shapes(binding) == (expected,)
        kept = signature.without(binding.missing)
        assert kept.shapes(kept.bind((x, y))) == (expected,)


def test_a_binding_says_loop_sizes_and_what_is_missing():
    signature = Signature.parse("(n?,k),(k,m?)->(n?,m?)")
    loop, found, missing, ndims = signature.bind(((5, 2, 3), (3,)))
    assert (loop, found, missing, ndims) == ((5,), {"n": 2, "k": 3}, {"m"}, (1, 0))


def test_a_fixed_size_is_a_size_of_the_outputs_too():
    signature = Signature.parse("(3),(3)->(3),()")
    assert signature.shapes(signature.bind(((7, 3), (3,)))) == ((7, 3), (7,))


MISFITS = [
    (
        "(m,n),(n)->(m)",
        ((5, 2, 3), (4,)),
        ("tests::f: dimension n of (m,n),(n)->(m) is 3 in 'a' and 4 in 'x'.\n"
         "  a  (m,n)  shape (5, 2, 3)  m=2 n=3  loop (5,)\n"
         "  x  (n)    shape (4,)       n=4      loop ()"),
    ),
    (
        "(n,n),()->()",
        ((2, 3), ()),
        ("tests::f: dimension n of (n,n),()->() is 2 in 'a' and 3 in 'a'.\n"
         "  a  (n,n)  shape (2, 3)  n=2 n=3  loop ()\n"
         "  x  ()     shape ()               loop ()"),
    ),
    (
        "(m,n),(n)->(m)",
        ((3,), (3,)),
        ("tests::f: 'a' has 1 axis, and (m,n) asks for 2 at least.\n"
         "  a  (m,n)  shape (3,)\n"
         "  x  (n)    shape (3,)  n=3  loop ()"),
    ),
    (
        "(n?,k),(k)->(n?)",
        ((), (3,)),
        ("tests::f: 'a' has 0 axes, and (n?,k) asks for 1 at least.\n"
         "  a  (n?,k)  shape ()\n"
         "  x  (k)     shape (3,)  k=3  loop ()"),
    ),
    (
        "(3),()->()",
        ((2,), ()),
        ("tests::f: an axis of 'a' has length 2, and (3),()->() says 3.\n"
         "  a  (3)  shape (2,)  loop ()\n"
         "  x  ()   shape ()    loop ()"),
    ),
    (
        "(n),()->()",
        ((5, 2), (4,)),
        ("tests::f: the loop dimensions (5,) of 'a' and (4,) of 'x' do not broadcast.\n"
         "  a  (n)  shape (5, 2)  n=2  loop (5,)\n"
         "  x  ()   shape (4,)         loop (4,)"),
    ),
]


@pytest.mark.parametrize(("text", "shapes", "message"), MISFITS)
def test_shapes_that_do_not_fit_are_said_with_every_size(text, shapes, message):
    with pytest.raises(ArgumentError) as caught:
        Signature.parse(text).bind(shapes, ("a", "x"), "tests::f")
    assert str(caught.value) == message
    assert caught.value.operator == "tests::f"
    assert caught.value.argument in ("a", "x")


def test_without_names_the_arguments_are_numbered():
    message = said(lambda: Signature.parse("(n),(n)->()").bind(((2,), (3,))), ArgumentError)
    assert message.startswith("this call: dimension n of (n),(n)->() is 2 in 'argument 0' and 3 in 'argument 1'.\n  argument 0  (n)")
