"""Measurements. Each file whose first line asks a question answers it: ``python -m bench`` lists them."""
