"""One file for each framework: its own operator around a kernel, written by hand, beside the one that is exported.

``BOUND``    how much dearer the exported one may be
``cases()``  by what is measured: two cases, ours and the one by hand
``measured()``  in place of the two, where a module times by itself: what, ours, by hand, and the bound of each
"""
