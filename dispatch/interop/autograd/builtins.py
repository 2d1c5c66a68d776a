"""autograd.builtins: the containers that autograd replaces. A list of traced values is a list here: these are Python's own."""

from builtins import dict, isinstance, list, tuple, type  # noqa: A004, UP029  autograd's names

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
