"""The pages are run by tests/test_gallery.py; as modules they would run a second time, under another name."""

collect_ignore_glob = ["*.py"]
