"""Operators: their definition, registration, names and pickles, and the prims that layers are built of."""
