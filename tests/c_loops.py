"""Loops of gufuncs in C, compiled once a process: `lib()` is a library of ctypes, each function with its argument types."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

COMPILER = os.environ.get("CC", "cc").split()[0]
needs_compiler = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no C compiler: {COMPILER}")

SOURCE = r"""
#include <stdint.h>
#include <complex.h>
#include <math.h>
typedef intptr_t npy_intp;
#define LOOP(name) void name(char **args, npy_intp const *dims, npy_intp const *steps, void *data)
#define AT(type, p) (*(type *)(p))

/* (m,n),(n)->(m) */
#define MATVEC(name, type) LOOP(name) { \
    char *a = args[0], *x = args[1], *y = args[2]; \
    for (npy_intp k = 0; k < dims[0]; k++, a += steps[0], x += steps[1], y += steps[2]) \
        for (npy_intp i = 0; i < dims[1]; i++) { \
            type sum = 0; \
            for (npy_intp j = 0; j < dims[2]; j++) \
                sum += AT(type, a + i * steps[3] + j * steps[4]) * AT(type, x + j * steps[5]); \
            AT(type, y + i * steps[6]) = sum; \
        } \
}
MATVEC(matvec_f, float) MATVEC(matvec_d, double) MATVEC(matvec_D, double complex)

/* (),()->() */
LOOP(divide) {
    for (npy_intp k = 0; k < dims[0]; k++)
        AT(double, args[2] + k * steps[2]) = AT(double, args[0] + k * steps[0]) / AT(double, args[1] + k * steps[1]);
}
/* (n)->(),(): the sum, and how many are negative */
LOOP(summary) {
    for (npy_intp k = 0; k < dims[0]; k++) {
        double sum = 0; int64_t count = 0;
        for (npy_intp j = 0; j < dims[1]; j++) {
            double x = AT(double, args[0] + k * steps[0] + j * steps[3]);
            sum += x; count += x < 0;
        }
        AT(double, args[1] + k * steps[1]) = sum; AT(int64_t, args[2] + k * steps[2]) = count;
    }
}
/* ()->(p) */
LOOP(powers) {
    for (npy_intp k = 0; k < dims[0]; k++)
        for (npy_intp j = 0; j < dims[1]; j++)
            AT(double, args[1] + k * steps[1] + j * steps[2]) = pow(AT(double, args[0] + k * steps[0]), (double)j);
}
/* (n),(),()->(n): an array, a number of floating point, an integer */
LOOP(affine) {
    for (npy_intp k = 0; k < dims[0]; k++)
        for (npy_intp j = 0; j < dims[1]; j++)
            AT(double, args[3] + k * steps[3] + j * steps[5]) = AT(double, args[0] + k * steps[0] + j * steps[4])
                * AT(double, args[1] + k * steps[1]) + AT(int64_t, args[2] + k * steps[2]);
}
/* (m,n),(n)->(): whether the items lie in C order */
LOOP(in_c_order) {
    for (npy_intp k = 0; k < dims[0]; k++)
        AT(double, args[2] + k * steps[2]) = (dims[2] < 2 || (steps[4] == 8 && steps[5] == 8)) && (dims[1] < 2 || steps[3] == 8 * dims[2]);
}
/* ()->(), with a double as its data */
LOOP(times_data) {
    for (npy_intp k = 0; k < dims[0]; k++)
        AT(double, args[1] + k * steps[1]) = AT(double, args[0] + k * steps[0]) * (data ? *(double *)data : -1);
}
/* ()->(): how many calls of it there have been, when it saw a second or gave up waiting */
static int calls;
LOOP(meet) {
    int most = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    for (long patience = 0; most < 2 && patience < 300000000; patience++)
        most = __atomic_load_n(&calls, __ATOMIC_SEQ_CST);
    for (npy_intp k = 0; k < dims[0]; k++)
        AT(double, args[1] + k * steps[1]) = most;
}
double not_a_loop(double x) { return x; }
"""


@cache
def lib():
    folder = Path(tempfile.mkdtemp(prefix="c_loops"))
    (folder / "loops.c").write_text(SOURCE)
    command = [*os.environ.get("CC", "cc").split(), "-O1", "-shared", "-fPIC", "-o", "loops.so", "loops.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    found = ctypes.CDLL(str(folder / "loops.so"))
    shutil.rmtree(folder)  # what is loaded stays
    for name in "matvec_f matvec_d matvec_D divide summary powers affine in_c_order times_data meet".split():
        function = getattr(found, name)
        function.restype, function.argtypes = None, [ctypes.c_void_p] * 4
    return found
