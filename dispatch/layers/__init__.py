"""The layers, one folder each, none of which imports another; and the modules that several of them share."""
