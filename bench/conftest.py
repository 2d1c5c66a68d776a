"""Keeps pytest from importing the peers, which may not be installed, in search of doctests."""

collect_ignore_glob = ["peers/*", "__main__.py"]
