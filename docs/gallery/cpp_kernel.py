"""A kernel in C++: the logarithm of a sum of exponentials, one template for two dtypes, by pybind11 or nanobind.

A module of either gives its functions as capsules, named by the signature in C, which `cfunc=` takes. Arrays do not
pass through pybind11 or nanobind at all, so that a call costs what the loop costs.

Run this page with `python docs/gallery/cpp_kernel.py`; it needs a C++ compiler, `c++` or what the variable CXX names,
and pybind11. With `python docs/gallery/cpp_kernel.py nanobind` it takes nanobind in its place.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import importlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import dispatch
from dispatch import custom_op
from dispatch.testing import opcheck

# %% The loop
#
# The largest number is taken out of the sum, so that no exponential overflows: log(sum(exp(x - m))) + m.

LOOP = r"""
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

template <typename T>
void logsumexp(char **args, const std::ptrdiff_t *dimensions, const std::ptrdiff_t *steps, void *)
{
    for (std::ptrdiff_t k = 0; k < dimensions[0]; k++) {
        const char *x = args[0] + k * steps[0];
        T largest = -std::numeric_limits<T>::infinity(), sum = 0;
        for (std::ptrdiff_t i = 0; i < dimensions[1]; i++)
            largest = std::max(largest, *reinterpret_cast<const T *>(x + i * steps[2]));
        T shift = std::isfinite(largest) ? largest : 0;
        for (std::ptrdiff_t i = 0; i < dimensions[1]; i++)
            sum += std::exp(*reinterpret_cast<const T *>(x + i * steps[2]) - shift);
        *reinterpret_cast<T *>(args[1] + k * steps[1]) = std::log(sum) + shift;
    }
}

static const char *SIGNATURE = "void (char **, npy_intp const *, npy_intp const *, void *)";
"""

# %% The module
#
# The two libraries differ in their names only.

PYBIND11 = r"""
#include <pybind11/pybind11.h>

PYBIND11_MODULE(cpp_kernel_pybind11, module)
{
    module.attr("of_floats") = pybind11::capsule(reinterpret_cast<void *>(&logsumexp<float>), SIGNATURE);
    module.attr("of_doubles") = pybind11::capsule(reinterpret_cast<void *>(&logsumexp<double>), SIGNATURE);
}
"""

NANOBIND = r"""
#include <nanobind/nanobind.h>

NB_MODULE(cpp_kernel_nanobind, module)
{
    module.attr("of_floats") = nanobind::capsule(reinterpret_cast<void *>(&logsumexp<float>), SIGNATURE);
    module.attr("of_doubles") = nanobind::capsule(reinterpret_cast<void *>(&logsumexp<double>), SIGNATURE);
}
"""


def compiled(binding):
    """Compile the module with pybind11 or nanobind in a folder of its own, and import it."""
    installed = importlib.import_module(binding)
    if binding == "pybind11":
        code, more, folders = PYBIND11, [], [installed.get_include()]
    else:
        root = Path(installed.source_dir()).parent  # its CMake function does the same
        code, more = NANOBIND, [str(root / "src" / "nb_combined.cpp")]
        folders = [installed.include_dir(), str(root / "ext" / "robin_map" / "include")]
    name = f"cpp_kernel_{binding}"
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / f"{name}.cpp", Path(folder) / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        source.write_text(LOOP + code)
        includes = [f"-I{path}" for path in (sysconfig.get_path("include"), *folders)]
        flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"]
        compiler = os.environ.get("CXX", "c++").split()
        subprocess.run([*compiler, *flags, *includes, str(source), *more, "-o", str(library)], check=True)
        spec = importlib.util.spec_from_file_location(name, library)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


module = compiled(sys.argv[1] if __name__ == "__main__" and sys.argv[1:] else "pybind11")

# %% The operator
#
# Floats are computed as floats, and integers as doubles, which the shape rule says too.


@custom_op("cpp_kernel::logsumexp", mutates_args=(), signature="(n)->()")
def logsumexp(x: np.ndarray) -> np.ndarray:
    """The logarithm of the sum of exponentials along the last axis."""
    largest = x.max()
    return np.log(np.exp(x - largest).sum()) + largest


@logsumexp.register_fake
def _(x):
    return np.empty(x.shape[:-1], x.dtype if x.dtype == np.float32 else np.float64)


@logsumexp.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs, output))
def _(ctx, g):
    x, y = ctx.saved_tensors
    return g[..., None] * np.exp(x - y[..., None])


logsumexp.register_kernel("cpu", cfunc={"f->f": module.of_floats, "d->d": module.of_doubles})
print(logsumexp)

x = np.random.default_rng(0).normal(scale=300, size=(4, 5))
assert np.allclose(logsumexp(x), [logsumexp.__wrapped__(row) for row in x])
assert logsumexp(x.astype(np.float32)).dtype == np.float32
assert logsumexp(np.arange(3)) == logsumexp(np.arange(3.0))
with np.errstate(divide="ignore"):  # the logarithm of 0 sets a flag of the processor, which NumPy looks at afterwards
    assert logsumexp(np.zeros((2, 0))).tolist() == [-np.inf, -np.inf]
print(opcheck(logsumexp, (dispatch.tensor(x / 300, requires_grad=True),)))
