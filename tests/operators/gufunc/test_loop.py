"""The loop by itself: which shapes it takes, what it hands its kernel, what it makes of results."""

import gc
import sys
import warnings
import weakref

import numpy as np
import pytest
from children import said_by_child
from hypothesis import given
from hypothesis import strategies as st

import dispatch
from dispatch.errors import ArgumentError
from dispatch.library import get_kernel
from dispatch.operators.gufunc.loop import Loop, hollow
from dispatch.operators.gufunc.signature import Signature
from dispatch.operators.gufunc.walk import Walk


class RefusedError(Exception):
    """What `Told` answers with, to tell it from anything else that is raised."""


class Told:
    """Notes what a loop asks for in place of words."""

    def __getattr__(self, name):
        return lambda *args: RefusedError(name, *args)

    def bound(self, args, keywords):
        return (*args, *keywords.values())

    def empty(self, args):
        return "empty"

    def elsewhere(self, kernel, args):
        return "elsewhere"


def looped(text, kernel, *, places=None, positional=None, keywords=(), spread=None):
    signature = Signature.parse(text)
    names = list(dict.fromkeys(name for core in signature.inputs + signature.outputs for name in core))
    numbered = [tuple(tuple(map(names.index, core)) for core in cores) for cores in (signature.inputs, signature.outputs)]
    fixed = tuple(int(name) if name.isdigit() else -1 for name in names)
    places = tuple(range(len(signature.inputs))) if places is None else places
    positional = len(places) if positional is None else positional
    return Loop(kernel, *numbered, fixed, places, positional, keywords, Told(), spread)


def refusal(call):
    with pytest.raises(RefusedError) as caught:
        call()
    return caught.value.args


A = np.arange(24.0).reshape(2, 4, 3)

shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(st.sampled_from(["(),()->()", "(n),(n)->()", "(m,n),(n)->()", "(3),(n)->()", "(n,n),()->()"]), shapes, shapes)
def test_c_takes_the_shapes_that_the_signature_binds(text, x, y):
    arrays = np.zeros(x), np.zeros(y)
    try:
        binding = Signature.parse(text).bind((x, y))
    except ArgumentError:
        assert refusal(lambda: looped(text, lambda x, y: np.zeros(()))(*arrays))[0] == "refused"
    else:
        seen = []
        out = looped(text, lambda x, y: seen.append((x.shape, y.shape)) or np.zeros(()))(*arrays)
        cores = [shape[n:] for shape, n in zip((x, y), binding.ndims, strict=True)]
        assert seen == [tuple(cores)] * int(np.prod(binding.loop))
        assert out.shape == binding.loop


def test_items_come_in_c_order_as_views_of_the_array():
    seen = []
    looped("(n)->()", lambda x: seen.append(x) or x.sum())(A.swapaxes(0, 1))
    assert len({id(x) for x in seen}) == len(seen) == 8
    for x, wanted in zip(seen, A.swapaxes(0, 1).reshape(8, 3), strict=True):
        assert np.shares_memory(x, A)
        assert np.array_equal(x, wanted)


@pytest.mark.parametrize("keep", [lambda x: x, lambda x: x[::-1], memoryview, weakref.ref, lambda x: [x]], ids=range(5))
def test_what_a_kernel_keeps_of_an_item_stays_as_it_was(keep):
    kept, alive = [], []

    def kernel(x):
        kept.append(keep(x))
        alive.append(x)
        return x.copy()

    looped("(n)->(n)", kernel)(A)
    for found, wanted in zip(kept, A.reshape(8, 3), strict=True):
        value = found() if isinstance(found, weakref.ref) else found[0] if isinstance(found, list) else np.asarray(found)
        assert np.array_equal(value, wanted if value[0] < value[-1] else wanted[::-1])


def test_a_weak_reference_to_an_item_dies_with_it():
    references = []
    looped("(n)->(n)", lambda x: references.append(weakref.ref(x)) or x)(A)
    assert [reference() for reference in references] == [None] * 8


SPOILS = [
    lambda x: x.setflags(write=False),
    lambda x: setattr(x, "dtype", np.int64),
    lambda x: setattr(x, "shape", (3, 1)),
    lambda x: setattr(x, "shape", (1, 3)),
]


@pytest.mark.parametrize("spoil", SPOILS, ids=range(4))
@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype):DeprecationWarning")
def test_a_kernel_that_changes_its_item_gets_the_next_one_as_it_is(spoil):
    seen = []

    def kernel(x):
        seen.append((x.shape, x.dtype, x.flags.writeable, x.tolist()))
        spoil(x)
        return np.zeros(3)

    looped("(n)->(n)", kernel)(A)
    assert seen == [((3,), np.dtype(float), True, row) for row in A.reshape(8, 3).tolist()]


def test_items_are_read_only_where_the_array_is_and_unaligned_where_it_is():
    frozen = A.copy()
    frozen.setflags(write=False)
    unaligned = np.frombuffer(bytearray(1 + A.nbytes), dtype=np.uint8)[1:].view(float).reshape(A.shape)
    flags = []
    for x in (frozen, unaligned):
        looped("(n)->()", lambda x: flags.append((x.flags.writeable, x.flags.aligned)) or x.sum())(x)
    assert flags == [(False, True)] * 8 + [(True, False)] * 8


def test_a_kernel_may_return_its_input_or_one_workspace():
    work = np.empty(3)

    def reused(x):
        work[:] = 2 * x
        return work

    assert np.array_equal(looped("(n)->(n)", lambda x: x)(A), A)
    assert np.array_equal(looped("(n)->(n)", reused)(A), 2 * A)


ITEMS = {
    "contiguous": lambda x: x + 1,
    "strided": lambda x: np.repeat(x + 1, 2)[::2],
    "backwards": lambda x: (x + 1)[::-1][::-1],
}


@pytest.mark.parametrize("kernel", ITEMS.values(), ids=ITEMS)
def test_results_of_any_layout_are_stored(kernel):
    out = looped("(n)->(n)", kernel)(A)
    assert np.array_equal(out, A + 1)
    assert out.flags.c_contiguous
    assert out.flags.owndata


DTYPES = ["?", "i1", "u8", "f2", "f4", ">f8", "g", "F", "G", "M8[ms]", "m8[s]", "U3", "S2", "O", "f4,i8", ">i4"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [lambda x: x.copy(), lambda x: x[()]], ids=["array", "scalar"])
def test_results_of_any_dtype_are_stored(dtype, make):
    x = np.zeros((2, 3), dtype)
    x[0, 1] = x[1, 2] = np.ones((), dtype)
    if dtype == "O":
        make = np.ndarray.copy  # x[()] is the object itself, which is no array
    out = looped("()->()", make)(x)
    assert out.shape == x.shape
    assert np.array_equal(out, x)
    assert out.dtype == np.asarray(make(x[0, 0, ...])).dtype


def test_the_first_item_decides_the_dtype_and_scalars_are_0d_arrays():
    out = looped("()->()", lambda x: np.float32(x) if x > 3 else np.asarray(x, np.float32))(np.arange(6.0))
    assert out.dtype == np.float32
    assert np.array_equal(out, np.arange(6.0))


def test_several_outputs_are_each_their_own():
    total, doubled = looped("(n)->(),(n)", lambda x: (x.sum(), 2 * x))(A)
    assert np.array_equal(total, A.sum(-1))
    assert np.array_equal(doubled, 2 * A)
    listed = looped("(n)->(),(n)", lambda x: [x.sum(), 2 * x])(A)
    assert type(listed) is tuple
    assert np.array_equal(listed[0], total)


def test_a_dimension_that_no_input_has_is_as_long_as_the_first_item_says():
    loop = looped("(n)->(p)", lambda x: x[: 2 if x[0] < 12 else 1])
    assert loop(A[:1]).shape == (1, 4, 2)
    assert refusal(lambda: loop(A)) == ("shape", 0, (1,), (2,))


BAD = [
    ("(n)->(n)", lambda x: x[:2], ("shape", 0, (2,), (3,))),
    ("(n)->()", lambda x: x, ("shape", 0, (3,), ())),
    ("(n)->(),(n)", lambda x: (x.sum(), x[:1]), ("shape", 1, (1,), (3,))),
    ("(n)->()", lambda x: x.sum() if x[0] == 0 else x, ("shape", 0, (3,), ())),
    ("(n)->(n)", lambda x: x if x[0] == 0 else x[:1], ("shape", 0, (1,), (3,))),
    ("(n)->()", lambda x: x.sum() if x[0] == 0 else np.int64(1), ("dtype", 0, np.dtype("i8"), np.dtype("f8"))),
    ("(n)->(n)", lambda x: x if x[0] == 0 else x.astype("f4"), ("dtype", 0, np.dtype("f4"), np.dtype("f8"))),
    ("(n)->()", lambda x: 1.5, ("kind", 0, 1.5)),
    ("(n)->()", lambda x: None, ("kind", 0, None)),
    ("(n)->()", lambda x: x.sum() if x[0] == 0 else [], ("kind", 0, [])),
    ("(n)->(n)", lambda x: np.ma.masked_array(x), ("kind", 0)),
    ("(n)->(),()", lambda x: x.sum(), ("count",)),
    ("(n)->(),()", lambda x: (x.sum(),), ("count",)),
    ("(n)->(),()", lambda x: (x.sum(),) * 3, ("count",)),
]


@pytest.mark.parametrize(("text", "kernel", "asked"), BAD, ids=range(len(BAD)))
def test_a_result_that_is_not_like_the_first_or_not_as_the_signature_says_is_refused(text, kernel, asked):
    assert refusal(lambda: looped(text, kernel)(A))[: len(asked)] == asked


def test_more_axes_than_numpy_has_are_refused():
    x = np.zeros((1,) * 63)
    assert refusal(lambda: looped("()->(p,q)", lambda x: np.zeros((1, 1)))(x))[:2] == ("axes", 0)


def test_without_loop_dimensions_the_kernel_is_called_as_it_stands():
    result = object()
    seen = []
    x = A[0, 0]
    assert looped("(n)->()", lambda x: seen.append(x) or result)(x) is result
    assert seen == [x]
    assert seen[0] is x
    assert refusal(lambda: looped("(n)->(n)", lambda x: x[:1])(x)) == ("shape", 0, (1,), (3,))
    assert refusal(lambda: looped("(n)->(),(n)", lambda x: (x.sum(), x[:1]))(x)) == ("shape", 1, (1,), (3,))
    assert looped("(n)->(p)", lambda x: x[:1])(x).shape == (1,)
    assert looped("(n)->(),()", lambda x: result)(x) is result


def test_numbers_scalars_and_other_arguments_reach_every_item_untouched():
    seen = []

    def kernel(x, factor, y, *, z, word):
        seen.append((factor, y, z, word))
        return x.sum()

    loop = looped(
        "(n),(),()->()", kernel, places=(0, 2, 3), positional=3, keywords=("z", "word")
    )
    out = loop(A[0], "other", 2.5, z=np.float32(7), word=None)
    assert out.shape == (4,)
    assert [x[:2] + x[3:] for x in seen] == [("other", 2.5, None)] * 4
    assert all(type(x[2]) is np.ndarray and x[2].shape == () and x[2] == 7 for x in seen)


def test_keyword_only_arrays_are_looped_over():
    loop = looped("(n),()->(n)", lambda x, *, by: x * by, positional=1, keywords=("by",))
    assert np.array_equal(loop(A, by=np.arange(4.0)), A * np.arange(4.0)[:, None])


def test_a_memory_map_is_an_array_like_any(tmp_path):
    mapped = np.memmap(tmp_path / "map", float, "w+", shape=A.shape)
    mapped[:] = A
    seen = []
    assert np.array_equal(looped("(n)->(n)", lambda x: seen.append(type(x)) or x)(mapped), A)
    assert seen == [np.ndarray] * 8


def test_what_is_no_plain_array_is_somebody_elses():
    loop = looped("(n)->()", lambda x: x.sum())
    assert loop(np.ma.masked_array(A)) == "elsewhere"
    assert loop([1.0]) == "elsewhere"
    assert refusal(lambda: loop(2.0))[0] == "refused"


def test_a_loop_without_items_asks_for_its_outputs():
    called = []
    assert looped("(n)->()", called.append)(A[:0]) == "empty"
    assert called == []


def test_an_exception_says_at_which_item_and_nothing_is_kept():
    def kernel(x):
        if x[0] == 15:
            raise KeyError("here")
        return x

    x = A.copy()
    before = sys.getrefcount(x)
    with pytest.raises(KeyError) as caught:
        looped("(n)->(n)", kernel)(x)
    assert caught.value.__notes__ == ["at item [1, 1] of the loop"]
    del caught
    gc.collect()
    assert sys.getrefcount(x) == before


def test_nothing_is_kept_of_a_loop_that_went_through():
    x, result, kernel = A.copy(), np.zeros(3), []
    loop = looped("(n)->(n)", lambda x: result)
    before = [sys.getrefcount(y) for y in (x, result, kernel)]
    for _ in range(10):
        loop(x)
        looped("(n)->(n),(n)", lambda x: (result, x))(x)
    assert [sys.getrefcount(y) for y in (x, result, kernel)] == before


def test_a_kernel_may_call_its_own_loop():
    def kernel(x):
        return x if x.ndim == 0 else inner(x)

    inner = looped("()->()", lambda x: kernel(x))
    assert np.array_equal(looped("(n)->(n)", kernel)(A), A)


def test_the_kernel_of_one_item_is_found():
    def kernel(x):
        return x

    assert looped("()->()", kernel).__wrapped__ is kernel


def test_a_signature_has_so_many_dimensions_and_no_more():
    names = ",".join(f"n{i}" for i in range(128))
    looped(f"({names})->()", np.sum)
    with pytest.raises(ValueError, match="a signature has at most 128 dimensions, and this one 129"):
        looped(f"({names},n128)->()", np.sum)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3), (10**6, 10**6, 10)])
def test_a_hollow_array_has_the_layout_of_a_new_one_and_one_element(shape):
    found = hollow(shape, np.dtype("f4"))
    assert (found.shape, found.dtype, found.flags.writeable) == (shape, np.float32, False)
    assert found.base.nbytes == 4
    assert found.flags.c_contiguous
    if 0 < found.size < 100:
        assert found.strides == np.empty(shape, "f4").strides


def test_a_hollow_array_has_no_more_axes_than_numpys():
    with pytest.raises(ValueError, match="an array has at most 64 axes, and 65 were asked for"):
        hollow((1,) * 65, np.dtype("f4"))


# -- calls that are not as the operator makes them ---------------------------------------------------------------------------


def scaled():
    @dispatch.custom_op("looptests::scaled", mutates_args=(), signature="(n),()->(n)")
    def scaled(x: np.ndarray, y: np.ndarray, power: int = 2, *, shift: float = 1.0) -> np.ndarray:
        return x * y**power + shift

    return scaled


@pytest.mark.parametrize(
    ("args", "keywords", "asked"),
    [
        ((A, 2.0), {}, "missing a required argument: 'power'"),
        ((A,), {}, "missing a required argument: 'y'"),
        ((), {}, "missing a required argument: 'x'"),
        ((A, 2.0, 2), {}, "missing a required( keyword-only)? argument: 'shift'"),
        ((A, 2.0, 2, 3), {}, "too many positional arguments"),
        ((A, 2.0, 2, 3), {"shift": 1.0}, "too many positional arguments"),
        ((A, 2.0, 2), {"shift": 1.0, "other": 1}, "got an unexpected keyword argument 'other'"),
        ((A, 2.0, 2), {"shift": 1.0, "power": 1}, "multiple values for argument 'power'"),
    ],
)
def test_a_kernel_called_directly_with_arguments_left_out_or_left_over_is_a_type_error(args, keywords, asked):
    kernel = get_kernel(scaled(), "cpu")
    fills = r"\. A kernel takes every argument of its operator, \(x, y, power, shift\), and fills in no default\."
    with pytest.raises(TypeError, match=f"looptests::scaled: {asked}{fills}"):
        kernel(*args, **keywords)


def test_a_kernel_called_directly_takes_its_arguments_by_name_too():
    kernel = get_kernel(scaled(), "cpu")
    assert np.array_equal(kernel(A, power=3, shift=1.0, y=2.0), A * 8 + 1)
    assert np.array_equal(kernel(A, 2.0, 3, shift=1.0), A * 8 + 1)


def test_a_kernel_of_optional_dimensions_called_directly_asks_for_every_argument():
    @dispatch.custom_op("looptests::optional", mutates_args=(), signature="(n?),()->(n?)")
    def optional(x: np.ndarray, y: np.ndarray, power: int = 2) -> np.ndarray:
        return np.asarray(x * y**power)

    with pytest.raises(TypeError, match="missing a required argument: 'power'"):
        get_kernel(optional, "cpu")(A, np.float64(2))
    assert np.array_equal(get_kernel(optional, "cpu")(A, np.float64(2), 1), A * 2)


def test_left_out_arguments_do_not_read_past_those_that_came():
    said_by_child("""
        from dispatch.library import get_kernel
        @dispatch.custom_op("child::op", mutates_args=(), signature="(n)->(n)")
        def op(x: np.ndarray, a: int = 1, b: int = 2, c: int = 3) -> np.ndarray:
            return x * a * b * c
        for args in ((), (A,), (A, 1), (A, 1, 2, 3, 4)):
            try:
                get_kernel(op, "cpu")(*args)
            except TypeError:
                continue
            raise AssertionError(args)
    """)


@pytest.mark.parametrize("shapes", [((2**32, 1), (1, 2**32)), ((2**59, 1), (1, 16)), ((2**21, 1, 1), (1, 2**42, 1))])
def test_a_loop_of_more_items_than_can_be_counted_is_refused(shapes):
    x, y = (np.broadcast_to(np.float64(1), shape) for shape in shapes)
    asked = refusal(lambda: looped("(),()->()", lambda x, y: x)(x, y))
    assert asked == ("endless", tuple(map(max, *shapes)))


def test_the_words_for_an_endless_loop():
    @dispatch.custom_op("looptests::endless", mutates_args=(), signature="(),()->()")
    def endless(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x

    x, y = np.broadcast_to(1.0, (2**32, 1)), np.broadcast_to(1.0, (2**32,))
    with pytest.raises(ArgumentError, match=r"endless: the loop \(4294967296, 4294967296\) has more items than an array can have"):
        endless(x, y)


def test_a_result_whose_class_lies_about_its_items_is_looked_at_once():
    class Lying(list):
        def __iter__(self):
            return iter([1.0, 2.0, 3.0])

        def __len__(self):
            return 7

    for make in (list, lambda items: type("LyingTuple", (tuple,), {"__iter__": Lying.__iter__, "__len__": Lying.__len__})(items), Lying):
        found = looped("(n)->(),()", lambda x, make=make: make([x.sum(), x.max()]))(A)
        assert [y.shape for y in found] == [A.shape[:2]] * 2
        assert np.array_equal(found[0], A.sum(-1))
    assert refusal(lambda: looped("(n)->(),()", lambda x: Lying([x.sum()]))(A))[0] == "count"


def test_a_kernel_may_give_the_array_of_its_items_another_dtype():
    def kernel(x):
        if x.base.dtype == np.float64:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x.base.dtype = np.int32
        return x.sum()

    x = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(looped("(n)->()", kernel)(x), [1.0, 5.0, 9.0])


def test_what_says_that_it_is_a_number_is_none():
    class Said:
        __class__ = np.float64

    assert looped("(),()->()", lambda x, y: x)(A, Said()) == "elsewhere"


def test_an_exception_that_takes_no_notes_arrives_as_it_is():
    class BareError(Exception):
        def add_note(self, note):
            raise ValueError

    def kernel(x):
        raise BareError

    with pytest.raises(BareError):
        looped("()->()", kernel)(A)


def test_a_walk_has_the_items_of_its_loop():
    def spread(walk):
        for start, stop in ((-1, 2), (0, 25), (3, 2)):
            with pytest.raises(IndexError, match=f"a walk over 24 items has none from {start} to {stop}"):
                walk.run(start, stop)
        walk.run(1, walk.count)

    assert np.array_equal(looped("()->()", lambda x: x + 1, spread=spread)(A), A + 1)
    with pytest.raises(IndexError):
        Walk().run(0, 1)
    Walk().run(0, 0)


def test_a_loop_is_made_once_and_of_numbers_that_are_there():
    loop = looped("()->()", lambda x: x + 1)
    loop.__init__(np.sum, (), (), (), (), 0, (), Told())
    assert np.array_equal(loop(A), A + 1)
    for inputs, places in ((((0,),), (1,)), (((0,),), (-1,)), (((0,), ()), (0, 0)), (((0,),), ())):
        with pytest.raises(ValueError, match="inputs stand at as many of"):
            Loop(np.sum, inputs, (), (-1,), places, 1, (), Told())
    with pytest.raises(ValueError, match=r"\(1,\) are no numbers of 1 dimensions"):
        Loop(np.sum, ((1,),), (), (-1,), (0,), 1, (), Told())


@pytest.mark.skipif(
    not "2.1" <= np.__version__ < "2.5", reason="NumPy 2.0 leaves nothing behind, and from 2.5 on no such value can be made"
)
def test_what_numpy_leaves_behind_when_it_looks_up_a_scalar_s_class_arrives():
    class Meta(type):
        def __hash__(cls):
            raise MemoryError("of the class")

    class Odd(np.float64, metaclass=Meta):
        pass

    with pytest.raises(MemoryError, match="of the class"):
        looped("()->()", lambda x: Odd(1.0))(A)
