"""Schemas: what an operator takes and gives, as values, as text, and read from type hints."""
