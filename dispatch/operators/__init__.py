"""Operators: defined, registered for, known by name, handed to other processes, and what layers are built of."""
