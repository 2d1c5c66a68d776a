"""Generalised ufuncs: the rules that `signature=` gives an operator, and the loop over items in C."""
