"""One class, for Python only, so nothing of it is promised to C."""
