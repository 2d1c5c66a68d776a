"""Peers are no tests: collecting their doctests would import what may not be installed."""

collect_ignore_glob = ["peers/*", "__main__.py"]
