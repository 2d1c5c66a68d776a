"""The kernels that record: for Python only, so nothing of them is promised to C."""
