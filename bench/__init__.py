"""Benchmarks. A file whose first line is a question answers it; ``python -m bench`` lists the questions."""
