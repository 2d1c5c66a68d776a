"""Which of NumPy's functions take our values, and in which layers: docs/coverage.md, found by calling them.

NumPy says itself which of its functions it hands over (`numpy.testing.overrides`). Each is called with the arguments that
tests/numpy_ops/numpy_calls.py makes for it, in five ways: on a tape with the gradient, in forward mode, on a batch, on stand-ins and in a
trace that is replayed. What comes out is compared with NumPy's own call, a batch with a loop, a gradient with forward mode. A cell that
is empty has the error as its reason.

`python -m tests.numpy_coverage` writes the page, `python -m tests.numpy_coverage NAME ...` shows what each call of some functions gave.
"""

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import stride_tricks

HERE = Path(__file__).resolve()
sys.path[:0] = [p for p in map(str, (HERE.parents[1], HERE.parent)) if p not in sys.path]  # as pytest's `pythonpath`

import dispatch  # noqa: E402
from dispatch.numpy_ops import inventory  # noqa: E402
from dispatch.numpy_ops.numpy_functions import load_rest  # noqa: E402
from tests.numpy_ops.numpy_calls import Arrays, calls_of  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "coverage.md"
COUNT = 3  # calls of one function
KINDS = ["f8", "i8", "?"]  # of the arrays, the first that NumPy's function takes
WRITING = {"copyto", "put", "put_along_axis", "fill_diagonal", "place", "putmask"}  # into their first argument
WITH_LIKE = set(
    "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye frombuffer fromfunction fromiter fromstring full identity ones "
    "require tri zeros".split()
)  # these meet our values by `like=`
LIKE: dict[str, list[Any]] = {  # what they are called with beside it, where numpy_calls.py has nothing
    "arange": [4], "eye": [3], "identity": [3], "tri": [3], "frombuffer": [b"\0" * 16], "fromfunction": [np.add, (2, 3)], "fromiter": [[1.0, 2.0], float],
    "fromstring": ["1 2", float, 2],
}  # fmt: skip


class Sample(NamedTuple):
    """One call: of which of its arrays there may be wrappers, and what NumPy returns."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    arrays: list[Any]
    expected: list[Any]

    def on(self, values: Any) -> list[Any]:
        """The parts of the result of the call on other values in the places of the arrays."""
        return parts(run(self.function, *placed((self.args, self.keywords), self.arrays, values)))


def parts(x: Any) -> list[Any]:
    return [part for item in x for part in parts(item)] if isinstance(x, (list, tuple)) else [x]


def run(function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    if function in (np.empty, np.empty_like):  # what they hold is nobody's business
        return function(*args, **keywords) * 0
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        if function.__name__ in WRITING:
            target = np.copy(args[0])
            function(target, *args[1:], **keywords)
            return target
        return function(*args, **keywords)


def is_data(x: Any, kinds: str) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in kinds


def placed(x: Any, old: list[Any], new: Any) -> Any:
    """The same containers with each of the old arrays replaced by the new one."""
    numbers = {id(a): value for a, value in zip(old, new, strict=True)}

    def walk(x: Any) -> Any:
        if id(x) in numbers:
            return numbers[id(x)]
        if isinstance(x, (list, tuple)):
            return type(x)(map(walk, x))
        return {key: walk(value) for key, value in x.items()} if isinstance(x, dict) else x

    return walk(x)


def leaves(x: Any, kinds: str) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in leaves(item, kinds)]
    if isinstance(x, dict):
        return leaves(list(x.values()), kinds)
    return [x] if is_data(x, kinds) else []


@cache
def samples_of(name: str, function: Any) -> list[Sample]:
    """The first calls that NumPy runs and that give something."""
    short = function.__name__
    for dtype in KINDS:
        found = []
        for call in calls_of(name, function, every=False):
            if call.flags or call.dtype != dtype or call.layout != "C":
                continue
            args, keywords, _ = call._replace(tame=True).arguments()
            if short in WITH_LIKE:
                args = tuple(LIKE.get(short, args))
                keywords = {"like": Arrays(dtype, "C", True)(2), **keywords} | ({"sep": " "} if short == "fromstring" else {})
            data = leaves((args, keywords), "fc" if dtype == "f8" else "iub")
            if not data:
                continue
            try:
                expected = parts(run(function, args, {k: v for k, v in keywords.items() if k != "like"}))
            except Exception:
                continue
            if all(np.size(x) for x in data):
                found.append(Sample(function, args, keywords, list({id(x): x for x in data}.values()), expected))
            if len(found) == COUNT:
                break
        if found:
            return found
    return []


# -- the layers ------------------------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    return np.asarray(x.detach() if isinstance(x, dispatch.Tensor) else x)


def held(found: list[Any], expected: list[Any], of: Callable[[Any], Any] = plain) -> None:
    """Hold parts of results against NumPy's: their shapes, dtypes and elements."""
    assert len(found) == len(expected), f"{len(found)} results, where there are {len(expected)}"
    for x, y in zip(map(of, found), map(np.asarray, expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{x.dtype} of shape {x.shape}, where NumPy has {y.dtype} of {y.shape}"
        if y.dtype.kind in "fc":
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        elif y.dtype.kind in "iub":
            np.testing.assert_array_equal(x, y)


def is_float(x: Any) -> bool:
    return getattr(x, "dtype", np.dtype(bool)).kind in "fc"


def ones(x: Any) -> Any:
    return np.cos(np.arange(x.size, dtype=float)).reshape(x.shape).astype(x.dtype)


class NoDerivativeError(Exception):
    """Integers and truths have none."""




def check_tape(sample: Sample) -> bool:
    """Whether the result depends on the arguments. Its gradients are held against forward mode's in `check_jvp`."""
    if not all(map(is_float, sample.arrays)):
        raise NoDerivativeError
    tracked = [dispatch.tensor(x, requires_grad=True) for x in sample.arrays]
    outs = sample.on(tracked)
    held(outs, sample.expected)
    return bool(gradients(outs, tracked))


def gradients(outs: list[Any], tracked: list[Any]) -> list[Any]:
    outs = [x for x in outs if isinstance(x, dispatch.Tensor) and x.requires_grad and is_float(x)]
    if not outs:
        return []
    return list(dispatch.autograd.grad(outs, tracked, [ones(x) for x in outs], allow_unused=True))


def check_jvp(sample: Sample) -> bool:
    if not all(map(is_float, sample.arrays)):
        raise NoDerivativeError
    which: list[int] = []

    def f(*xs: Any) -> Any:
        outs = sample.on(xs)
        which[:] = [i for i, x in enumerate(outs) if is_float(x) or type(x) is float]
        others = [i for i in range(len(outs)) if i not in which]
        held([outs[i] for i in others], [sample.expected[i] for i in others])
        return [outs[i] for i in which] or [xs[0]]

    tangents = [ones(x) for x in sample.arrays]
    outs, pushed = dispatch.jvp(f, tuple(sample.arrays), tuple(tangents))
    if not which:
        return False
    held(outs, [sample.expected[i] for i in which])
    tracked = [dispatch.tensor(x, requires_grad=True) for x in sample.arrays]
    recorded = sample.on(tracked)
    back = gradients(recorded, tracked)
    rows = [i for i, x in enumerate(recorded) if isinstance(x, dispatch.Tensor) and x.requires_grad and is_float(x)]
    ours = sum([np.vdot(ones(outs[which.index(i)]), pushed[which.index(i)]).real for i in rows])
    theirs = sum([np.vdot(t, g).real for t, g in zip(tangents, back, strict=True) if g is not None]) if back else 0.0
    if np.isfinite(theirs):
        close = 1e-5 if any(is_float(x) and x.dtype.itemsize < 8 for x in [*sample.arrays, *outs]) else 1e-9
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close, err_msg="forward mode and the gradient differ")
    return bool(back)


def check_vmap(sample: Sample) -> bool:
    batches = [np.stack([x, x * np.asarray(1.25).astype(x.dtype)]) for x in sample.arrays]
    found = dispatch.vmap(lambda *xs: [x for x in sample.on(xs) if x is not None])(*batches)
    for i in range(2):
        items = [x[i].copy() for x in batches]
        held([np.asarray(x)[i] for x in found], [x for x in sample.on(items) if x is not None])
    return True


def check_fake(sample: Sample) -> bool:
    mode = dispatch.FakeTensorMode()
    arrays = leaves((sample.args, sample.keywords), "fciub")
    with mode:
        outs = sample._replace(arrays=arrays).on([mode.from_array(x) for x in arrays])
    assert len(outs) == len(sample.expected)
    for x, y in zip(outs, map(np.asarray, sample.expected), strict=True):
        if isinstance(x, dispatch.Tensor):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), f"{x.dtype} of shape {x.shape}, where NumPy has {y.dtype} of {y.shape}"
        else:
            assert np.asarray(x).dtype == y.dtype
    return True


def check_trace(sample: Sample) -> bool:
    graph = dispatch.make_fx(lambda *xs: sample.on(xs))(*sample.arrays)
    found = graph(*sample.arrays)
    held(list(found), sample.expected)
    return True


LAYERS: dict[str, Callable[[Sample], bool]] = {
    "tape": check_tape, "jvp": check_jvp, "vmap": check_vmap, "fake": check_fake, "trace": check_trace,
}  # fmt: skip

# -- the cells -------------------------------------------------------------------------------------------------------------------

REASONS = [  # an error, by its class and text, and what the page says of it
    (r"^NoDerivativeError", "It takes integers or truths alone, which have no derivative."),
    (r"as many elements as its data say", "Each item of a batch would give as many elements as its data say."),
    (r"^DataDependentError", "A shape or a decision depends on data, and there is none."),
    (r"has no row in dispatch", "It has no row."),
    (r"a gradient was asked of .*, which has no derivative|neither a jvp rule", "Its row has no derivative."),
]


def reason_of(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}"
    for pattern, reason in REASONS:
        if re.search(pattern, said):
            return reason
    first = re.split(r"(?<=\.)\s", str(error).strip() or type(error).__name__, maxsplit=1)[0].rstrip(".")
    return re.sub(r"\s+", " ", f"{first}.")


class Cell(NamedTuple):
    """What a layer does with the samples of a function: how many it takes, the reason of the first that it does not, a derivative."""

    taken: int
    of: int
    reason: str
    depends: bool

    def text(self, number: Callable[[str], int]) -> str:
        return "✓" if self.taken == self.of else f"{'✓ ' if self.taken else ''}{number(self.reason)}"


def cell(samples: list[Sample], layer: str) -> Cell:
    taken, reason, depends = 0, "", False
    for sample in samples:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                depends |= LAYERS[layer](sample)
            taken += 1
        except Exception as error:
            reason = reason or reason_of(error)
    return Cell(taken, len(samples), reason, depends)


class Line(NamedTuple):
    """A line of the page."""

    name: str
    kind: str
    cells: dict[str, Cell]


def line(name: str, function: Any) -> Line:
    samples = samples_of(name, function)
    cells = {layer: cell(samples, layer) for layer in LAYERS} if samples else {}
    return Line(name, kind_of(function, cells, recorded_as(samples)), cells)


def recorded_as(samples: list[Sample]) -> list[str]:
    """The names of the rows that a trace of some calls has."""
    found: list[str] = []
    for sample in samples:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"), suppress(Exception):
            graph = dispatch.make_fx(lambda *xs: sample.on(xs))(*sample.arrays)  # noqa: B023
            found += [node.op.name for node in graph.nodes if node.op is not None]
    return list(dict.fromkeys(found))


def kind_of(function: Any, cells: dict[str, Cell], recorded: list[str]) -> str:
    stands = inventory.stands_for(function)
    if stands is None:
        return "refused"
    if stands == inventory.OF_ROWS and recorded:
        stands = f"row `{recorded[0]}`" if len(recorded) == 1 else f"{stands}"
    constant = cells and cells["tape"].taken and not cells["tape"].depends
    return stands + (", no derivative" if constant or (cells and cells["tape"].reason == REASONS[0][1]) else "")


def lines() -> list[Line]:
    load_rest()
    return [line(name, function) for name, function in sorted(inventory.functions().items(), key=lambda pair: pair[0].lower())]


# -- the page --------------------------------------------------------------------------------------------------------------------

BESIDE = {  # callables of NumPy's modules that it hands to nobody, and why that is so
    "They make arrays, of lists and numbers; `dispatch.numpy` has those that values of transforms may go into":
        "asarray_chkfinite asmatrix bmat from_dlpack diag_indices indices mask_indices tril_indices triu_indices fft.fftfreq fft.rfftfreq "
        "r_ c_ mgrid ogrid s_ index_exp",
    "Windows of a number of points": "bartlett blackman hamming hanning kaiser",
    "They make a view of memory, or run a Python function": "lib.stride_tricks.as_strided frompyfunc nested_iters",
    "Of dtypes, names and numbers": "broadcast_shapes base_repr binary_repr datetime_data format_float_positional format_float_scientific isdtype "
        "isfortran isscalar issubdtype iterable mintypecode promote_types typename",
    "Settings, files and the installation": "fromregex get_include get_printoptions getbufsize geterr geterrcall info load printoptions "
        "set_printoptions setbufsize seterr seterrcall show_config show_runtime test linalg.test fft.test",
    "An older name of `np.vstack`": "row_stack",
}  # fmt: skip
WITHOUT = {  # functions that no layer takes, and why
    "umath._ones_like": "An inner ufunc of `np.ones_like`, which NumPy does not call itself.",
    "np.isnat": "It is of dates alone, which no transform tracks.",
    "umath.clip": "An inner ufunc, which `np.clip` calls on arrays.",
}


def callables() -> set[str]:
    """The functions of NumPy's public modules, and the objects that are indexed to make an array, by how they are written."""
    found = set()
    for module, inside in [(np, ""), (np.linalg, "linalg."), (np.fft, "fft."), (np.emath, "emath."), (stride_tricks, "lib.stride_tricks.")]:
        for name in dir(module):
            value = getattr(module, name)
            if not name.startswith("_") and not isinstance(value, (type, ModuleType)) and (callable(value) or hasattr(value, "__getitem__")):
                found.add(f"{inside}{name}")
    return found - {"ScalarType", "sctypeDict", "typecodes", "True_", "False_"}


def unknown() -> list[str]:
    """The functions of NumPy that are neither handed over nor listed with a reason."""
    listed = {name for names in BESIDE.values() for name in names.split()}
    handed = inventory.overridable()
    known = {id(f) for f in handed.values()}
    return sorted(name for name in callables() - listed if f"np.{name}" not in handed and id(attrgetter(name)(np)) not in known)


def without() -> list[str]:
    """The functions that NumPy hands over, and for which there is neither a row nor a reason why not."""
    return sorted(name for name, f in inventory.functions().items() if inventory.stands_for(f) is None and name not in WITHOUT)


HEAD = """# Coverage

Which of NumPy's functions take values of transforms, and in which layers. NumPy {version} hands {every} of its functions and ufuncs to the
classes of its arguments; {inside} of them are here, and [the others](#not-here) at the end with a reason. The page is made by calling each
one, and comparing with NumPy: `python -m tests.numpy_coverage`. `npdispatch list np` prints what stands for each.

- **a row**: an operator of `ops.np`, whose name is given; **composite**: an operator whose rules are those of the rows it is made of;
  **of rows**: a function of our values, recorded as the rows that it calls; **no derivative**: its result is a constant;
  **refused**: there is nothing, and the error shows how it becomes an operator.
- ✓: the layer takes the calls and what comes out is NumPy's; ✓ with a number: it takes some of them; a number: none. The numbers are
  those of the [reasons](#reasons).

"""


def page(found: list[Line]) -> str:
    """The text of docs/coverage.md."""
    reasons: dict[str, int] = {}

    def number(reason: str) -> int:
        return reasons.setdefault(reason, len(reasons) + 1)

    head = HEAD.format(version=".".join(np.__version__.split(".")[:2]), every=len(inventory.overridable()), inside=len(found))
    rows = [f"| function | what it is | {' | '.join(LAYERS)} |", f"|---|---|{':-:|' * len(LAYERS)}"]
    for name, kind, cells in found:
        told = {layer: cells[layer].text(number) for layer in cells} if name not in WITHOUT else dict.fromkeys(LAYERS, str(number(WITHOUT[name])))
        rows.append(f"| `{name}` | {kind} | {' | '.join([told[layer] for layer in LAYERS])} |")
    count = Counter({layer: sum(bool(x.cells and x.cells[layer].taken) for x in found) for layer in LAYERS})
    none = [x.name for x in found if not x.cells or not any(c.taken for c in x.cells.values())]
    summary = ["| taken by | " + " | ".join(LAYERS) + " | none |", "|---|" + "--:|" * (len(LAYERS) + 1)]
    summary.append(f"| of {len(found)} | {' | '.join(str(count[layer]) for layer in LAYERS)} | {len(none)} |")
    said = [f"{i}. {reason}" for reason, i in reasons.items()]
    outside = [f"- {group.reason} {', '.join(f'`{name}`' for name in [*group.names, *[f'{m}.*' for m in group.modules]])}." for group in inventory.OUTSIDE]
    there = callables()
    beside = [f"- {why}: {', '.join(f'`np.{name}`' for name in sorted(there & set(names.split())))}." for why, names in BESIDE.items()]
    end = ["", "## Not here", "", "Functions that NumPy hands over, and that compute with no numbers:", "", *outside]
    end += ["", "Functions of NumPy's modules that it hands to nobody:", "", *beside]
    return head + "\n".join([*summary, "", *rows, "", "## Reasons", "", *said, *end, *of_scipy()]) + "\n"


def of_scipy() -> list[str]:
    """The lines that say what SciPy's own tests for alternative backends give on tracked arrays."""
    figures = json.loads((PAGE.parent / "scipy_backends.json").read_text())
    said = ["", "## SciPy's own tests", ""]
    said += ["SciPy's tests for alternative backends, with `dispatch.numpy` as the backend and every floating-point array tracked. Each passes, or"]
    said += ["ends in a ConversionError, where SciPy gives an array to C code of its own: `python -m tests.scipy_backends` (SciPy " + f"{figures['SciPy']}).", ""]
    said += ["| module | pass | end in a ConversionError | fail | pass, of all |", "|---|--:|--:|--:|--:|"]
    for name, x in figures.items():
        if name != "SciPy":
            share = x["passed"] / (x["passed"] + x["refused"] + x["failed"])
            said.append(f"| `scipy.{name}` | {x['passed']} | {x['refused']} | {x['failed']} | {share:.0%} |")
    return said


def main(words: list[str]) -> None:
    """Write the page, or show the calls of some functions."""
    if not words:
        PAGE.write_text(page(lines()))
        return
    load_rest()
    for name, function in inventory.functions().items():
        if name in words:
            for sample in samples_of(name, function):
                for layer in LAYERS:
                    shown = cell([sample], layer)
                    sys.stdout.write(f"{name}{tuple(np.shape(x) for x in sample.arrays)} {layer}: {shown.reason or 'taken'}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
