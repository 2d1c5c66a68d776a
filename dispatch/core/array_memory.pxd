"""Functions of arrays; for Python only, so nothing of them is promised to C."""
