"""Lines of NumPy at random: what `random_programs.py` makes programs of, beside its own smooth lines.

A pattern is a line with holes, by families; `EXACT` are those whose numbers do not depend on how a batch is laid out. What a
hole gets is drawn for the array `x` at hand, and may not fit: the program is run while it is made, and such a line is dropped.
"""

from random import Random
from typing import Any

import numpy as np

DTYPES = ("float64",) * 6 + ("float32", "float32", "int64", "int64", "int32", "uint8", "int8", "bool", "complex128", "complex64", "float16")
SHAPES = ((), (1,), (2,), (3,), (3,), (4,), (2, 3), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (2, 3, 2), (1, 2, 3), (0,), (0, 2), (2, 0))
SCALARS = (
    "2", "3", "-1", "0", "1", "0.5", "-1.5", "2.0", "1e-3", "True", "1j", "np.float32(1.5)", "np.int64(2)", "np.float64(0.25)",
    "np.uint8(3)", "np.bool_(True)", "np.array(2.0)", "np.array(3)", "np.int8(-1)", "np.complex64(1 + 2j)", "np.float16(0.5)", "0.0", "-0.0",
)  # fmt: skip

ELEMENTWISE = (
    "np.sin({x})", "np.cos({x})", "np.tanh({x})", "np.exp(np.sin({x}))", "np.sqrt(np.abs({x}))", "np.abs({x})", "np.sign({x})", "-{x}", "+{x}",
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "{x} // {y}", "{x} % {y}", "{x} + {s}", "{s} - {x}", "{x} * {s}", "{s} / {x}", "{x} / {s}",
    "{x} // {s}", "{x} % {s}", "{s} // {x}", "{s} % {x}", "np.maximum({x}, {y})", "np.minimum({x}, {s})", "np.fmax({x}, {y})", "np.fmin({x}, {s})",
    "np.square({x})", "np.reciprocal({x})", "np.floor({x})", "np.ceil({x})", "np.trunc({x})", "np.rint({x})", "np.round({x}, 1)", "{x}.round()",
    "np.clip({x}, -1, 2)", "np.clip({x}, {s}, {s})", "{x}.clip(0)", "{x} < {y}", "{x} >= {s}", "{x} == {y}", "{x} != {s}", "~({x} > 0)",
    "np.logical_and({x}, {y})", "np.logical_not({x})", "np.isnan({x})", "np.isfinite({x})", "np.where({x} > 0, {x}, {y})", "np.where({x}, {s}, {y})",
    "np.where({m}, {x}, {s})", "np.hypot({x}, {y})", "np.arctan2({x}, {y})", "np.copysign({x}, {y})", "np.logaddexp({x}, {y})", "np.conj({x})",
    "{x}.conj()", "np.real({x})", "{x}.real", "{x}.imag", "np.imag({x})", "np.angle({x})", "{x}.astype({t})", "{x}.astype({t}, copy=False)",
    "np.nan_to_num({x})", "np.float_power(np.abs({x}), 0.5)", "np.log1p(np.abs({x}))", "np.expm1({x} * 0.1)", "np.heaviside({x}, 0.5)",
    "np.sinc({x})", "np.deg2rad({x})", "np.fabs({x})", "np.add({x}, {y})",
    "np.isclose({x}, {y})", "np.cbrt({x})", "np.fmod({x}, {s})", "np.remainder({x}, {y})",
    "np.floor_divide({x}, {s})", "np.negative({x})", "np.positive({x})", "np.absolute({x})", "np.arctan({x})", "np.sinh(np.tanh({x}))", "abs({x})",
    "{x} + [1]", "[2.0] * {x}", "np.maximum({x}, [0])", "divmod({x}, {s})[0]", "divmod({x}, {y})[1]",
    "np.signbit({x})", "np.logical_xor({x}, {y})", "np.isposinf({x})", "np.true_divide({x}, {s})",
)  # fmt: skip
BITS = (
    "{x} & {y}", "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << 1", "{x} >> 1", "1 << ({x} & 3)", "{x} & {s}", "np.bitwise_or({x}, {y})", "np.invert({x})",
    "np.left_shift({x}, {s})", "({x} > 0) & ({y} < 1)", "({x} > 0) ^ True", "({x} > 0) + ({y} > 0)", "({x} > 0) * {s}", "-({x} > 0).astype(int)",
    "({x} > 0) | {s}",
)  # fmt: skip
POWERS = (
    "{x} ** 2", "{x} ** 3", "{x} ** 0.5", "np.abs({x}) ** {y}", "{x} ** {s}", "np.power({x}, 2)", "{s} ** {x}", "{x} ** -1", "{x} ** -1.0",
    "np.power({x}, {y})", "{x} ** 0", "{x} ** 1", "np.abs({x}) ** 1.5",
)  # fmt: skip
REDUCTIONS = (
    "np.sum({x})", "{x}.sum()", "np.sum({x}, axis={a})", "np.sum({x}, axis={a}, keepdims=True)", "np.mean({x}, axis={a})", "{x}.mean()", "{x}.sum({a})",
    "np.sum({x}, axis={as})", "np.mean({x}, axis={as}, keepdims=True)", "np.prod({x})", "np.prod({x}, axis={a})", "np.var({x})", "np.std({x}, axis={a})",
    "np.var({x}, axis={a}, ddof=1)", "np.sum({x}, dtype={t})", "np.mean({x}, dtype=np.float64)", "np.average({x}, axis={a})", "np.nansum({x}, axis={a})",
    "np.linalg.norm({x})", "np.linalg.norm({x}, axis={a})", "np.trace({x})", "np.add.reduce({x}, axis={a})", "np.multiply.reduce({x})", "np.nanmean({x})",
    "np.median({x})", "np.median({x}, axis={a}, keepdims=True)", "np.add.reduce({x}, axis=None)",
    "np.trapezoid({x})",
)  # fmt: skip
CHOICES = (
    "np.max({x})", "np.min({x}, axis={a})", "{x}.max({a})", "np.max({x}, axis={a}, keepdims=True)", "np.argmax({x}, axis={a})", "np.argmin({x})", "{x}.argmax()",
    "np.all({x})", "np.any({x} > 0, axis={a})", "np.count_nonzero({x})", "np.count_nonzero({x}, axis={a})", "np.ptp({x}, axis={a})", "{x}.all({a})",
    "np.maximum.reduce({x}, axis={a})", "np.logical_or.reduce({x})", "np.amax({x})", "np.sort({x}, axis={a})", "np.sort({x}, axis=None)", "np.argsort({x}, axis={a}, kind='stable')",
    "np.sort({x}, kind='stable')", "np.sort({x})[..., ::-1]", "np.searchsorted(np.sort({x}.ravel()), {s})", "np.array_equal({x}, {y})", "np.argsort({x}, kind='stable', axis=None)",
    "np.minimum.reduce({x})", "np.allclose({x}, {y})", "np.any({x})",
)  # fmt: skip
SUMS_ALONG = (
    "np.cumsum({x}, axis={a})", "np.cumsum({x})", "{x}.cumsum({a})", "np.cumprod({x}, axis={a})", "{x} @ {y}", "np.dot({x}, {y})", "np.matmul({x}, {y})", "np.inner({x}, {y})",
    "np.outer({x}, {y})", "np.tensordot({x}, {y}, axes=1)", "np.einsum('...i,...i->...', {x}, {y})", "np.einsum('ij->j', {x})", "np.vdot({x}, {y})", "np.einsum('i,j', {x}, {y})",
    "np.einsum('ij,kj->ik', {x}, {y})", "{x} @ {x}.T", "np.kron({x}, {y})", "np.cumsum({x}, dtype={t})", "np.linalg.multi_dot([{x}, {x}.T, {x}])", "np.vecdot({x}, {y})",
    "np.cross({x}, {y})",
)  # fmt: skip
DIFFERENCES = ("np.diff({x}, axis={a})", "np.diff({x}, n=2)")
MOVING = (
    "np.reshape({x}, {sh})", "{x}.reshape({sh})", "{x}.reshape(-1)", "{x}.ravel()", "np.ravel({x})", "{x}.flatten()", "np.transpose({x})", "{x}.T", "{x}.swapaxes(0, -1)",
    "np.moveaxis({x}, 0, -1)", "np.expand_dims({x}, {a})", "np.squeeze({x})", "{x}.squeeze()", "np.broadcast_to({x}, (2, *{x}.shape))", "np.flip({x})", "np.flip({x}, {a})", "np.roll({x}, 1)",
    "np.roll({x}, -1, axis={a})", "np.rot90({x})", "np.tile({x}, 2)", "np.repeat({x}, 2)", "np.repeat({x}, 2, axis={a})", "np.concatenate([{x}, {y}])", "np.concatenate([{x}, {x}], axis={a})",
    "np.stack([{x}, {y}])", "np.stack([{x}, {x}], axis=-1)", "np.vstack([{x}, {y}])", "np.hstack([{x}, {y}])", "np.split({x}, 2)[0]", "np.array_split({x}, 2)[-1]", "np.pad({x}, 1)",
    "np.pad({x}, (1, 0), mode='edge')", "np.diag({x})", "np.diagonal({x})", "np.tril({x})", "np.triu({x}, 1)", "np.atleast_2d({x})", "np.atleast_1d({x})", "np.append({x}, {y})", "np.delete({x}, 0)",
    "np.copy({x})", "{x}.copy()", "{x}.copy('K')", "np.zeros_like({x})", "np.ones_like({x})",
    "np.full_like({x}, {s})", "np.zeros({x}.shape) + {x}", "np.column_stack([{x}, {x}])", "np.fliplr({x})",
    "np.swapaxes({x}, 0, 1)", "np.concatenate([{x}, [1.0]])", "np.vstack({x})", "np.broadcast_arrays({x}, {y})[0] * 1", "np.meshgrid({x}, {x})[0]", "np.ravel({x}, order='F')",
    "{x}.reshape(-1, 1)", "{x}.transpose(*range({x}.ndim))", "np.dstack([{x}, {x}])", "np.flipud({x})", "{x}[None].repeat(2, 0)",
    "np.expand_dims({x}, (0, -1))", "np.reshape({x}, {x}.shape[::-1])", "np.concatenate([{x}, {y}], axis=None)", "np.einsum('ij->ji', {x})", "np.einsum('ii->i', {x}[:1, :1])",
)  # fmt: skip
INDEXING = (
    "{x}[{i}]", "{x}[{i}]", "{x}[{i}]", "{x}[{f}]", "{x}[{f}]", "np.take({x}, [0, -1], axis={a})", "np.take({x}, 0)", "{x}.take([1, 0])", "{x}[{i}][{i}]", "np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), -1)",
    "{x}[np.argsort({x}[..., 0] if {x}.ndim > 1 else {x}, kind='stable')]", "np.compress([True, False], {x}, axis={a})", "{x}[np.array([0, 0])]",
    "{x}[{m}]", "{x}[..., None]", "{x}[()]", "{x}[0]", "{x}[-1:]", "{x}[::-1]", "{x}[1:]", "{x}[:, 0]", "{x}[..., ::2]",
    "np.extract({m}, {x})", "list({x})[0]", "{x}[np.int64(0)]", "{x}[True]", "{x}[[]]",
)  # fmt: skip
MASKED = ("{x}[{x} > 0]", "{x}[~np.isnan({x})]", "np.nonzero({x})[0]", "np.unique({x})", "{x}[{x} == {x}]", "np.flatnonzero({x} > 0)", "np.argwhere({x} > 0)", "np.where({x} > 0)[0]")
FLOW = (
    "{x}.sum(0) if {x}.ndim > 1 else {x} * 2", "sum({x}[k] * (k + 1) for k in range({x}.shape[0])) if {x}.ndim else {x}", "{x} * {x}.shape[0] if {x}.ndim else {x} + {x}.size",
    "[{x}[k] for k in range(len({x}))][-1]", "np.stack([{x}[k] + k for k in range({x}.shape[0])])", "{x} + np.arange({x}.size).reshape({x}.shape)", "{x} * np.ones({x}.shape, {x}.dtype)", "{x} + np.arange({x}.shape[-1])",
    "{x} / {x}.size", "{x} if {x}.dtype.kind == 'f' else {x} * 0.5", "{x} + {y}[..., 0] if {y}.ndim > {x}.ndim else {x} - {y}", "(lambda u, w: u * w - u)({x}, {y})", "{x}.nbytes + {x}",
    "np.eye(3)[{x}.size % 3] * np.max({x})", "{x} + len({x}.shape)", "max({x}.shape, default=1) * {x}", "np.linspace(0, 1, {x}.size) + {x}.ravel()", "np.sum([k for k in {x}.shape]) * {x}",
)  # fmt: skip
WRITES = (
    "{x}[{i}] = {s}", "{x}[{i}] = {y}", "{x}[{i}] += {s}", "{x}[{i}] *= {y}", "{x}[{f}] = {s}", "{x}[{f}] += {s}", "{x}[{f}] = {y}", "{x}[...] = {y}", "{x} += {s}", "{x} *= {y}", "{x} -= {y}", "{x} *= 2", "{x} //= 2",
    "{x} **= 2", "{x} /= 2", "{x} %= 3", "{x} |= 1", "{x} &= {s}", "{x} <<= 1", "{x}.fill({s})", "{x}.sort()", "{x}.sort(axis=0)", "{x}.T[...] = {y}", "{x}.T[0] += {s}", "{x}.reshape(-1)[::2] += {s}", "{x}.ravel()[0] = {s}",
    "{x}[::-1][0] = {s}", "{x}[1:] = {x}[:-1]", "{x}[1:] += {x}[:-1]", "{x}[::-1] += {x}", "{x}[:] = {x}[::-1]", "np.add({x}, {y}, out={x})", "np.multiply({x}, {s}, out={x})", "np.subtract({x}, {y}, out={x}, where={m})", "np.copyto({x}, {y})",
    "np.copyto({x}, {s}, where={m})", "np.put({x}, [0, -1], {s})", "{x}.put([0], [5])", "np.add.at({x}, [0, 0], {s})", "np.subtract.at({x}, 0, {s})", "np.maximum.at({x}, [0], {s})",
    "np.fill_diagonal({x}, {s})", "{x}[{m}] = {s}", "{x}[{m}] *= 2", "{x}.real[...] = {s}", "{x}.imag = {s}", "{x}.real = {y}", "np.einsum('ii->i', {x}[:2, :2])[...] = {s}", "np.sin({x}, out={x})", "np.sum({y}, axis=0, out={x})",
    "np.put_along_axis({x}, np.array([[0]]), {s}, axis=-1)", "{x}[{x} > 0] = {s}", "{x}[{x} < 0] *= -1", "np.negative({x}, out={x})", "np.clip({x}, 0, 1, out={x})", "np.copyto({x}[{i}], {s})",
    "{x}[None][0] = {s}", "{x}[..., 0] = {s}", "{x}[()] = {s}", "np.cumsum({x}, out={x})", "{x}[[0, 0]] = {s}", "{x}[[0, 0]] += {s}", "{x}[:, 0] = {y}[0]", "{x} @= {y}", "{x} ^= True", "{x}[0], {x}[-1] = {x}[-1], {x}[0]", "np.minimum({x}, {y}, {x})",
    "np.add({x}, {y}, out={x}[...])", "{x}.swapaxes(0, -1)[0] = {s}", "np.moveaxis({x}, 0, -1)[...] *= 2", "np.broadcast_to({x}, {x}.shape)[0]", "{x}[::2] = {s}", "{x}[-1] = {x}[0]", "{x}[{i}][...] = {s}", "np.nan_to_num({x}, copy=False)", "np.round({x}, out={x})",
)  # fmt: skip
# What has no row, or asks for what a row lacks: refused, and so of a small share.
OPTIONS = (
    "np.multiply({x}, {s}, dtype={t})", "np.subtract({x}, {y}, dtype={t})", "np.sum({x}, axis={a}, initial=2.0)", "np.sum({x}, where={m})",
    "np.sum({x}, axis={a}, where={x} > 0)", "np.max({x}, initial=0, where={m})", "np.diff({x}, prepend=0)", "np.reshape({x}, (-1,), order='F')",
    "np.take({x}, [[0, 1], [1, 0]], mode='clip')",
)  # fmt: skip
STRANGERS = (
    "np.spacing({x})", "np.nextafter({x}, {s})", "np.ldexp({x}, 2)", "np.divmod({x}, {s})[1]", "np.modf({x})[0]", "np.asarray({x})", "np.array({x})",
    "np.array({x}, dtype={t})", "np.gcd({x}, {y})", "np.bitwise_count({x})", "np.lcm({x}, {s})", "np.convolve({x}, {y})", "np.add.accumulate({x})",
    "np.add.outer({x}, {y})", "np.multiply.outer({x}, {y})", "np.ediff1d({x})", "np.gradient({x}, axis={a})", "{x}.view()",
    "np.ascontiguousarray({x})", "np.asfortranarray({x})", "np.array({x}, copy=True, ndmin=2)", "np.insert({x}, 1, {s})", "np.resize({x}, (2, 2))",
    "np.trim_zeros({x})", "np.block([{x}, {x}])", "np.choose([0], [{x}, {x}])", "np.choose(({x} > 0).astype(int), [{x}, {y}])",
    "np.select([{x} > 0], [{x}], {s})",
)  # fmt: skip
STRANGE_WRITES = (
    "np.putmask({x}, {m}, {y})", "np.place({x}, {m}, [1, 2])", "{x}.flat[0] = {s}", "np.divide({x}, {s}, out={x}, where={x} > 0)",
)  # fmt: skip
EXACT = {*ELEMENTWISE, *BITS, *CHOICES, *DIFFERENCES, *MOVING, *INDEXING, *MASKED, *WRITES} - {
    "np.cumsum({x}, out={x})", "{x} @= {y}", "np.sum({y}, axis=0, out={x})", "{x} **= 2", "np.float_power(np.abs({x}), 0.5)",
}  # fmt: skip
FAMILIES = {
    "elementwise": ELEMENTWISE, "bits": BITS, "powers": POWERS, "reductions": REDUCTIONS, "choices": CHOICES, "sums along": SUMS_ALONG,
    "differences": DIFFERENCES, "moving": MOVING, "indexing": INDEXING, "masked": MASKED, "flow": FLOW, "writes": WRITES,
    "options": OPTIONS, "strangers": STRANGERS, "strange writes": STRANGE_WRITES,
}  # fmt: skip
OF_NUMBERS = ("elementwise", "bits", "reductions", "choices")  # which give no views
SHARE = {"elementwise": 5, "bits": 1, "powers": 1, "reductions": 2, "choices": 1, "sums along": 1, "differences": 0.3, "moving": 3, "indexing": 4, "masked": 0.05, "flow": 1, "writes": 5, "options": 0.05, "strangers": 0.03, "strange writes": 0.03}


def literal(a: Any) -> str:
    """An array as source."""
    if a.dtype.kind == "c":
        items = [f"complex({float(z.real)!r}, {float(z.imag)!r})" for z in a.ravel().tolist()]
    else:
        items = [repr(v) for v in a.ravel().tolist()]
    text = f"np.array([{', '.join(items)}], np.{a.dtype.name if a.dtype.name != 'bool' else 'bool_'})"
    text = text.replace("nan", "np.nan").replace("inf", "np.inf").replace("(-np.inf", "(-np.inf")
    return text + ("" if a.ndim == 1 else f".reshape({a.shape})")


def argument(random: Random, numbers: bool = True) -> str:
    """The source of an array at random: dtype, shape, layout, ties and corners."""
    dtype, shape = np.dtype(random.choice(DTYPES)), random.choice(SHAPES if numbers else SHAPES[1:])
    size = int(np.prod(shape))
    values = [random.choice((random.gauss(0, 1.2), random.gauss(0, 1.2), random.choice((0.0, 1.0, -1.0, 2.0, 0.5, -0.0)))) for _ in range(size)]
    if random.random() < 0.06 and size and dtype.kind in "fc":
        values[random.randrange(size)] = random.choice((np.nan, np.inf, -np.inf, 1e300 if dtype.itemsize >= 8 else 1e4))
    a = np.array(values).reshape(shape)
    if dtype.kind == "c":
        a = a + 1j * np.array([random.gauss(0, 1) for _ in range(size)]).reshape(shape)
    elif dtype.kind in "iu":
        a = np.round(a * 3)
        a = np.abs(a) if dtype.kind == "u" else a
        if random.random() < 0.1 and size:
            a = a.astype(dtype)
            a.flat[0] = np.iinfo(dtype).max
    elif dtype.kind == "b":
        a = a > 0
    else:
        a = np.where(np.abs(a) < 1e10, np.round(a, 3), a)
    with np.errstate(all="ignore"):
        text = literal(np.asarray(a).astype(dtype))
    if random.random() < 0.25 and shape:
        text = random.choice((f"np.asfortranarray({text})", f"np.repeat({text}, 2, -1)[..., ::2]", f"{text}[::-1].copy()[::-1]"))
    return text


def index(random: Random, x: Any) -> str:
    """A basic index: numbers, slices, new axes, an ellipsis."""
    parts: list[str] = []
    for n in x.shape[: random.randint(0, x.ndim)]:
        a, b = random.randint(-n - 1, n + 1), random.randint(-n - 1, n + 1)
        number = str(random.randrange(-n, n)) if n else ":"
        parts.append(random.choice((number, ":", "1:", ":-1", "::-1", "::2", f"{a}:{b}", f"{b}:{a}:-1", number, "np.int64(0)")))
    if random.random() < 0.2:
        parts.insert(random.randint(0, len(parts)), "None")
    if random.random() < 0.25 or not parts:
        parts.insert(random.randint(0, len(parts)), "...")
    return ", ".join(parts) + ("," if random.random() < 0.1 and parts else "")


def fancy(random: Random, x: Any) -> str:
    """An index with lists, arrays or masks."""
    parts: list[str] = []
    for n in x.shape[: random.randint(1, max(1, x.ndim))]:
        places = [random.randrange(-n, n) for _ in range(2)] if n else []
        mask = [random.random() < 0.6 for _ in range(n)]
        parts.append(random.choice((
            str(places), f"np.array({places}, int)", f"np.array({[places]}, int)", ":", "::-1", str(mask), f"np.array({mask}, bool)", f"{places[0] if n else ':'}",
            f"np.array({places[0] if n else 0})", f"np.array({[[p] for p in places]}, int)", "None, 0", f"np.array({[p % n for p in places] if n else []}, np.uint8)",
        )))  # fmt: skip
    if random.random() < 0.2:
        parts.insert(random.randint(0, len(parts)), random.choice(("...", "None")))
    return ", ".join(parts) or "..."


def mask(random: Random, x: Any) -> str:
    """A constant mask of the shape of x."""
    values = [random.random() < 0.5 for _ in range(x.size)]
    return f"np.array({values}, bool)" + ("" if x.ndim == 1 else f".reshape({x.shape})")


def shape(random: Random, x: Any) -> str:
    """A shape that fits, most of the time."""
    n = x.size
    fitting = [(n,), (-1,), (1, -1), (-1, 1), (n, 1)] + [(k, n // k) for k in (2, 3) if n and n % k == 0] + [(2, -1)]
    return str(random.choice(fitting))


def line(random: Random, families: dict[str, float], x: Any, y: str, name: str) -> tuple[str, bool, str]:
    """A line about the array `x`, called `name`; whether it writes; and its pattern."""
    family = random.choices(list(families), list(families.values()))[0]
    pattern = random.choice(FAMILIES[family])
    while "'ii->i'" in pattern and not x.size:  # there NumPy reads memory that is nobody's
        pattern = random.choice(FAMILIES[family])
    axis = random.choice(("0", "-1", str(random.randrange(max(x.ndim, 1))), "None")) if x.ndim else "None"
    holes = {
        "x": name, "y": y, "a": axis, "t": random.choice(("np.float64", "np.float32", "np.int64", "np.complex128", "bool", "np.int8", "float", "int", "'f4'")),
        "as": random.choice(("(0, -1)", "(0,)", "()", "(0, 1)", "None")),
    }  # fmt: skip
    text = pattern
    for hole, draw in (("{s}", lambda: random.choice(SCALARS)), ("{i}", lambda: index(random, x)), ("{f}", lambda: fancy(random, x)), ("{m}", lambda: mask(random, x)), ("{sh}", lambda: shape(random, x))):
        while hole in text:
            text = text.replace(hole, draw(), 1)
    for hole, word in holes.items():
        text = text.replace("{" + hole + "}", word)
    return text, family.endswith("writes"), pattern
