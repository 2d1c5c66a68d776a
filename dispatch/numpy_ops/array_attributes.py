"""What is said of an attribute that wrapped values do not have: the line to write in place of torch's, JAX's or pandas' name.

`__getattr__` runs only where a look-up has failed.
"""

import functools
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.wrong_attributes import not_set
from ..errors import did_you_mean

_ARRAY = "dispatch.detach(x), which is an array"
_COMPUTES = "x: its values are there"
_LEAF = "on a copy of what is a leaf"
_GRADIENT = "dispatch.grad(f)(x), the gradient of a function; or make x by dispatch.tensor(a, requires_grad=True)"
_SPARSE = "a dense array: there are no sparse ones here"

# Attributes of others' arrays that these have not, and what to write in their place.
ELSEWHERE = {
    **{f"{name}_": f"x {sign}= y" for name, sign in {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}.items()},
    **{name: f"x {sign} y" for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items()},
    **{name: f"x {sign} y" for name, sign in {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}.items()},
    **dict.fromkeys(("mm", "matmul", "bmm", "mv"), "x @ y"),
    **dict.fromkeys(("cpu", "data", "numpy", "to_numpy", "values", "copy_to_host_async"), _ARRAY),
    **dict.fromkeys(("block_until_ready", "is_ready", "wait"), _COMPUTES),
    **dict.fromkeys(("coalesce", "is_sparse", "to_dense", "to_sparse", "toarray", "todense"), _SPARSE),
    **{
        name: f"x.astype(np.{dtype})"
        for name, dtype in {
            "bfloat16": "float16", "bool": "bool", "byte": "uint8", "char": "int8", "double": "float64", "float": "float32",
            "half": "float16", "int": "int32", "long": "int64", "short": "int16", "cfloat": "complex64", "cdouble": "complex128",
        }.items()
    },
    "addmm": "a + x @ y",
    "apply_": "x[...] = f(x), with f of whole arrays",
    "at": f"x[i] = value, {_LEAF}",
    "aval": "x.shape and x.dtype",
    "backward": _GRADIENT,
    "cat": "np.concatenate([x, y], axis)",
    "chunk": "np.array_split(x, n, axis)",
    "clamp": "np.clip(x, low, high)",
    "clamp_": "np.clip(x, low, high, out=x)",
    "clone": "x.copy()",
    "concat": "np.concatenate([x, y], axis)",
    "contiguous": "np.ascontiguousarray(x)",
    "copy_": "x[...] = y",
    "cuda": "dispatch.tensor(cupy.asarray(a), requires_grad=True) at the beginning",
    "data_ptr": "dispatch.detach(x).ctypes.data",
    "delete": "del x",
    "detach_": "dispatch.detach(x)",
    "devices": "x.device",
    "device_buffer": "x: an array of this package lies where NumPy put it",
    "dim": "x.ndim",
    "element_size": "x.itemsize",
    "expand": "np.broadcast_to(x, shape)",
    "expand_as": "np.broadcast_to(x, y.shape)",
    "fill_": "x[...] = value",
    "gather": "np.take_along_axis(x, index, axis)",
    "grad": _GRADIENT,
    "grad_fn": _GRADIENT,
    "iloc": "x[i]",
    "index_add": "np.add.at(x, index, value), on a copy",
    "index_add_": "np.add.at(x, index, value)",
    "index_copy_": "x[index] = value",
    "index_fill_": "x[index] = value",
    "index_put": f"x[index] = value, {_LEAF}",
    "index_put_": "x[index] = value",
    "index_select": "np.take(x, index, axis)",
    "is_complex": "np.iscomplexobj(x)",
    "is_contiguous": "x.flags.c_contiguous",
    "is_cuda": "x.device == 'cuda'",
    "is_floating_point": "np.issubdtype(x.dtype, np.floating)",
    "is_leaf": _GRADIENT,
    "kthvalue": "np.partition(x, k)[k]",
    "layout": "x.flags.c_contiguous, or x.strides",
    "lerp": "x + weight * (y - x)",
    "loc": "x[i]",
    "logsumexp": "dispatch.ops.scipy_special.logsumexp(x, axis)",
    "map_": "x[...] = f(x, y), with f of whole arrays",
    "masked_fill": "np.where(mask, value, x)",
    "masked_fill_": "x[mask] = value",
    "masked_select": "x[mask]",
    "mode": "np.unique(x, return_counts=True)",
    "movedim": "np.moveaxis(x, source, destination)",
    "mps": "x: its device is chosen where its array is made",
    "mul_": "x *= y",
    "narrow": "x[start:start + length]",
    "ndimension": "x.ndim",
    "neg": "-x",
    "nelement": "x.size",
    "new_empty": "np.empty_like(x, shape=shape)",
    "new_full": "np.full_like(x, value, shape=shape)",
    "new_ones": "np.ones_like(x, shape=shape)",
    "new_tensor": "np.array(values, x.dtype)",
    "new_zeros": "np.zeros_like(x, shape=shape)",
    "norm": "np.linalg.norm(x)",
    "numel": "x.size",
    "permute": "x.transpose(axes)",
    "pin_memory": _COMPUTES,
    "randn_like": "np.random.default_rng().normal(size=x.shape)",
    "register_hook": "y.register_hook(f) of a tracked value: x = dispatch.tensor(a, requires_grad=True)",
    "register_post_accumulate_grad_hook": "x.register_hook(f)",
    "relu": "np.maximum(x, 0)",
    "relu_": "np.maximum(x, 0, out=x)",
    "repeat_interleave": "np.repeat(x, n, axis)",
    "requires_grad": _GRADIENT,
    "requires_grad_": "dispatch.tensor(x, requires_grad=True)",
    "retain_grad": _GRADIENT,
    "rsqrt": "1 / np.sqrt(x)",
    "scatter": f"np.put_along_axis(x, index, value, axis), {_LEAF}",
    "scatter_": "np.put_along_axis(x, index, value, axis)",
    "scatter_add": "np.add.at(x, index, value), on a copy",
    "scatter_add_": "np.add.at(x, index, value)",
    "share_memory_": _COMPUTES,
    "sharding": "x.device",
    "sigmoid": "dispatch.ops.scipy_special.expit(x)",
    "softmax": "dispatch.ops.scipy_special.softmax(x, axis)",
    "storage": _ARRAY,
    "storage_offset": _ARRAY,
    "stride": "x.strides, in bytes",
    "t": "x.T",
    "to": "x.astype(dtype)",
    "topk": "np.sort(x)[..., ::-1][..., :k]",
    "type": "x.astype(dtype), or x.dtype",
    "type_as": "x.astype(y.dtype)",
    "unbind": "list(x)",
    "uniform_": "x[...] = np.random.default_rng().uniform(size=x.shape)",
    "normal_": "x[...] = np.random.default_rng().normal(size=x.shape)",
    "unsqueeze": "np.expand_dims(x, axis)",
    "unsqueeze_": "np.expand_dims(x, axis)",
    "view_as": "x.reshape(y.shape)",
    "weak_type": "x.dtype",
    "zero_": "x[...] = 0",
    "zero_grad": "x.grad = None",
}  # fmt: skip


@functools.lru_cache(1024)  # `hasattr(x, name)` asks again and again
def said_of(cls: Any, name: str) -> str:
    """Return what is said of an attribute that wrapped values do not have.

    Examples
    --------
    >>> said_of(Tensor, "unsqueeze")
    "a Tensor has no attribute 'unsqueeze', as NumPy's arrays have not. Write np.expand_dims(x, axis)."
    >>> said_of(Tensor, "ceil")
    "a Tensor has no attribute 'ceil', as NumPy's arrays have not. Write np.ceil(x)."
    """
    words = _instead(name)
    if not words:
        near = did_you_mean(name, sorted(word for word in dir(cls) if not word.startswith("_")))
        return f"a {cls.__name__} has no attribute {name!r}.{near or ' It has those of an ndarray: dir(x) lists them.'}"
    nor_numpy = "" if hasattr(np.ndarray, name) else ", as NumPy's arrays have not"
    return f"a {cls.__name__} has no attribute {name!r}{nor_numpy}. Write {words}."


def _instead(name: str) -> str:
    """What to write, in the words of the table; or the function of NumPy of that name, in place for a name of torch's."""
    if words := ELSEWHERE.get(name, ""):
        return words
    for module, where in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        if callable(getattr(module, name, None)) and not isinstance(getattr(module, name), type):
            return f"{where}.{name}(x)"
    plain = name[:-1]
    if name.endswith("_") and (hasattr(np, plain) or plain in ELSEWHERE):
        return f"x[...] = {_instead(plain)}"
    return ""


def _missing(self: Tensor, name: str) -> Any:
    """Raise for an attribute that was not found; what a property raised itself is raised again."""
    if name.startswith("_"):  # protocols ask, and want a short no
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
    if hasattr(type(self), name):
        return object.__getattribute__(self, name)
    kind: Any = type(self)  # which mypy takes for one without a hash
    raise AttributeError(said_of(kind, name), name=name, obj=self)


def _set(self: Tensor, name: str, value: Any) -> None:
    """Set an attribute; a misspelt one is refused with the one that was meant."""
    try:
        object.__setattr__(self, name, value)
    except AttributeError:
        if getattr(getattr(type(self), name, None), "fset", None) is not None:  # a property's own words
            raise
        raise not_set(self, name, ELSEWHERE) from None


ATTRIBUTES: dict[str, Any] = {"__getattr__": _missing, "__setattr__": _set}
