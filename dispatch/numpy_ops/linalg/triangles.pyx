"""Triangles of matrices, in C: NumPy lacks these functions, or is slower than a product of small matrices."""
cimport cython
cimport numpy as cnp
from libc.string cimport memset

cnp.import_array()


def triangle(cnp.ndarray x not None, Py_ssize_t k, bint upper):
    """A copy of matrices of numbers with one side of the k-th diagonal zeroed; None where they are no such, or not in C order.

    np.tril makes a mask and chooses by it.
    """
    cdef int ndim = cnp.PyArray_NDIM(x)
    cdef Py_ssize_t rows, columns, width, i, start
    cdef char *row
    if ndim < 2 or not (cnp.PyArray_CHKFLAGS(x, cnp.NPY_ARRAY_C_CONTIGUOUS) and cnp.PyTypeNum_ISNUMBER(cnp.PyArray_TYPE(x))):
        return None
    made = cnp.PyArray_NewCopy(x, cnp.NPY_CORDER)
    rows, columns, width = cnp.PyArray_DIM(x, ndim - 2), cnp.PyArray_DIM(x, ndim - 1), cnp.PyArray_ITEMSIZE(x)
    if not rows or not columns:
        return made
    row = <char *>cnp.PyArray_DATA(<cnp.ndarray>made)
    k = max(-rows, min(k, columns))         # further ones say no more, and would overflow
    for i in range(cnp.PyArray_SIZE(x) // columns):
        start = max(0, min(i % rows + k + (not upper), columns))
        if upper:
            memset(row, 0, start * width)
        else:
            memset(row + start * width, 0, (columns - start) * width)
        row += columns * width
    return made


cdef bint invert(char *data, Py_ssize_t down, Py_ssize_t right, Py_ssize_t n, cython.floating *made) noexcept:
    """The inverse of a lower triangle, row by row; whether there is one. `made` holds zeros."""
    cdef Py_ssize_t i, j, k
    cdef cython.floating factor
    cdef cython.floating *row
    cdef cython.floating *above
    for i in range(n):
        row = made + i * n
        for k in range(i):
            factor = (<cython.floating *>(data + i * down + k * right))[0]
            above = made + k * n
            for j in range(k + 1):
                row[j] -= factor * above[j]
        factor = (<cython.floating *>(data + i * down + i * right))[0]
        if factor == 0:
            return False
        factor = 1 / factor
        for j in range(i):
            row[j] *= factor
        row[i] = factor
    return True


def inverse(cnp.ndarray x not None):
    """The inverse of the lower triangle of one matrix; None of a singular one, and of other dtypes than float32 and float64."""
    cdef Py_ssize_t n, down, right
    cdef char *data = <char *>cnp.PyArray_DATA(x)
    cdef int dtype = cnp.PyArray_TYPE(x)
    cdef bint found
    if cnp.PyArray_NDIM(x) != 2 or not cnp.PyArray_ISBEHAVED_RO(x) or dtype not in (cnp.NPY_FLOAT32, cnp.NPY_FLOAT64):
        return None
    n, down, right = cnp.PyArray_DIM(x, 0), cnp.PyArray_STRIDE(x, 0), cnp.PyArray_STRIDE(x, 1)
    if n != cnp.PyArray_DIM(x, 1):
        return None
    made = cnp.PyArray_ZEROS(2, cnp.PyArray_DIMS(x), dtype, 0)
    if dtype == cnp.NPY_FLOAT64:
        found = invert(data, down, right, n, <double *>cnp.PyArray_DATA(<cnp.ndarray>made))
    else:
        found = invert(data, down, right, n, <float *>cnp.PyArray_DATA(<cnp.ndarray>made))
    return made if found else None
