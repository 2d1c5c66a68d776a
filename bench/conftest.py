"""Keeps pytest from importing, in search of doctests, the peers and whole programs, whose packages may not be installed."""

collect_ignore_glob = ["peers/*", "whole/*", "__main__.py"]
