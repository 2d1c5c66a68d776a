"""Generalized ufuncs: what `signature=` adds to an operator, and the loop over the items, in C."""
