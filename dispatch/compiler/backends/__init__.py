"""Other programs that can run a graph."""
