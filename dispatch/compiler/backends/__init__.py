"""What else can run a graph, and who runs which part of it."""
