"""Samples fit the schema and are accepted by the kernel; nobody is asked for what cannot be made."""

import dataclasses
import enum
import re
from types import SimpleNamespace as Note
from typing import Annotated, Literal

import numpy as np
import pytest
from making import F64, Dtypes
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op
from dispatch.errors import ArgumentError, DefinitionError
from dispatch.testing import Sample, opcheck, samples
from dispatch.testing.cases import arrays_in

numbers = iter(range(1000))


def define(schema, kernel=lambda *args, **keywords: np.zeros(1), **options):
    return custom_op(f"sampled::op{next(numbers)}", kernel, **{"mutates_args": (), "schema": schema, **options})


@pytest.mark.parametrize(
    "schema",
    [
        "(Tensor x) -> Tensor",
        "(Tensor x, Tensor? y=None, *, float scale, bool flag) -> Tensor",
        "(Tensor[] xs, int[2] n, str mode='a', complex? z=None) -> Tensor",
        "(Tensor?[] xs, (Tensor, int) pair, ScalarType t, Scalar s, Device d) -> Tensor".replace(
            "(Tensor, int) pair, ", ""
        ),
        "(int n, float[3] ws, bool? b) -> Tensor",
    ],
)
def test_samples_are_calls_of_the_operator(schema):
    op = define(schema.replace("'", '"'), eval(f"lambda {_parameters(schema)}: np.zeros(1)", {"np": np}))
    found = list(samples(op))
    assert found
    for sample in found:
        op(*sample.args, **sample.kwargs)


def _parameters(schema):
    inside = schema.partition("(")[2].rpartition(") ->")[0]
    words = [part.split() for part in re.sub(r"=[^,]*", lambda m: m[0].replace(" ", ""), inside).split(", ")]
    return ", ".join(word[-1].replace("'a'", '"a"') for word in words)


def test_only_what_the_kernel_accepts_is_a_sample():
    matmul = define("(Tensor x, Tensor y) -> Tensor", np.matmul)
    for sample in samples(matmul):
        x, y = sample.args
        assert x.shape[-1] == y.shape[-2 if y.ndim > 1 else -1]
    assert "(2, 3), (3, 4)" in [sample.what for sample in samples(matmul)]


def test_sizes_differ_pairwise_where_the_kernel_lets_them():
    first = next(iter(samples(define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x @ y))))
    assert first.what == "(3,), (3,)"
    shapes = [x.shape for sample in samples(define("(Tensor x) -> Tensor", lambda x: x * 2)) for x in sample.args]
    assert (2, 3) in shapes
    assert () in shapes
    assert (2, 3, 4) in shapes


def test_a_seed_gives_the_same_values_again_and_another_seed_others():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2)
    once, again, other = ([x for s in samples(op, seed) for x in arrays_in(s.args)] for seed in (0, 0, 1))
    assert all(np.array_equal(x, y) for x, y in zip(once, again, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(once, other, strict=True))


def test_the_dtype_of_a_hint_is_taken():
    def kernel(x: np.typing.NDArray[np.float32]) -> np.ndarray:
        return x * 2

    op = custom_op(f"sampled::op{next(numbers)}", kernel, mutates_args=())
    assert {x.dtype for s in samples(op) for x in s.args} == {np.dtype("f4")}


def test_samples_pass_to_opcheck():
    for sample in samples("np::multiply"):
        args = tuple(dispatch.tensor(x, requires_grad=True) for x in sample.args)
        opcheck("np::multiply", args, sample.kwargs)


@pytest.mark.parametrize("kind", ["str", "Callable", "bytes", "str[]"])
def test_what_cannot_be_made_is_refused_by_name(kind):
    op = define(f"(Tensor x, {kind} name) -> Tensor", lambda x, name: x * 2)
    said = (
        f"samples: nothing can be made for argument 'name' of {op.name}, of type {kind}. "
        f"Give it a default, or the operator its samples: @{op.schema.name}.register_samples."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        next(samples(op))


# -- what hints say, and samples of the operator's own ----------------------------------------------------------------------


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


@dataclasses.dataclass
class Pair:
    first: np.ndarray
    second: np.ndarray


def hinted(kernel):
    return custom_op(f"sampled::op{next(numbers)}", kernel, mutates_args=())


def test_named_axes_have_one_size_each_and_all_differ():
    def kernel(
        x: F64[np.ndarray, "*batch m k"], y: F64[np.ndarray, "*batch k n"], z: F64[np.ndarray, "{r}+k _ 3"], w: F64[np.ndarray, "#m"], r: int = 2
    ) -> np.ndarray:  # fmt: skip
        return np.zeros(1)

    found = list(samples(hinted(kernel)))
    assert len(found) > 2
    assert {x.ndim for x, *_ in (s.args for s in found)} == {2, 3}
    for x, y, z, w, r in (s.args for s in found):
        assert x.shape[:-2] == y.shape[:-2]
        assert x.shape[-1] == y.shape[-2]
        assert (z.shape[0], z.shape[2], w.shape) == (r + x.shape[-1], 3, (x.shape[-2],))
        assert len({*x.shape, y.shape[-1]}) == x.ndim + 1


@pytest.mark.parametrize(
    ("names", "dtype"),
    [(("float32", "float64"), "f8"), (("int16", "int64"), "i8"), (("float32",), "f4"), (("complex64",), "c8"), (("int8", "uint8"), "i1")],
)
def test_the_dtypes_that_a_hint_allows_are_kept_to(names, dtype):
    def kernel(x: Dtypes("Word", *names)[np.ndarray, "n"]) -> np.ndarray:
        return np.zeros(1)

    assert {x.dtype.str[1:] for s in samples(hinted(kernel)) for x in s.args} == {dtype}


def test_choices_come_in_turn_and_values_lie_in_their_range():
    def kernel(
        x: Annotated[NDArray[np.float64], Note(gt=-1, lt=0)],
        kind: Literal["soft", "hard"],
        side: Side = Side.LEFT,
        n: Annotated[int, range(4, 9)] = 5,
        m: Annotated[int, Note(ge=3)] = 3,
        *,
        scale: Annotated[float, Note(gt=10)],
    ) -> np.ndarray:
        return x + 0.0

    found = list(samples(hinted(kernel)))
    assert {s.args[1:4] for s in found[:4]} == {(kind, side, 5) for kind in ("soft", "hard") for side in Side}
    assert all(-1 < x < 0 for s in found for x in s.args[0].ravel())
    assert all(s.kwargs["scale"] > 10 for s in found)
    assert found[1].what == f"(3,), kind='soft', side=Side.RIGHT, scale={found[1].kwargs['scale']}"


def test_containers_and_records_are_filled():
    def kernel(pair: Pair, named: dict[str, np.ndarray], both: tuple[np.ndarray, int], sizes: dict[int, float]) -> np.ndarray:
        assert (sorted(named), both[1], list(sizes)) == (["a", "b"], 0, [0])
        return pair.first + 1.0

    hints = {"Pair": Pair}
    kernel.__annotations__ |= {name: hints.get(hint, hint) for name, hint in kernel.__annotations__.items()}
    assert next(samples(hinted(kernel))).what.startswith("(2, 3), (2, 3), (2, 3)")


def test_a_sample_function_is_asked_instead_and_gets_the_seed():
    op = define("(Tensor x, Tensor indices, *, str name='a') -> Tensor", lambda x, indices, *, name="a": x[indices])

    @op.register_samples(fixed=("indices",), gradients="exist")
    def _(random):
        yield random.normal(size=3), np.array([2])
        yield {"x": random.normal(size=4), "indices": np.array([0]), "name": "b"}
        yield Sample((np.ones(2), np.array([1])), {}, "mine")

    found = list(samples(op, 7))
    random = np.random.default_rng(7)
    assert np.array_equal(found[0].args[0], random.normal(size=3))
    assert [s.what for s in found] == ["(3,), (1,)", "(4,), (1,), name='b'", "mine"]
    assert [(s.fixed, s.gradients) for s in found] == [(("indices",), "exist")] * 2 + [((), "compare")]
    assert found[1].kwargs == {"name": "b"}


def test_what_a_dict_leaves_out_is_made_from_the_schema():
    op = define("(Tensor x, str name, int n=3) -> Tensor", lambda x, name, n=3: x * len(name))
    op.register_samples(lambda random: [{"name": "abc"}])
    [found] = samples(op)
    assert (found.args[1:], found.what) == (("abc", 3), "(2, 3), name='abc'")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.ones(3), "a sample is a tuple, the arguments by position, or a dict of arguments by name, and its sample function gave an ndarray."),
        ({"nmae": "a"}, "has no argument 'nmae', which its sample function gives. Did you mean 'name'?"),
        ({"name": "never"}, "its kernel accepts nothing made from its schema beside the name of a sample."),
    ],
)
def test_what_is_no_sample_is_refused(given, said):
    def kernel(x, name):
        if name == "never":
            raise ValueError
        return x * 1.0

    op = define("(Tensor x, str name) -> Tensor", kernel)
    op.register_samples(lambda random: [given])
    with pytest.raises(ArgumentError) as caught:
        list(samples(op))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (3, {}, "samples are made by a function of a numpy.random.Generator, and an int was given."),
        (list, {"fixed": "y"}, "has no argument 'y' to keep fixed."),
        (list, {"gradients": "no"}, "gradients= is 'compare' or 'exist', and was given as 'no'."),
    ],
)
def test_a_sample_function_is_looked_at_when_it_is_registered(given, options, said):
    op = define("(Tensor x) -> Tensor", lambda x: x * 1.0)
    with pytest.raises(DefinitionError, match=re.escape(said)):
        op.register_samples(given, **options)


def test_a_definition_anew_has_no_samples_of_the_old():
    op = define("(Tensor x) -> Tensor", lambda x: x * 1.0)
    op.register_samples(lambda random: [(np.ones(1),)])
    custom_op(op.name, lambda x: x * 2.0, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert next(samples(op)).what == "(2, 3)"
