"""The layers, a folder each, of which none knows another; and what those share that do writes on values."""
