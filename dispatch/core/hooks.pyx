"""Hooks: the functions in Python that the core calls, and what each is for.

The core checks and runs calls, and knows no message and no layer. What it has to say, and what an operator can do beside
being called, is plugged in here; `dispatcher/operator_hooks.py` does that once.
"""
cimport cython


@cython.final
cdef class Hooks:
    """The functions that the core calls, each an attribute; None where none is plugged in.

    Parameters
    ----------
    **functions
        By the name of the attribute.

    Examples
    --------
    >>> Hooks(describe=lambda op: "an operator").describe(None)
    'an operator'
    """

    def __init__(self, **functions):
        for name, function in functions.items():
            setattr(self, name, function)
