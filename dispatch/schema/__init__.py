"""Schemas: the signature of an operator, as data, as text, and read from type hints."""
