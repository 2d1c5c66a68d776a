"""The walk back: for Python only, so nothing of it is promised to C."""
