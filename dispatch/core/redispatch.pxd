"""A call taken apart; for Python only, so nothing of it is promised to C."""
