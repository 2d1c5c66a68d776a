"""What to write here in place of torch's, JAX's or pandas' names: of an array's attributes, and of functions of arrays."""

import numpy as np

from .source import raised_at

_ARRAY = "x itself, which NumPy's functions take; or dispatch.detach(x), a constant"
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
    "data": f"{_ARRAY}; to change a leaf, `with dispatch.no_grad(): x -= step`",
    **dict.fromkeys(("numpy", "to_numpy", "values", "copy_to_host_async"), _ARRAY),
    "compute": f"{_COMPUTES}; compute what a transform returns, grad(f)(x).compute()",
    "cpu": "x: it is on the device where its array was made",
    **dict.fromkeys(("block_until_ready", "is_ready", "wait"), _COMPUTES),
    **dict.fromkeys(("coalesce", "is_sparse", "to_dense", "to_sparse", "toarray", "todense"), _SPARSE),
    **{
        name: f"x.astype(np.{dtype})"
        for name, dtype in {
            "bfloat16": "float16", "bool": "bool", "byte": "uint8", "char": "int8", "double": "float64", "float": "float32",
            "half": "float16", "int": "int32", "long": "int64", "short": "int16", "cfloat": "complex64",
            "cdouble": "complex128",
        }.items()
    },
    "_node": "x.grad_fn",
    "_value": _ARRAY,
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
    "elu": "np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))",
    "expand": "np.broadcast_to(x, shape)",
    "expand_as": "np.broadcast_to(x, y.shape)",
    "fill_": "x[...] = value",
    "gather": "np.take_along_axis(x, index, axis)",
    "gelu": "x * dispatch.ops.scipy_special.ndtr(x)",
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
    "leaky_relu": "np.where(x > 0, x, slope * x)",
    "lerp": "x + weight * (y - x)",
    "loc": "x[i]",
    "logsumexp": "dispatch.ops.scipy_special.logsumexp(x, axis)",
    "map_": "x[...] = f(x, y), with f of whole arrays",
    "masked_fill": "np.where(mask, value, x)",
    "masked_fill_": "x[mask] = value",
    "masked_select": "x[mask]",
    "mode": "np.unique(x, return_counts=True)",
    "mse_loss": "np.mean((x - y) ** 2)",
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
    "one_hot": "np.eye(n)[labels]",
    "permute": "x.transpose(axes)",
    "pin_memory": _COMPUTES,
    "randn_like": "np.random.default_rng().normal(size=x.shape)",
    "register_hook": "y.register_hook(f) of a tracked value: x = dispatch.tensor(a, requires_grad=True)",
    "register_post_accumulate_grad_hook": "x.register_hook(f)",
    "relu": "np.maximum(x, 0)",
    "relu_": "np.maximum(x, 0, out=x)",
    "repeat_interleave": "np.repeat(x, n, axis)",
    "requires_grad": _GRADIENT,
    "requires_grad_": "dispatch.tensor(x, requires_grad=True); for a constant dispatch.detach(x)",
    "retain_grad": _GRADIENT,
    "rsqrt": "1 / np.sqrt(x)",
    "scatter": f"np.put_along_axis(x, index, value, axis), {_LEAF}",
    "scatter_": "np.put_along_axis(x, index, value, axis)",
    "scatter_add": "np.add.at(x, index, value), on a copy",
    "scatter_add_": "np.add.at(x, index, value)",
    "share_memory_": _COMPUTES,
    "sharding": "x.device",
    "sigmoid": "dispatch.ops.scipy_special.expit(x)",
    "silu": "x * dispatch.ops.scipy_special.expit(x)",
    "softplus": "np.logaddexp(x, 0)",
    "softmax": "dispatch.ops.scipy_special.softmax(x, axis)",
    "storage": _ARRAY,
    "storage_offset": _ARRAY,
    "stride": "x.strides, in bytes",
    "swish": "x * dispatch.ops.scipy_special.expit(x)",
    "t": "x.T",
    "to": "x.astype(dtype), on the device where its array was made",
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

_ITSELF = dict.fromkeys(
    ("cpu", "data", "detach", "detach_", "numpy", "storage", "to_numpy", "values"), "x itself, which is an array"
)


def instead_of(name: str) -> str:
    """What to write for a name: the words of the table; or NumPy's function of it, in place for a name of torch's; or nothing.

    Examples
    --------
    >>> instead_of("unsqueeze"), instead_of("ceil"), instead_of("ceil_"), instead_of("lgamma")
    ('np.expand_dims(x, axis)', 'np.ceil(x)', 'x[...] = np.ceil(x)', '')
    """
    if words := ELSEWHERE.get(name, ""):
        return words
    for module, where in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        if callable(getattr(module, name, None)) and not isinstance(getattr(module, name), type):
            return f"{where}.{name}(x)"
    plain = name[:-1]
    if name.endswith("_") and (hasattr(np, plain) or plain in ELSEWHERE):
        return f"x[...] = {instead_of(plain)}"
    return ""


def note_words(error: BaseException) -> None:
    """Say in a note of an exception, raised in a user's function, what NumPy calls what was asked of an array of NumPy.

    Examples
    --------
    >>> try:
    ...     np.ones(3).unsqueeze(0)
    ... except AttributeError as error:
    ...     note_words(error)
    ...     print(*error.__notes__)
    NumPy's arrays have no 'unsqueeze'. Write np.expand_dims(x, axis).
    """
    said = ""
    if isinstance(error, AttributeError) and error.name and isinstance(error.obj, (np.ndarray, np.generic)):
        words = _ITSELF.get(error.name, "") or instead_of(error.name)
        said = f"NumPy's arrays have no {error.name!r}. Write {words}." if words else ""
    elif type(error) is TypeError and str(error) == "'int' object is not callable" and (line := raised_at(error)) is not None:
        said = "x.size is a number. Write x.shape for all lengths, x.shape[0] for one." if ".size(" in line.text else ""
    if said and said not in getattr(error, "__notes__", ()):
        error.add_note(said)
