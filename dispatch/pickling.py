"""Where pickles of earlier versions look for what loads an operator."""

from .operators.pickling import load

__all__ = ["load"]
