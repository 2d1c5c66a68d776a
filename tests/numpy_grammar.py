"""Lines of NumPy at random: what `numpy_programs.py` makes programs of.

A pattern is a line with holes. Patterns stand in families, a family is two tuples: the lines that have derivatives nearly everywhere
and that JAX and torch know, too (`SMOOTH`), and the others. What a hole gets is drawn for the array `x` at hand, and may not fit:
the program is run while it is made, and such a line is dropped. The holes are

    {x} {y}        values of the program            {s} {r}    a scalar of any kind; a real number
    {i} {f} {m}    an index: basic; with lists, arrays, masks; a mask of the shape of x
    {a} {as}       an axis or None; several         {sh} {t}   a shape that fits most of the time; a dtype

`ROUNDED` are the patterns whose results depend on the order in which numbers are added up, so that a batch may give others in the
last bits; with each stands how large the numbers were. Every other line is held to the bit, in a batch, too.
"""

import re
from random import Random
from typing import Any, NamedTuple

import numpy as np

DTYPES = ("float64",) * 6 + ("float32", "float32", "int64", "int64", "int32", "uint8", "int8", "bool", "complex128", "complex64", "float16")
SHAPES = ((), (1,), (2,), (3,), (3,), (4,), (2, 3), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (2, 3, 2), (1, 2, 3), (0,), (0, 2), (2, 0))
SMOOTH_SHAPES = ((3,), (3,), (2, 3), (2, 3), (3, 3), (2, 2, 3))  # few: JAX compiles every operator for every shape
SCALARS = (
    "2", "3", "-1", "0", "1", "0.5", "-1.5", "2.0", "1e-3", "True", "1j", "np.float32(1.5)", "np.int64(2)", "np.float64(0.25)",
    "np.uint8(3)", "np.bool_(True)", "np.array(2.0)", "np.array(3)", "np.int8(-1)", "np.complex64(1 + 2j)", "np.float16(0.5)", "0.0", "-0.0",
)  # fmt: skip
REALS = ("2", "-1", "0.5", "-1.5", "0.7", "3.0", "0.3")
CASTS = ("np.float64", "np.float32", "np.int64", "np.complex128", "bool", "np.int8", "float", "int", "'f4'")

ELEMENTWISE = (
    (
        "np.sin({x})", "np.cos({x})", "np.tanh({x})", "np.exp(np.sin({x}))", "-{x}", "+{x}", "np.sqrt(1.5 + np.sin({x}))", "np.abs({x})", "abs({x})",
        "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / (2.0 + np.sin({y}))", "{x} + {r}", "{r} - {x}", "{x} * {r}", "{x} / {r}", "{r} / (2.0 + np.cos({x}))",
        "np.maximum({x}, {y})", "np.minimum({x}, {r})", "np.square({x})", "np.clip({x}, -1, 2)", "{x}.clip(-0.5)", "np.where({x} > 0, {x}, {y})",
        "np.where({m}, {x}, {r})", "np.where({x} > {y}, {y}, {x} * 2.0)", "np.hypot({x}, 1.5)", "np.arctan2({x}, 2.0 + np.sin({y}))", "np.logaddexp({x}, {y})",
        "np.log1p(np.square({x}))", "np.expm1({x} * 0.1)", "np.arctan({x})", "np.sinh(np.tanh({x}))", "np.add({x}, {y})", "np.negative({x})",
        "np.subtract({x}, {r})", "np.multiply({x}, {y})", "np.true_divide({x}, {r})", "np.reciprocal(2.0 + np.sin({x}))", "np.exp2(np.sin({x}))",
        "np.sinc({x})", "np.deg2rad({x})", "np.cosh(np.sin({x}))", "np.arcsin(0.9 * np.sin({x}))", "np.log(1.5 + np.cos({x}))", "np.real({x})",
        "np.nan_to_num({x})", "np.absolute({x})", "np.conj({x})", "np.log2(2.0 + np.sin({x}))", "np.arcsinh({x})", "np.tan(0.5 * np.sin({x}))",
        "np.where({x} > 0.1, {x}, {y})", "np.copysign({x}, {r})", "np.divide({x}, 1.5 + np.square({y}))",
    ),
    (
        "np.sqrt(np.abs({x}))", "np.sign({x})", "{x} / {y}", "{x} // {y}", "{x} % {y}", "{x} + {s}", "{s} - {x}", "{x} * {s}", "{s} / {x}", "{x} / {s}",
        "{x} // {s}", "{x} % {s}", "{s} // {x}", "{s} % {x}", "np.minimum({x}, {s})", "np.fmax({x}, {y})", "np.fmin({x}, {s})", "np.reciprocal({x})",
        "np.floor({x})", "np.ceil({x})", "np.trunc({x})", "np.rint({x})", "np.round({x}, 1)", "{x}.round()", "{x}.round(1)", "np.clip({x}, {s}, {s})", "{x}.clip(0)",
        "np.clip(a={x}, a_min=0, a_max=1)", "{x}.clip(max=1)", "{x} < {y}", "{x} >= {s}", "{x} == {y}", "{x} != {s}", "~({x} > 0)", "np.greater({x}, {y})",
        "np.logical_and({x}, {y})", "np.logical_not({x})", "np.isnan({x})", "np.isfinite({x})", "np.where({x}, {s}, {y})", "np.where({m}, {x}, {s})",
        "np.hypot({x}, {y})", "np.arctan2({x}, {y})", "np.copysign({x}, {y})", "{x}.conj()", "{x}.real", "{x}.imag", "np.imag({x})", "np.angle({x})",
        "{x}.astype({t})", "{x}.astype({t}, copy=False)", "{x}.astype(dtype={t})", "np.float_power(np.abs({x}), 0.5)", "np.log1p(np.abs({x}))",
        "np.heaviside({x}, 0.5)", "np.fabs({x})", "np.isclose({x}, {y})", "np.cbrt({x})", "np.fmod({x}, {s})", "np.remainder({x}, {y})",
        "np.floor_divide({x}, {s})", "np.positive({x})", "{x} + [1]", "[2.0] * {x}", "np.maximum({x}, [0])", "divmod({x}, {s})[0]", "divmod({x}, {y})[1]",
        "np.signbit({x})", "np.logical_xor({x}, {y})", "np.isposinf({x})", "np.nan_to_num({x}, nan=1.0, posinf=2.0, neginf=0)", "np.isinf({x}) | ({x} > 1)",
        "np.rad2deg({x})", "{x}.__add__({y})", "{x}.__rsub__({s})", "np.not_equal({x}, {s})",
    ),
)  # fmt: skip
KEYWORDS = (
    (
        "np.multiply({x}, {y}, out=np.zeros_like({x}, shape=np.broadcast_shapes({x}.shape, {y}.shape)))",
        "np.sin({x}, where={m}, out=np.ones_like({x}))", "np.add({x}, {r}, out=None)",
    ),
    (
        "np.multiply({x}, {s}, dtype={t})", "np.subtract({x}, {y}, dtype={t})", "np.add({x}, {y}, out=np.zeros_like({x}, {t}))",
        "np.multiply({x}, {s}, where={m}, out=np.zeros_like({x}))", "np.sqrt({x}, where={m}, out=np.ones_like({x}))", "np.add({x}, {s}, dtype=float)",
        "np.divide({x}, {y}, out=np.zeros_like({x}, float), where=True)", "np.add({x}, {y}, dtype=np.complex128)", "np.exp({x}, out=np.empty_like({x}))",
        "np.greater({x}, {s}, out=np.zeros_like({x}, bool))", "np.negative({x}, order='F')", "np.add({x}, {y}, casting='same_kind')",
    ),
)  # fmt: skip
BITS = (
    (),
    (
        "{x} & {y}", "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << 1", "{x} >> 1", "1 << ({x} & 3)", "{x} & {s}", "np.bitwise_or({x}, {y})", "np.invert({x})",
        "np.left_shift({x}, {s})", "({x} > 0) & ({y} < 1)", "({x} > 0) ^ True", "({x} > 0) + ({y} > 0)", "({x} > 0) * {s}", "-({x} > 0).astype(int)",
        "({x} > 0) | {s}", "np.bitwise_and({x}, 6)", "np.right_shift({x}, 1)",
    ),
)  # fmt: skip
POWERS = (
    ("{x} ** 2", "{x} ** 3", "np.power({x}, 2)", "np.abs({x}) ** 1.5", "(1.5 + np.sin({x})) ** {y}", "2.0 ** np.sin({x})", "{x} ** 1"),
    (
        "{x} ** 0.5", "np.abs(np.real({x})) ** {y}", "{x} ** {s}", "{s} ** {x}", "{x} ** -1", "{x} ** -1.0", "np.power({x}, {y})", "{x} ** 0", "np.power({x}, {s}, dtype=float)",
        "pow({x}, 2)", "np.float_power({x}, 2)",
    ),
)  # fmt: skip
REDUCTIONS = (
    (
        "np.sum({x})", "{x}.sum()", "np.sum({x}, axis={a})", "np.sum({x}, axis={a}, keepdims=True)", "np.mean({x}, axis={a})", "{x}.mean()", "{x}.sum({a})",
        "np.sum({x}, axis={as})", "np.mean({x}, axis={as}, keepdims=True)", "np.prod({x})", "np.prod({x}, axis={a})", "np.var({x})", "np.average({x}, axis={a})",
        "np.nansum({x}, axis={a})", "np.trace({x})", "np.add.reduce({x}, axis={a})", "np.linalg.norm({x} + 3.0, axis={a})", "np.nanmean({x})",
        "{x}.mean({a}, keepdims=True)", "np.var({x}, axis={a})", "np.sum({x}, axis={a}, where={m})", "np.trapezoid({x})", "{x}.prod()",
        "np.std({x} * np.array([1.0, 2.5, 4.0]) + np.array([-3.0, 0.0, 3.0]), axis=-1)",
    ),
    (
        "np.std({x}, axis={a})", "np.var({x}, axis={a}, ddof=1)", "np.sum({x}, dtype={t})", "np.mean({x}, dtype=np.float64)", "np.linalg.norm({x})",
        "np.linalg.norm({x}, axis={a})", "np.multiply.reduce({x})", "np.add.reduce({x}, axis=None)", "np.sum(a={x}, axis={a})", "{x}.sum(axis={a}, dtype={t})",
        "np.prod({x}, axis={a}, dtype={t})", "{x}.mean(axis={a}, dtype={t})", "np.sum({x}, axis={a}, initial=2.0)", "np.sum({x}, where={m})",
        "np.mean({x}, where={m})", "{x}.var({a})", "{x}.std(axis={a}, ddof=1)",
        "np.average({x}, axis={a}, weights=np.arange({x}.shape[{a}]) + 1.0)", "np.add.reduce({x}, axis={a}, keepdims=True, dtype={t})", "{x}.trace()",
        "np.sum({x}, axis=0, out=np.zeros_like({x}, shape={x}.shape[1:]))", "np.prod({x}, axis={a}, initial=2, where={m})", "np.linalg.norm({x}, 1)", "np.sum({x}, ({a},))",
        "np.mean({x}, axis=0, out=np.zeros_like({x}, shape={x}.shape[1:]))", "np.std({x}, keepdims=True)",
    ),
)  # fmt: skip
CHOICES = (
    (
        "np.max({x})", "np.min({x}, axis={a})", "np.max({x}, axis={a}, keepdims=True)", "np.amax({x})", "np.sort({x}, axis={a})", "np.sort({x})[..., :2]",
        "np.median({x})", "np.ptp({x}, axis={a})",
    ),
    (
        "{x}.max({a})", "{x}.min()", "np.argmax({x}, axis={a})", "np.argmin({x})", "{x}.argmax()", "{x}.argmin({a})", "np.all({x})", "np.any({x} > 0, axis={a})", "np.count_nonzero({x})",
        "np.count_nonzero({x}, axis={a})", "{x}.all({a})", "{x}.any()", "np.maximum.reduce({x}, axis={a})", "np.logical_or.reduce({x})", "np.logical_and.reduce({x}, axis={a})",
        "np.sort({x}, axis=None)", "np.argsort({x}, axis={a}, kind='stable')", "{x}.argsort(kind='stable')", "np.median({x}, axis={a}, keepdims=True)",
        "np.sort({x}, kind='stable')", "np.sort({x})[..., ::-1]", "np.searchsorted(np.sort({x}.ravel()), {s})", "{x} + np.array_equal({x}, {y})", "np.argsort({x}, kind='stable', axis=None)",
        "np.minimum.reduce({x})", "{x} * np.allclose({x}, {y})", "np.any({x})", "np.max({x}, initial=0, where={m})", "np.argmax({x}, axis={a}, keepdims=True)",
        "np.max({x}, axis=0, out=np.zeros_like({x}, shape={x}.shape[1:]))", "np.min({x}, axis={as})", "np.any({x}, axis={a}, keepdims=True)", "{x}.max(axis={a}, keepdims=True)",
        "np.sort({x}.ravel()).searchsorted({s}, 'right')", "np.all({x} > 0, where={m})",
    ),
)  # fmt: skip
SUMS_ALONG = (
    (
        "np.cumsum({x}, axis={a})", "np.cumsum({x})", "{x}.cumsum({a})", "np.cumprod({x}, axis={a})", "{x} @ {y}", "np.dot({x}, {y})", "np.matmul({x}, {y})", "np.inner({x}, {y})",
        "np.tensordot({x}, {y}, axes=1)", "np.einsum('...i,...i->...', {x}, {y})", "np.einsum('ij->j', {x})", "np.vdot({x}, {y})", "np.einsum('ij,kj->ik', {x}, {y})", "{x} @ {x}.T",
        "np.linalg.multi_dot([{x}, {x}.T, {x}])", "{x} @ np.transpose({x})", "np.einsum('ij,ij->', {x}, {y})",
    ),
    (
        "np.cumsum({x}, dtype={t})", "np.vecdot({x}, {y})", "{x}.dot({y})", "{x}.cumprod()", "np.cumsum({x}, axis=0, out=np.zeros_like({x}))", "np.add.accumulate({x})",
        "np.tensordot({x}, {y}, axes=([0], [0]))", "np.einsum('ij->', {x})", "np.einsum(\"ij,j\", {x}, {y})", "{x}.T @ {y}",
        "np.matmul({x}, {y}, dtype=np.complex128)", "np.einsum('i,i', {x}, {x}, optimize=True)", "np.cumsum({x}, {a}, {t})", "np.multiply.accumulate({x})",
    ),
)  # fmt: skip
PRODUCTS = (
    ("np.outer({x}, {y})", "np.einsum('i,j', {x}, {y})", "np.kron({x}, {y})"),
    ("np.cross({x}, {y})", "np.multiply.outer({x}, {y})", "np.add.outer({x}, {y})", "np.subtract.outer({x}, {x})", "np.einsum('i,j->ji', {x}, {y})"),
)
LINEAR = (
    (
        "np.linalg.inv({x} + 4.0 * np.eye(3))", "np.linalg.solve({x} + 4.0 * np.eye(3), {y})", "np.linalg.det({x} + 4.0 * np.eye(3))",
        "np.linalg.slogdet({x} + 4.0 * np.eye(3))[1]", "np.linalg.cholesky({x} * np.eye(3) * 0.1 + 4.0 * np.eye(3))",
    ),
    ("np.linalg.matrix_power({x} + np.eye(3), 1)",),
)  # fmt: skip
DIFFERENCES = (("np.diff({x}, axis={a})", "np.diff({x}, n=2)"), ("np.diff({x}, prepend=0)"))
MOVING = (
    (
        "np.reshape({x}, {sh})", "{x}.reshape({sh})", "{x}.reshape(-1)", "{x}.ravel()", "np.ravel({x})", "{x}.flatten()", "np.transpose({x})", "{x}.T", "{x}.swapaxes(0, -1)",
        "np.moveaxis({x}, 0, -1)", "np.expand_dims({x}, {a})", "np.squeeze({x})", "{x}.squeeze()", "np.broadcast_to({x}, (2, *{x}.shape))", "np.flip({x})", "np.flip({x}, {a})", "np.roll({x}, 1)",
        "np.roll({x}, -1, axis={a})", "np.rot90({x})", "np.tile({x}, 2)", "np.repeat({x}, 2)", "np.repeat({x}, 2, axis={a})", "np.concatenate([{x}, {y}])", "np.concatenate([{x}, {x}], axis={a})",
        "np.stack([{x}, {y}])", "np.stack([{x}, {x}], axis=-1)", "np.vstack([{x}, {y}])", "np.hstack([{x}, {y}])", "np.split({x}, 2)[0]", "np.array_split({x}, 2)[-1]", "np.pad({x}, 1)",
        "np.pad({x}, (1, 0), mode='edge')", "np.diag({x})", "np.diagonal({x})", "np.tril({x})", "np.triu({x}, 1)", "np.atleast_2d({x})", "np.atleast_1d({x})", "np.append({x}, {y})", "np.delete({x}, 0)",
        "np.copy({x})", "np.swapaxes({x}, 0, 1)", "np.column_stack([{x}, {x}])", "np.fliplr({x})", "np.meshgrid({x}, {x})[0]", "{x}.reshape(-1, 1)", "np.dstack([{x}, {x}])", "np.flipud({x})",
        "np.reshape({x}, {x}.shape[::-1])", "np.concatenate([{x}, {y}], axis=None)", "np.einsum('ij->ji', {x})", "np.einsum('ii->i', {x}[:1, :1])", "np.stack([{x}, {x} * 2.0])", "np.rollaxis({x}, 1)",
        "np.broadcast_arrays({x}, {y})[0] * 1", "np.zeros({x}.shape) + {x}", "np.pad({x}, 1, mode='reflect')", "np.stack([{x}[0], {x}[-1]])",
    ),
    (
        "{x}.copy()", "{x}.copy('K')", "np.zeros_like({x})", "np.ones_like({x})", "np.full_like({x}, {s})", "np.concatenate([{x}, [1.0]])", "np.vstack({x})", "np.ravel({x}, order='F')",
        "{x}.transpose(*range({x}.ndim))", "{x}[None].repeat(2, 0)", "np.expand_dims({x}, (0, -1))", "np.reshape({x}, (-1,), order='F')", "{x}.reshape({sh}, order='F')", "{x}.flatten('F')",
        "{x}.transpose()", "{x}.diagonal()", "np.empty_like({x}).shape[0] * {x}", "np.concatenate(({x}, {y}), axis={a}, dtype={t}, casting='unsafe')", "np.stack([{x}, {y}], axis={a})",
        "np.full({x}.shape, {s})", "np.zeros_like({x}, dtype={t})", "np.transpose({x}, tuple(range({x}.ndim))[::-1])", "np.hsplit({x}, 1)[0]", "np.pad({x}, ((1, 2),) + ((0, 0),) * ({x}.ndim - 1), constant_values=3)",
        "np.repeat({x}, np.arange({x}.shape[0]), axis=0)", "np.roll({x}, (1, 2), axis=(0, -1))", "np.flip({x}, axis=(0, -1))", "np.tile({x}, (2, 1))", "np.atleast_3d({x})", "{x}.squeeze(axis={a})",
        "np.moveaxis({x}, (0, 1), (-1, 0))", "np.unstack({x})[0] if hasattr(np, 'unstack') else {x}[0]", "np.pad({x}, 1, mode='wrap')",
    ),
)  # fmt: skip
INDEXING = (
    (
        "{x}[{i}]", "{x}[{i}]", "{x}[{i}]", "{x}[{f}]", "{x}[{f}]", "np.take({x}, np.array([0, -1]), axis={a})", "np.take({x}, 0)", "{x}[{i}][{i}]", "{x}[np.array([0, 0])]", "{x}[..., None]",
        "{x}[()]", "{x}[0]", "{x}[-1:]", "{x}[::-1]", "{x}[1:]", "{x}[:, 0]", "{x}[..., ::2]", "{x}[{m}]", "np.take_along_axis({x}, np.argsort({x}, axis=-1), -1)", "{x}[None]", "{x}[...]", "{x}[1:2]",
        "{x}[1:, ::2]", "{x}[None, 1]", "{x}[[0, 0]]",
    ),
    (
        "np.take({x}, [0, -1], axis={a})", "{x}.take([1, 0])", "np.take_along_axis({x}, np.argsort({x}, axis=-1, kind='stable'), -1)", "{x}[np.argsort({x}[..., 0] if {x}.ndim > 1 else {x}, kind='stable')]",
        "np.compress([True, False], {x}, axis={a})", "np.extract({m}, {x})", "list({x})[0]", "{x}[np.int64(0)]", "{x}[True]", "{x}[[]]", "{x}[False]", "{x}[np.ix_([0, -1])]", "{x}[np.ix_([0], [0, -1])]",
        "np.take({x}, [[0, 1], [1, 0]], mode='clip')", "np.take({x}, [5, -7], mode='wrap', axis={a})", "{x}.take(np.array([0]), axis={a})", "{x}[np.tril_indices(2)]", "{x}.compress([True, False], {a})", "{x}[({i},)]",
        "{x}[{y}.size % 2]", "{x}[{y} > 0]", "{x}[np.array(0)]", "{x}[np.array(True)]",
        "{x}[np.arange({x}.shape[0])[::-1]]", "{x}[tuple([0] * {x}.ndim)]", "{x}[..., [0, 0], :]", "{x}[slice(None, None, 2)]", "({x}.item(0) > 0) * {x}", "np.unravel_index(0, {x}.shape)[0] + {x}",
    ),
)  # fmt: skip
MASKED = (
    (),
    ("{x}[{x} > 0]", "{x}[~np.isnan({x})]", "np.nonzero({x})[0]", "np.unique({x})", "{x}[{x} == {x}]", "np.flatnonzero({x} > 0)", "np.argwhere({x} > 0)", "np.where({x} > 0)[0]", "{x}.nonzero()[-1]"),
)  # fmt: skip
FLOW = (
    (
        "sum({x}[k] * (k + 1) for k in range({x}.shape[0])) if {x}.ndim else {x}", "{x} * {x}.shape[0] if {x}.ndim else {x} + 1", "[{x}[k] for k in range(len({x}))][-1]",
        "np.stack([{x}[k] + k for k in range({x}.shape[0])])", "{x} + np.arange({x}.shape[-1])", "{x} / {x}.shape[0]", "(lambda u, w: u * w - u)({x}, {y})", "{x} + len({x}.shape)",
        "max({x}.shape, default=1) * {x}", "{x} + {y}[..., 0] if {y}.ndim > {x}.ndim else {x} - {y}",
    ),
    (
        "{x}.sum(0) if {x}.ndim > 1 else {x} * 2", "{x} + np.arange({x}.size).reshape({x}.shape)", "{x} * np.ones({x}.shape, {x}.dtype)", "{x} / {x}.size", "{x} if {x}.dtype.kind == 'f' else {x} * 0.5",
        "{x}.nbytes + {x}", "np.eye(3)[{x}.size % 3] * np.max({x})", "np.linspace(0, 1, {x}.size) + {x}.ravel()", "np.sum([k for k in {x}.shape]) * {x}", "{x} * np.size({x})", "np.ndim({x}) + {x}",
        "{x}[: {x}.shape[0] // 2] * 2", "np.arange({x}.shape[0], dtype={t})", "{x} * {x}.itemsize", "[u for u in {x}][0]", "np.zeros({x}.shape[:1]) + 1", "(lambda *u: u[0] * len(u))(*{x})", "{x} * (len({x}) > 1)",
    ),
)  # fmt: skip
PACKED = (("{'a': {x}, 'b': ({y}, [{x}])}['b'][1][0] + 0.1", "[{x}, {y}][0] * 0.9", "dict(p={x}, q={y}).pop('p') - 0.2"), ())
NESTED = (
    (
        "grad(lambda u: np.sum(np.sin(u) * {y}))({x})", "jvp(lambda u: np.sin(u) * {y}, ({x},), ({x} * 0.5,))[1]", "grad(lambda u: np.sum(jvp(np.sin, (u,), ({x},))[1]))({x} + 0.1)",
        "grad(lambda d: np.sum(d['a'] * np.sin(d['b'][0])))({'a': {x}, 'b': [{y}]})['b'][0]",
    ),
    (),
)  # fmt: skip
MAPPED = (
    (
        "vmap(lambda r: np.sin(r) * 2.0)({x})", "vmap(lambda r: r * np.sum({y}))({x})", "vmap(grad(lambda r: np.sum(np.sin(r) * r)))({x})", "vmap(lambda d: d['a'] * d['b'])({'a': {x}, 'b': {x}})",
    ),
    ("vmap(lambda r: r[::-1])({x})", "vmap(lambda r, z: r + z, (0, None))({x}, {y})"),
)  # fmt: skip
WRITES = (
    (
        "{x}[{i}] = {r}", "{x}[{i}] = {y}", "{x}[{i}] += {r}", "{x}[{i}] *= {y}", "{x}[{f}] = {r}", "{x}[{f}] = {y}", "{x}[...] = {y}", "{x} += {r}", "{x} *= 0.6", "{x} += {y}", "{x} -= {y}", "{x} /= 2",
        "{x}[0] = {r}", "{x}[-1] += {r}", "{x}[1:] *= 0.5", "{x}[:, 0] = {y}[0]", "{x}[..., 0] += {y}[..., 0]", "{x}[0] = np.sin({x}[0])", "{x}[1:] -= {r}", "{x}[{i}] += {y}", "{x}[{i}] /= 1.5", "{x}[{i}] = np.sin({x}[{i}])",
        "{x}.reshape(-1)[::2] += {r}", "{x}[::2] = {r}", "{x}[-1] = {x}[0]", "{x}[[0]] = {y}[0]", "{x}[{i}] -= {x}[{i}]",
    ),
    (
        "{x}[{i}] = {s}", "{x}[{i}] += {s}", "{x}[{f}] = {s}", "{x}[{f}] += {s}", "{x} += {s}", "{x} *= {y}", "{x} *= 2", "{x} //= 2", "{x} %= 3", "{x} |= 1", "{x} &= {s}", "{x} <<= 1", "{x}.fill({s})", "{x}.sort()",
        "{x}.sort(axis=0)", "{x}.T[...] = {y}", "{x}.T[0] += {s}", "{x}.reshape(-1)[::2] += {s}", "{x}.ravel()[0] = {s}", "{x}[::-1][0] = {s}", "{x}[1:] = {x}[:-1]", "{x}[1:] += {x}[:-1]", "{x}[::-1] += {x}",
        "{x}[:] = {x}[::-1]", "np.add({x}, {y}, out={x})", "np.multiply({x}, {s}, out={x})", "np.subtract({x}, {y}, out={x}, where={m})", "np.copyto({x}, {y})", "np.copyto({x}, {s}, where={m})", "np.put({x}, [0, -1], {s})",
        "{x}.put([0], [5])", "np.add.at({x}, [0, 0], {s})", "np.subtract.at({x}, 0, {s})", "np.maximum.at({x}, [0], {s})", "np.fill_diagonal({x}, {s})", "{x}[{m}] = {s}", "{x}[{m}] *= 2", "{x}.real[...] = {s}",
        "{x}.imag = {s}", "{x}.real = {y}", "np.einsum('ii->i', {x}[:2, :2])[...] = {s}", "np.sin({x}, out={x})", "np.put_along_axis({x}, np.array([[0]]), {s}, axis=-1)", "{x}[{x} > 0] = {s}", "{x}[{x} < 0] *= -1",
        "np.negative({x}, out={x})", "np.clip({x}, 0, 1, out={x})", "np.copyto({x}[{i}], {s})", "{x}[None][0] = {s}", "{x}[..., 0] = {s}", "{x}[()] = {s}", "{x}[[0, 0]] = {s}", "{x}[[0, 0]] += {s}", "{x} ^= True",
        "{x}[0], {x}[-1] = {x}[-1], {x}[0]", "np.minimum({x}, {y}, {x})", "np.add({x}, {y}, out={x}[...])", "{x}.swapaxes(0, -1)[0] = {s}", "np.moveaxis({x}, 0, -1)[...] *= 2", "np.broadcast_to({x}, {x}.shape)[0]",
        "{x}[{i}][...] = {s}", "np.nan_to_num({x}, copy=False)", "np.round({x}, out={x})", "{x} >>= 1", "{x}[{i}] //= 2", "{x}[{i}] %= {s}", "{x}[{f}] *= {y}", "{x}[{f}] -= {x}[{f}]", "{x}[{m}] = {y}[0] * 1", "{x}[{m}] += {s}",
        "{x}.T[...] += {x}.T", "{x}[...] += {x}.T", "{x}[1:][::-1] = {s}", "{x}.T[1:] *= {s}", "{x}.reshape({sh})[...] += {s}",
        "{x}[:, None][0] = {s}", "{x}[{x} > {y}] = 0", "np.copyto({x}, {y}, casting='unsafe')", "np.diagonal({x}).sum()", "{x}.diagonal()[...]", "np.true_divide({x}, 2, out={x})", "{x}.clip(0, 1, out={x})", "{x}.round(out={x})",
        "np.exp(np.sin({x}), out={x})", "np.where({m}, {x}, 0)[0]", "{x}.T.T[0] = {s}", "np.split({x}, 1)[0][...] *= 2", "np.squeeze({x})[...] = {s}", "np.expand_dims({x}, 0)[0, 0] = {s}", "{x}[np.ix_([0], [0, -1])] = {s}",
        "np.maximum({x}, {y}, out={x}[:])", "{x}[{i}], {x}[{i}] = {s}, {s}", "np.put({x}, [0], {y})", "{x}[tuple([0] * {x}.ndim)] = {s}", "np.rollaxis({x}, -1)[0] = {s}", "{x}[True] = {s}", "{x}[...][...] -= 1", "{x}[[True] * len({x})] = {s}",
    ),
)  # fmt: skip
SUMMED_WRITES = (
    (),
    ("np.cumsum({x}, out={x})", "{x} @= {y}", "np.sum({y}, axis=0, out={x})", "{x} **= 2", "{x} **= {s}", "np.mean({y}, axis=0, out={x})", "np.dot({y}, {y}, out={x})", "{x}.cumsum(0, out={x})", "np.power({x}, 2, out={x})"),
)  # fmt: skip
# What has no row, or asks for what a row lacks: refused, and so of a small share.
STRANGERS = (
    (),
    (
        "np.bitwise_and.reduce({x})", "np.bitwise_or.reduce({x}, axis={a})", "np.nanvar({x}, axis={a})", "np.nanstd({x})", "np.nanmax({x}, axis={a})", "np.nanmin({x})", "np.quantile({x}, 0.5, axis={a})", "np.nancumsum({x}, axis={a})", "np.ediff1d({x})", "np.gradient({x}, axis={a})", "np.array([{x}, {x}])", "np.insert({x}, 1, {s})", "np.block([{x}, {x}])", "np.add({x}, {y}, out=np.zeros({x}.shape))", "np.sum({x}, axis=0, out=np.zeros({x}.shape[1:]))",
        "np.real_if_close({x})", "np.choose([0], [{x}, {x}])", "np.choose(({x} > 0).astype(int), [{x}, {y}])", "np.select([{x} > 0], [{x}], {s})", "np.nanprod({x}, axis={a})",
        "np.spacing({x})", "np.nextafter({x}, {s})", "np.ldexp({x}, 2)", "np.divmod({x}, {s})[1]", "np.modf({x})[0]", "np.asarray({x})", "np.array({x})", "np.array({x}, dtype={t})", "np.gcd({x}, {y})", "np.bitwise_count({x})",
        "np.lcm({x}, {s})", "{x}.view()", "np.ascontiguousarray({x})", "np.asfortranarray({x})", "np.array({x}, copy=True, ndmin=2)", "np.resize({x}, (2, 2))", "np.trim_zeros({x})", "np.partition({x}, 0)[0]", "np.frexp({x})[0]",
        "np.piecewise({x}, [{x} > 0], [1.0, 0.0])", "np.digitize({x}, [0.0, 1.0])", "np.bincount(np.abs({x}).astype(int).ravel())", "np.interp({x}, [0.0, 1.0], [1.0, 3.0])", "np.union1d({x}, {y})", "np.isin({x}, {y})",
    ),
)  # fmt: skip
STRANGE_WRITES = ((), ("np.add({x}, {s}, out={x}, casting='unsafe')", "np.multiply({x}, {y}, {x}, where={y} > 0)", "np.putmask({x}, {m}, {y})", "np.place({x}, {m}, [1, 2])", "{x}.flat[0] = {s}", "np.divide({x}, {s}, out={x}, where={x} > 0)"))

FAMILIES = {
    "elementwise": ELEMENTWISE, "keywords": KEYWORDS, "bits": BITS, "powers": POWERS, "reductions": REDUCTIONS, "choices": CHOICES, "sums along": SUMS_ALONG,
    "products": PRODUCTS, "linear": LINEAR, "differences": DIFFERENCES, "moving": MOVING, "indexing": INDEXING, "masked": MASKED, "flow": FLOW, "packed": PACKED,
    "nested": NESTED, "mapped": MAPPED, "writes": WRITES, "summed writes": SUMMED_WRITES, "strangers": STRANGERS, "strange writes": STRANGE_WRITES,
}  # fmt: skip
SMOOTH = {name: smooth for name, (smooth, _) in FAMILIES.items() if smooth}
EVERY = {name: (*smooth, *others) for name, (smooth, others) in FAMILIES.items()}
MOVES = ("choices", "moving", "indexing", "masked")  # no line of these computes
OF_NUMBERS = ("elementwise", "bits", "reductions", "choices")  # which give no views
SHARE = {
    "elementwise": 5, "keywords": 0.6, "bits": 1, "powers": 1, "reductions": 2, "choices": 1, "sums along": 1, "products": 0.3, "linear": 0.2, "differences": 0.3, "moving": 3, "indexing": 4,
    "masked": 0.05, "flow": 1, "packed": 0.2, "nested": 0.3, "mapped": 0.3, "writes": 5, "summed writes": 0.2, "strangers": 0.06, "strange writes": 0.04,
}  # fmt: skip

ITSELF = "the result"  # its size bounds the error: one rounding, however it is computed
ABSOLUTE = "the line, of absolute values"
ARCTAN2 = ("np.arctan2({x}, 2.0 + np.sin({y}))", "np.arctan2({x}, {y})")  # NumPy rounds otherwise where an operand runs backwards
ROUNDED: dict[str, str] = {
    **dict.fromkeys((*EVERY["reductions"], *EVERY["sums along"], *EVERY["summed writes"], "{x}.sum(0) if {x}.ndim > 1 else {x} * 2", "vmap(lambda r: r * np.sum({y}))({x})"), ABSOLUTE),
    "np.sum({x}, axis=0, out=np.zeros({x}.shape[1:]))": ABSOLUTE,
    **dict.fromkeys((*EVERY["powers"], "np.float_power(np.abs({x}), 0.5)", *ARCTAN2, "{x} **= 2", "{x} **= {s}", "np.power({x}, 2, out={x})"), ITSELF),
    # of absolute values, with a factor where NumPy subtracts the mean first; of deviations the squares are compared
    "np.var({x})": "4 * np.mean(np.square({x}))",
    "np.var({x}, axis={a})": "4 * np.mean(np.square({x}), axis={a})",
    "{x}.var({a})": "4 * np.mean(np.square({x}), {a})",
    "np.var({x}, axis={a}, ddof=1)": "8 * np.mean(np.square({x}), axis={a})",
    "np.std({x}, axis={a})": "4 * np.mean(np.square({x}), axis={a})",
    "{x}.std(axis={a}, ddof=1)": "8 * np.mean(np.square({x}), axis={a})",
    "np.nanvar({x}, axis={a})": "4 * np.nanmean(np.square({x}), axis={a})",
    "np.nanstd({x})": "4 * np.nanmean(np.square({x}))",
    "np.std({x}, keepdims=True)": "4 * np.mean(np.square({x}), keepdims=True)",
    "np.std({x} * np.array([1.0, 2.5, 4.0]) + np.array([-3.0, 0.0, 3.0]), axis=-1)": "4 * np.mean(np.square({x} * 4.0 + 3.0), axis=-1)",
    # equal but for the sign of zero: of 0.0 and -0.0 the first is the largest, and 0.0 + -0.0 * 1.0 is no product
    **dict.fromkeys((pattern for pattern in EVERY["choices"] if re.search("max|min|quantile", pattern) and "arg" not in pattern), "0.0"),
    "np.unique({x})": "0.0",
    **dict.fromkeys((pattern for pattern in EVERY["products"] if "einsum" in pattern), "0.0"),
    **dict.fromkeys((pattern for pattern in (*EVERY["elementwise"], *EVERY["writes"]) if re.search("np.(max|min|fmax|fmin)", pattern)), "0.0"),
    "grad(lambda u: np.sum(np.sin(u) * {y}))({x})": "grad(lambda u: np.sum(u * {y}))({x})",
    "grad(lambda d: np.sum(d['a'] * np.sin(d['b'][0])))({'a': {x}, 'b': [{y}]})['b'][0]": "grad(lambda u: np.sum({x} * u))({y})",
}  # fmt: skip
DEVIATIONS = {pattern for pattern in ROUNDED if "std(" in pattern}


def literal(a: Any) -> str:
    """An array as source."""
    if a.dtype.kind == "c":
        items = [f"complex({float(z.real)!r}, {float(z.imag)!r})" for z in a.ravel().tolist()]
    else:
        items = [repr(v) for v in a.ravel().tolist()]
    text = f"np.array([{', '.join(items)}], np.{a.dtype.name if a.dtype.name != 'bool' else 'bool_'})"
    text = text.replace("nan", "np.nan").replace("inf", "np.inf").replace("(-np.inf", "(-np.inf")
    return text + ("" if a.ndim == 1 else f".reshape({a.shape})")


def argument(random: Random) -> str:
    """The source of an array at random: dtype, shape, layout, ties and corners."""
    dtype, shape = np.dtype(random.choice(DTYPES)), random.choice(SHAPES)
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
        return laid_out(random, np.asarray(a).astype(dtype))


def smooth_argument(random: Random) -> str:
    """The source of an array of real numbers that differ from each other and from every number of the grammar."""
    shape = random.choice(SMOOTH_SHAPES)
    return laid_out(random, np.array([round(random.gauss(0, 1.2), 5) for _ in range(int(np.prod(shape)))]).reshape(shape))


def laid_out(random: Random, a: Any) -> str:
    """The source of an array, sometimes in another order than C's."""
    text = literal(a)
    if random.random() < 0.25 and a.ndim:
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


class Line(NamedTuple):
    """A line of a program: its source, family and pattern, the name it makes or writes to, and how large its sums are."""

    text: str
    family: str
    pattern: str
    name: str
    writes: bool
    magnitude: str  # of ROUNDED, filled in as the pattern is; "" for a line that is exact


def line(random: Random, patterns: dict[str, tuple[str, ...]], shares: dict[str, float], x: Any, names: tuple[str, str, str]) -> Line:
    """A line about the array `x`; the names are its own, that of another value, and that of what the line makes."""
    family = random.choices(list(shares), list(shares.values()))[0]
    pattern = random.choice(patterns[family])
    while _crashes(pattern, x):
        pattern = random.choice(patterns[family])
    axis = random.choice(("0", "-1", str(random.randrange(max(x.ndim, 1))), "None")) if x.ndim else "None"
    holes = {"{x}": names[0], "{y}": names[1], "{a}": axis, "{t}": random.choice(CASTS), "{as}": random.choice(("(0, -1)", "(0,)", "()", "(0, 1)", "None"))}
    draws = {
        "{s}": lambda: random.choice(SCALARS), "{r}": lambda: random.choice(REALS), "{i}": lambda: index(random, x), "{f}": lambda: fancy(random, x),
        "{m}": lambda: mask(random, x), "{sh}": lambda: shape(random, x),
    }  # fmt: skip
    text = pattern
    for hole, draw in draws.items():
        while hole in text:
            text = text.replace(hole, draw(), 1)
    text, magnitude = _filled(text, holes), _filled(ROUNDED.get(pattern, ""), holes)
    writes = family.endswith("writes")
    return Line(text if writes else f"{names[2]} = {text}", family, pattern, names[0] if writes else names[2], writes, magnitude)


def _crashes(pattern: str, x: Any) -> bool:
    """Whether NumPy itself uses memory that is nobody's, or never ends.

    np.take that wraps around an axis of nothing; a diagonal of nothing; a cumulative sum of a number to an array; counts up to the largest int64, one more than which is none.
    """
    if "bincount" in pattern:
        return bool(np.any(np.abs(x) > 1e6))
    return (("'ii->i'" in pattern or "'wrap', axis" in pattern) and not x.size) or ("cumsum" in pattern and "out=" in pattern and not x.ndim)


def _filled(text: str, holes: dict[str, str]) -> str:
    for hole, word in holes.items():
        text = text.replace(hole, word)
    return text
