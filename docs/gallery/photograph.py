"""A photograph: a library that knows nothing of gradients, differentiated.

Pillow crops and pastes pictures. It has its own picture type, works in C, and reads no array. Two operators
make it part of a program of arrays: `crop` cuts a box out of a picture, `paste` puts a piece into one. The
gradient of each is made of the other, so that the two together have gradients of every order.

Run this page with `python docs/gallery/photograph.py`; it needs Pillow, and Matplotlib for the photograph in
its sample data.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cbook import get_sample_data
from PIL import Image

import dispatch
from dispatch import custom_op

# %% From arrays to Pillow and back
#
# A picture here is an array of shape (channels, height, width). Pillow gets it channel by channel: 8-bit numbers
# as its mode "L", floats as its mode "F", which is float32. It has no mode for float64. But cropping and pasting
# move numbers without computing with them, so a float64 may travel as two halves, a picture twice as wide: no bit
# is lost. Converting it to float32 instead would round it to 24 bits, and a finite difference of step 1e-6 would
# measure that rounding.


def halves(pic):
    """How many of Pillow's pixels one number takes: 1, and 2 for float64."""
    if pic.dtype.str[1:] not in ("u1", "f4", "f8"):
        raise TypeError(f"a picture holds 8-bit numbers, float32 or float64, and this one {pic.dtype}")
    return 2 if pic.dtype.itemsize == 8 else 1


def to_pillow(channel):
    pixel = np.uint8 if channel.dtype.itemsize == 1 else np.float32
    return Image.fromarray(np.ascontiguousarray(channel).view(pixel))


def from_pillow(images, dtype):
    return np.stack([np.asarray(image).view(dtype) for image in images], axis=-1).transpose(2, 0, 1)


# The last line is a choice of memory layout: the channels of a pixel lie side by side, as in a photograph that
# was read from a file, and the array is a transposed view of that. Whoever allocates memory for the result has to
# know it, and so the shape rules below say it.

# %% The operators
#
# `box` is (left, top, right, bottom), as Pillow has it; `Sequence[int]` becomes `int[]` in the schema.


@custom_op("photo::crop", mutates_args=())
def crop(pic: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """Cut a box out of a picture; what lies outside the picture is black."""
    left, top, right, bottom = box
    n = halves(pic)
    return from_pillow([to_pillow(channel).crop((n * left, top, n * right, bottom)) for channel in pic], pic.dtype)


@custom_op("photo::paste", mutates_args=())
def paste(pic: np.ndarray, piece: np.ndarray, corner: Sequence[int]) -> np.ndarray:
    """A copy of a picture with a piece put over it; what hangs over the border is cut off."""
    if pic.dtype != piece.dtype:
        raise TypeError(f"a piece of {piece.dtype} does not fit into a picture of {pic.dtype}")
    left, top = corner
    images = [to_pillow(channel) for channel in pic]
    for image, channel in zip(images, piece, strict=True):
        image.paste(to_pillow(channel), (halves(pic) * left, top))
    return from_pillow(images, pic.dtype)


print(crop.schema)
print(paste.schema)

# %% Shape rules
#
# They compute no picture. A rule may return a plain array: only its shape, dtype and strides are read.


def layout(channels, height, width, dtype):
    return np.empty((height, width, channels), dtype).transpose(2, 0, 1)


@crop.register_fake
def _(pic, box):
    left, top, right, bottom = box
    return layout(pic.shape[0], bottom - top, right - left, pic.dtype)


@paste.register_fake
def _(pic, piece, corner):
    channels, height, width = pic.shape
    return layout(channels, height, width, pic.dtype)


# %% Gradients
#
# The gradient of a crop is black but for the box: the incoming gradient, pasted where the box was cut out. The
# gradient of a paste is the incoming one without the box for the picture, and the box for the piece. Both rules
# are made of the two operators, and so have gradients themselves.


def keep_box(ctx, inputs, output):
    pic, ctx.box = inputs
    ctx.shape = pic.shape


@crop.register_autograd(setup_context=keep_box)
def _(ctx, g):
    return paste(np.zeros_like(g, shape=ctx.shape), g, ctx.box[:2]), None


def keep_corner(ctx, inputs, output):
    _, piece, ctx.corner = inputs
    ctx.shape = piece.shape


@paste.register_autograd(setup_context=keep_corner)
def _(ctx, g):
    left, top = ctx.corner
    _, height, width = ctx.shape
    for_pic = paste(g, np.zeros_like(g, shape=ctx.shape), ctx.corner)
    return for_pic, crop(g, (left, top, left + width, top + height)), None


# %% The photograph
#
# It comes out of Pillow read-only and with the channels last; the operators take it as it is.

file: Any = get_sample_data("grace_hopper.jpg")
with file:
    photograph = np.asarray(Image.open(file)).transpose(2, 0, 1)

FACE = (190, 55, 330, 245)
face = crop(photograph, FACE)
print(f"{photograph.shape} {photograph.dtype}  ->  {face.shape} {face.dtype}, strides {face.strides}")
assert np.array_equal(face, photograph[:, 55:245, 190:330])

# The gradient of the sum over the box: 1 in the box, 0 outside.

pic = photograph / 255
gradient = dispatch.grad(lambda pic: crop(pic, FACE).sum())(pic)
inside = np.zeros(pic.shape, bool)
inside[:, 55:245, 190:330] = True
assert np.array_equal(gradient, np.where(inside, 1.0, 0.0))
print(f"gradient {gradient.dtype}: {gradient[inside].min()} in the box, {gradient[~inside].max()} outside")

# %% The check
#
# Tracked, in double precision, on a piece small enough for every single derivative; and as it is, in 8 bits,
# where rounding leaves nothing to differentiate, but shapes, strides, writes and batches are checked all the
# same. The lengths 7 and 9 differ, so that swapped axes would show.

small = np.array(pic[:, 100:107, 200:209])
print(dispatch.testing.opcheck(crop, (dispatch.tensor(small, requires_grad=True), (2, 1, 7, 5))))
print(dispatch.testing.opcheck(crop, (photograph[:, 100:107, 200:209], (2, 1, 7, 5))))

# %% A use
#
# The contrast of the face, in an ordinary function that calls the operator and NumPy. It is differentiated and
# mapped over a batch of pictures as it stands.


def contrast(pic):
    """The variance of the light in the face."""
    light = crop(pic, FACE).mean(axis=0)
    return ((light - light.mean()) ** 2).mean()


value, slope = dispatch.value_and_grad(contrast)(pic)
print(f"contrast {value:.4f}; after one step along its gradient {contrast(pic + 4e3 * slope):.4f}")
exposures = np.stack([pic, 0.5 * pic])
assert np.allclose(dispatch.vmap(contrast)(exposures), [value, 0.25 * value])
