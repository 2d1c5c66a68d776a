"""A pickle of an earlier version names the module where `load` was."""

import pickle

from dispatch import ops


def test_an_operator_that_was_pickled_before_the_move_is_found():
    written = b"cdispatch.pickling\nload\n(Vnp::sin\n(tVoverload\ntR."
    assert pickle.loads(written) is ops.np.sin
