"""The check `test_faketensor`: the fake rule describes what the kernel returns.

It compares the number of outputs, shapes, dtypes, strides, devices and outputs that are no arrays, on the sample and on
all other layouts, sizes and values that the kernel accepts. More than 350 lines: each difference has its own words.
"""

from collections.abc import Iterator
from itertools import islice, starmap
from math import prod
from typing import Any

import numpy as np

from ..core import DispatchKey, device_of
from ..core.pytree import field_names, items_of
from ..dispatcher.printing import brief
from ..errors import DataDependentError, NewSizeError, NoRuleError
from ..layers.fake import FakeTensor, FakeTensorMode
from ..schema.tags import Tag
from ..symbolic import ShapeEnv, SymInt
from .cases import Case, Options, arrays_in, named_outputs
from .child_process import Elsewhere, has_fork
from .closeness import NUMBERS, difference
from .guarded_memory import Guarded
from .kernel_runs import quietly
from .report import Findings
from .validate import counted_strides
from .variants import (
    AT_ANOTHER,
    EMPTY,
    NARROW,
    NONE,
    ONE_ALONE,
    ONE_ELEMENT,
    apart,
    layouts,
    lists,
    mixed_precision,
    named,
    number_lists,
    numbers,
    single_precision,
    sizes,
    smaller_integers,
    squares,
    values,
)

LAID = ("in Fortran order", "with its axes in another order", "with reversed strides", "with steps")  # of `layouts`
PATIENCE = 1  # seconds for kernels on arrays of which one alone is longer
MOST_LENGTHS = 5  # of a choice: each length one more, and those of 1
UNLIKELY = 1009  # a length that no sample has
VALUES = (
    "with permuted values", "with zeros", "negated", "with tiny values", "with large values", "with nan and inf",
    "with nan alone", "with True alone",
)  # fmt: skip
OPEN = "the fake rule says that a size depends on data"
MIXED = "alone of single precision"
DATA_TAGS = (Tag.data_dependent_output, Tag.dynamic_output_shape)


def check_shapes(case: Case, findings: Findings, options: Options) -> None:
    """Compare the fake rule with the kernel."""
    compare(case, findings)
    if findings.faults or findings.skipped not in ("", OPEN):
        return
    for what, args in variants(case, options):
        compare(case.with_args(args, f" on the sample {what}"), findings)
    optional = *case.nones(options.fixed), *case.given_numbers(options.fixed), *case.two_options(options.fixed)
    for other in (*case.branches(options.fixed), *optional):
        compare(other, findings)
        lengths = sizes(other.args, other.places(options.fixed), only_longer=bool(other.integers))
        for what, args in islice((x for x in lengths if x[0] != ONE_ELEMENT), MOST_LENGTHS):  # a choice may be wrong for some
            compare(other.with_args(args, f"{other.what} and {what}"), findings)
    if not findings.faults:
        _compare_apart(case, findings, options)


def _compare_apart(case: Case, findings: Findings, options: Options) -> None:
    """Compare where one array is longer and another, as long in the sample, is not: a rule may read the length of either.

    A copy of the child process calls the kernel, which may rely on their being equal and read beyond the shorter one. That it
    broadcasts arrays of one shape may not be meant, so that a rule that says their shape is worth advice.
    """
    others = list(apart(case.args, case.places(options.fixed))) if not case.integers else []
    if not others or case.say is None or not has_fork():
        return

    def faults(what: str, args: tuple[Any, ...]) -> dict[Any, str]:
        aside = Findings(case.name)
        compare(case.with_args(args, f" on the sample {what}")._replace(say=None), aside)
        return aside.faults

    found, _ = Elsewhere(lambda: starmap(faults, others), options.patience(PATIENCE)).results()
    findings.runs += len(found)
    for (what, _), told in zip(others, found, strict=False):
        for key, text in told.items():
            if what.startswith(ONE_ALONE):
                findings.advise("broadcasts", f"{text} Or np.broadcast_shapes(x.shape, y.shape), where arrays broadcast.")
            else:
                findings.faults.setdefault(key, text)


def variants(case: Case, options: Options) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield other arguments to try: a rule may be right for one shape or for some data only."""
    args, fixed, integers = case.args, case.places(options.fixed), case.integers
    # np.empty_like(x), the rule most write, keeps a foreign byte order that no kernel gives back
    yield from ((what, made) for what, made in layouts(args) if what not in ("byte-swapped", AT_ANOTHER))
    others = sizes(args, fixed, only_longer=bool(integers))
    yield from ((what, made) for what, made in others if what != ONE_ELEMENT)  # another rank is another contract
    yield from squares(args, fixed) if not integers else ()
    names = case.op.arguments.names
    yield from ((named(what, names), made) for what, made in values(args, fixed | integers))
    for what, made in numbers(args, names, options.fixed, special=True, ahead=True):
        yield named(what, names), made
        for longer, other in islice(sizes(made, fixed, only_longer=True), 1):  # of a length by a step only some show the rule
            yield f"{named(what, names)} and {longer}", other
    yield from number_lists(args, names, options.fixed)
    yield from ((what, made) for what, made in lists(args, names, options.fixed) if not what.startswith(NONE))
    yield from single_precision(args)
    for place, made in mixed_precision(args):
        yield f"with {case.labels[place]} {MIXED}", made
    yield from smaller_integers(args)


def compare(case: Case, findings: Findings) -> None:
    """Run the kernel and the fake rule on one case and record where they differ."""
    try:
        with quietly():
            arrays = [Guarded(x, writeable=True).array for x in case.arrays]
            real = case.call(case.with_arrays(arrays))
    except Exception:
        return
    findings.runs += 1
    with FakeTensorMode() as mode:
        args = case.with_arrays([mode.from_array(x) for x in case.arrays])
        lengths = _lengths(args)
        try:
            fake = case.call(args)
        except NewSizeError:
            fake = None
        except Exception as error:
            _rule_failed(case, findings, error)
            return
    if fake is None:
        _compare_open(case, findings, real)
        return
    changed = [repr(n) for n, x, m in zip(case.op.arguments.names, args, lengths, strict=True) if _lengths((x,)) != (m,)]
    for name in changed:
        findings.fault(
            ("mutates", name),
            f"the fake rule ({_rule(case)}) changes its argument {name}. Build a new output from the metadata: "
            "np.empty(shape, dtype).",
        )
    _outputs(case, findings, fake, real)


def _compare_open(case: Case, findings: Findings, real: list[Any]) -> None:
    """Compare outputs whose sizes depend on data: rank, dtype, the sizes that do not, and the range of those that do."""
    env = ShapeEnv()
    numbered = Numbered(env)
    try:
        fake = _under(case, env)
    except Exception as error:
        _rule_failed(case, findings, error, asked=True)
        if not isinstance(error, DataDependentError):
            return
        try:
            fake = _under(case, numbered)
        except Exception:
            return
    shapes, lengths = [], []
    for i, (promised, given) in enumerate(zip(fake, real, strict=True)):
        if (a := _structure(promised)) != (b := _structure(given)):
            _differ(case, findings, f"output {i}", "kind", f"is {a}", b, "Return as many outputs, of these kinds.")
            continue
        for (name, y), x in zip(named_outputs([given]), arrays_in([promised]), strict=False):
            label, shape = name.replace("output 0", f"output {i}", 1), numbered.symbolic(x.shape)
            if shape is None:
                return
            if len(shape) != y.ndim:
                hint = "The number of axes does not depend on data."
                _differ(case, findings, label, "rank", f"has shape {_shown(shape)}", str(y.shape), hint)
                return
            if x.dtype != y.dtype:
                hint = f"Compute the dtype from the arguments'; here it is {y.dtype!s}."
                _differ(case, findings, label, "dtype", f"has dtype {x.dtype!s}", f"{y.dtype!s}", hint)
            for n, length in zip(shape, y.shape, strict=True):
                same = n == length
                if (same if isinstance(same, bool) else env.known(same)) is False:
                    hint = "Give new_dynamic_size() a min and a max that hold, and the other sizes as the kernel does."
                    _differ(case, findings, label, "shape", f"has shape {_shown(shape)}", str(y.shape), hint)
                    return
            shapes.append(shape)
            lengths.append(y.shape)
    if env.match(shapes, lengths) is None:
        said = "have shapes " + ", ".join(map(_shown, shapes))
        hint = "A size that get_ctx().new_dynamic_size() made once is one number: make another for each that differs."
        _differ(case, findings, "the outputs", "shape", said, ", ".join(map(str, lengths)), hint)


class Numbered:
    """Gives the shape rule that is under check a number for each size that depends on data: `np.empty((n, 2))` asks for one.

    The numbers tell which symbol of a ShapeEnv a length stands for.
    """

    def __init__(self, env: ShapeEnv) -> None:
        self.env, self.answers, self.symbols = env, env.answers, env.symbols
        self.sizes: dict[int, Any] = {}

    def new_dynamic_size(self, *, min: int = 0, max: Any = None) -> int:
        """Return a number that no other size has."""
        self.sizes[number := UNLIKELY + len(self.sizes)] = self.env.new_dynamic_size(min=min, max=max)
        return number

    def sizes_of(self, array: Any) -> tuple[Any, Any]:
        """Return the shape and strides of an array, as they are."""
        return array.shape, array.strides

    def symbolic(self, shape: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return a shape with symbols in place of the numbers; None where a length was computed of them."""
        found = tuple(self.sizes.get(n, n) if type(n) is int else n for n in shape)
        computed = any(type(n) is int and n >= UNLIKELY for n in found)
        return None if self.sizes and computed else found


def _under(case: Case, env: Any) -> list[Any]:
    """Return what the fake rule says where sizes may depend on data."""
    with FakeTensorMode(shape_env=env, static_shapes=True) as mode:
        return case.call(case.with_arrays([mode.from_array(x) for x in case.arrays]))


def _shown(shape: tuple[Any, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _lengths(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(len(x) if isinstance(x, (list, dict)) else None for x in args)


def _rule(case: Case) -> str:
    return case.place(DispatchKey.FAKE)


def _rule_failed(case: Case, findings: Findings, error: Exception, *, asked: bool = False) -> None:
    tagged = [tag.name for tag in DATA_TAGS if tag in case.op.tags]
    if isinstance(error, DataDependentError) and tagged:
        findings.skip(f"tagged {tagged[0]}, and the fake rule asks for what depends on data")
    elif isinstance(error, DataDependentError) and asked:  # it asks for the number: `np.empty((n, 2))` does
        findings.skip(OPEN)
    elif isinstance(error, NoRuleError) and case.rule(DispatchKey.FAKE) is None:
        findings.fault(
            "none",
            f"no fake rule says which shapes the outputs of the {case.kernel} have. Add one: "
            f"@{case.op.schema.name}.register_fake, def _({', '.join(case.op.arguments.names)}): return "
            "np.empty(shape, dtype).",
            error,
        )
    elif isinstance(error, DataDependentError):
        findings.fault(
            "data",
            f"the fake rule ({_rule(case)}) reads data{case.what}: {error}\n"
            "If the shape does depend on data, say so: tags=(Tag.dynamic_output_shape,).",
            error,
        )
    else:
        said = (
            f"the fake rule ({_rule(case)}) raises {type(error).__name__}{case.what} ({case.given()}), where the "
            f"{case.kernel} does not: {str(error).removeprefix(f'{case.name}: ')}"
        )
        if EMPTY in case.what:  # slices forgive an array that is too short, and arithmetic on sizes does not
            findings.advise("raises", f"{case.name}: {said}")
        else:
            findings.fault("raises", said, error)


def _outputs(case: Case, findings: Findings, fake: list[Any], real: list[Any]) -> None:
    for i, (promised, given) in enumerate(zip(fake, real, strict=True)):
        if (a := _structure(promised)) != (b := _structure(given)):
            _differ(case, findings, f"output {i}", "kind", f"is {a}", b, "Return as many outputs, of these kinds.")
        elif not arrays_in([given]) and not _equal(promised, given):
            _differ(
                case, findings, f"output {i}", "value", f"is {promised!r}", repr(given),
                "Compute it from shapes and plain arguments, as the kernel does.",
            )  # fmt: skip
        else:
            names = [name.replace("output 0", f"output {i}", 1) for name, _ in named_outputs([given])] or [f"output {i}"]
            pairs = zip(names, arrays_in([promised]), arrays_in([given]) or [given], strict=False)
            for name, x, y in pairs:
                _array(case, findings, name, x, y)


def _array(case: Case, findings: Findings, name: str, fake: Any, real: Any) -> None:
    if fake.shape != real.shape:
        hint = ""
        if case.what.endswith(VALUES):
            hint = "The shape depends on data: tags=(Tag.dynamic_output_shape,), and get_ctx().new_dynamic_size()."
        hint = hint or "Compute the shape from the arguments' shapes, e.g. np.empty(x.shape, x.dtype)."
        _differ(case, findings, name, "shape", f"has shape {fake.shape}", str(real.shape), hint)
    elif fake.dtype != real.dtype and case.what.endswith(NARROW) and real.dtype.itemsize > fake.dtype.itemsize:
        promoted = len({x.dtype for x in case.arrays}) > 1 and real.dtype == np.result_type(*[x.dtype for x in case.arrays])
        together = f"Write np.result_type({', '.join(case.labels)}).".replace("'", "")
        findings.advise(
            (name, "dtype"),
            f"{case.name}: {name} has dtype {fake.dtype!s} by the fake rule ({_rule(case)}), and {real.dtype!s} by the "
            f"{case.kernel}{case.what}. {together if promoted else 'If it takes float64 alone, say so: NDArray[np.float64].'}",
        )
    elif fake.dtype != real.dtype and case.what.endswith(MIXED) and ("mixed", name) not in findings.advice:
        findings.advise(  # once, for it follows one array, as np.empty_like(b) does; what is wrong for two follows none
            ("mixed", name),
            f"{case.name}: {name} has dtype {fake.dtype!s} by the fake rule ({_rule(case)}), and {real.dtype!s} by the "
            f"{case.kernel}{case.what}. If arrays of several dtypes may come, write np.result_type(x, y) in place of x.dtype.",
        )
    elif fake.dtype != real.dtype:
        hint = f"Compute the dtype from the arguments', e.g. np.empty(shape, x.dtype); here it is {real.dtype!s}."
        _differ(case, findings, name, "dtype", f"has dtype {fake.dtype!s}", f"{real.dtype!s}", hint)
    elif (a := counted_strides(fake)) != (b := counted_strides(real)):
        _differ(case, findings, name, "strides", f"has strides {a}", str(b), _allocation(case, real))
    elif fake.device != (device := device_of(real)):
        _differ(case, findings, name, "device", f"is on {fake.device}", f"on {device}", "Build it from an argument.")


def _allocation(case: Case, array: Any) -> str:
    """The line that allocates as the kernel did; or what the kernel may return, where its elements lie apart."""
    axes = [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n != 1]
    if _is_packed(array, axes):
        line = "np.empty(shape, dtype)"
    elif not _is_packed(array, sorted(axes, key=lambda axis: -axis[1])):
        return (
            "Its elements do not lie side by side, as those of z.real, x[::2] or x[::-1]: return np.ascontiguousarray(result) "
            "from the kernel, and np.empty(shape, dtype) from the rule."
        )
    elif case.what.endswith(LAID):
        line = "np.empty_like(x), which follows the order of x"
    else:
        line = "np.empty(shape, dtype, order='F')" if _is_packed(array, axes[::-1]) else "a transpose of np.empty(shape, dtype)"
    return f"Allocate it as the kernel does: {line}."


def _is_packed(array: Any, axes: list[tuple[int, int]]) -> bool:
    """Whether the elements lie side by side, along the last of the axes first; an axis is a length and a stride."""
    return [s for _, s in axes] == [array.itemsize * prod(n for n, _ in axes[i + 1 :]) for i in range(len(axes))]


def _structure(x: Any) -> str:
    """Return the structure of a value; arrays and numbers count as the same whether real or fake."""
    if isinstance(x, (FakeTensor, np.ndarray)):
        return "an array"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{name!r}: {_structure(item)}' for name, item in x.items())}}}"
    if (items := items_of(x)) is not None:
        name = "" if field_names(type(x)) is None else type(x).__qualname__
        return f"{name}[{', '.join(map(_structure, items))}]"
    return "a number" if isinstance(x, (np.generic, SymInt, *NUMBERS)) else brief(x)


def _equal(x: Any, y: Any) -> bool:
    return difference(x, y, rtol=0.0, atol=0.0) is None


def _differ(case: Case, findings: Findings, name: str, what: str, promised: str, given: str, fix: str) -> None:
    findings.fault(
        (name, what),
        f"{name} {promised} by the fake rule ({_rule(case)}), and {given} by the {case.kernel}{case.what} "
        f"({case.given()}). {fix}",
    )
