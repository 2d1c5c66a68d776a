"""The compiled modules: every .pyx under dispatch/ becomes an extension. All metadata is in pyproject.toml.

Three switches, environment variables set to 1, as in `DISPATCH_DEBUG=1 python setup.py build_ext --inplace`. After
turning one off build once with `--force`: file times do not tell one kind of build from another.

DISPATCH_DEBUG      unoptimised, with symbols, bounds and None checks, and the annotated html under build/
DISPATCH_COVERAGE   line tracing, for `coverage run -m pytest`
DISPATCH_WERROR     every warning of the C compiler is an error
"""

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG, COVERAGE, WERROR = (
    os.environ.get(f"DISPATCH_{switch}", "0") not in {"", "0"} for switch in ("DEBUG", "COVERAGE", "WERROR")
)

# freethreading_compatible is left out: it states that one has tested, and no free-threaded build has run the tests.
DIRECTIVES = {
    "language_level": 3,
    "binding": True,  # but for the methods of compiled classes: Cython does not look what class `self` is of, CPython does
    "embedsignature": True, "embedsignature.format": "clinic",  # which `inspect.signature` reads where binding is off
    "auto_pickle": False,  # otherwise each class grows __reduce_cython__; operators pickle by name
    "boundscheck": DEBUG,
    "nonecheck": DEBUG,
    "linetrace": COVERAGE,
}

# Where a hot function begins in its cache line decides over 8 of the 30 ns of a call; 32 was best of 16, 32 and 64.
compile_args = ["-O0", "-g"] if DEBUG else ["-O3", "-falign-functions=32"]
if WERROR:
    compile_args += ["-Wall", "-Wextra", "-Werror"]
macros = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")]
if COVERAGE:
    macros += [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]  # ctrace asks for it: see pyproject

extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [source.as_posix()],
        include_dirs=[np.get_include(), source.parent.as_posix()],
        define_macros=macros,
        extra_compile_args=compile_args,
    )
    for source in sorted(Path("dispatch").rglob("*.pyx"))
]

# Coverage finds the C file only beside its .pyx; everything else stays out of the package's folder.
# And the C is of one NumPy: the headers of another may not have what its declarations were.
build_dir = None if COVERAGE else f"build/cython-numpy-{np.__version__}{'-debug' if DEBUG else ''}"

setup(
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, build_dir=build_dir, annotate=DEBUG),
    options={"build_ext": {"force": DEBUG or COVERAGE or WERROR, "parallel": os.cpu_count()}, "egg_info": {"egg_base": "."}},
)
