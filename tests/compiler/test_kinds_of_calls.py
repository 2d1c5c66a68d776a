"""Programs in text of one line over one argument, called with arguments of other kinds in turn: what a call before left must not show."""

import random
import warnings

import numpy as np
import pytest

import dispatch

ARGUMENTS = """
np.array([1.0, 2.0, 3.0]) ; np.array([1.0, 2.0, 3.0])[::-1] ; np.arange(6.0)[::2] ; np.array([1.0, 2.0, 3.0]).astype('f4')
np.array([1.0, 2.0, 3.0]).astype('>f8') ; np.array([1,2,3]) ; np.array([True,False,True]) ; np.array([1.0, 2.0, 3.0])*1j
np.ones((2,3)) ; np.asfortranarray(np.arange(6.0).reshape(2,3)) ; np.arange(6.0).reshape(3,2).T ; np.array(2.0)
np.zeros(0) ; np.zeros((0,3)) ; np.float64(2) ; np.float32(2) ; 2.0 ; 2 ; True ; -0.0 ; np.int8(3)
np.array([np.nan,1,-0.0]) ; np.ones((1,3)) ; np.broadcast_to(2.0,(3,)) ; np.ones((3,1)) ; [1.0,2.0,3.0]
(np.array([1.0, 2.0, 3.0]),) ; None ; 's' ; 1j
"""
LINES = """
a+1 ; a*a ; np.sin(a) ; a.sum() ; np.sum(a)*2 ; a.T ; a.reshape(-1) ; a.ravel() ; np.ravel(a)*1 ; a[...] ; a[None]
np.transpose(a)+0 ; a.copy() ; a.astype('f4') ; np.asarray(a) ; np.array(a) ; np.zeros_like(a) ; a.shape ; a.dtype
a.ndim ; a.size ; len(a) ; list(a) ; tuple(a) ; [v*2 for v in a] ; sum(a) ; max(a) ; a.max() ; a.mean() ; a.tolist()
a.item() ; float(a) ; int(a) ; bool(a) ; a if np.all(a) else -a ; a is None ; isinstance(a,np.ndarray)
isinstance(a,float) ; isinstance(a,(int,float,np.number)) ; type(a) ; type(a).__name__ ; np.isscalar(a) ; np.ndim(a)
np.shape(a) ; hasattr(a,'shape') ; hasattr(a,'__len__') ; getattr(a,'real',None) ; callable(a) ; a.real ; a.imag
np.conj(a) ; -a ; abs(a) ; +a ; ~a ; not a ; a==a ; a!=a ; a is a ; a<2 ; a>a.mean() ; np.where(a>1,a,0) ; a[a>1] ; a[0]
a[-1] ; a[::2] ; a[1:] ; a[[0,1]] ; a[np.array([0,1])] ; a[0]*2 ; a[0].dtype ; a[0]+a[1] ; np.float64(a[0]) ; a.dot(a)
a@a ; np.outer(a,a) ; np.linalg.norm(a) ; np.cumsum(a) ; np.sort(a) ; np.argsort(a) ; np.unique(a) ; np.concatenate([a,a])
np.stack([a,a]) ; np.hstack([a,2*a]) ; np.tile(a,2) ; np.repeat(a,2) ; np.diff(a) ; np.clip(a,0,2) ; np.round(a,1)
a.round(1) ; a//2 ; a%2 ; divmod(a,2) ; a**2 ; a**0.5 ; 2**a ; 1/a ; a/2 ; a&1 ; a<<1 ; np.maximum(a,1)
np.minimum(a,2,dtype='f8') ; np.add(a,1,out=np.zeros(np.shape(a))) ; np.mean(a,axis=0) ; np.sum(a,axis=-1,keepdims=True)
a.sum(dtype='f4') ; a.min(initial=5) ; np.isnan(a).any() ; np.nan_to_num(a) ; np.full_like(a,2.5) ; np.full(3,a)
np.array([a,a]) ; np.array([1.0,2.0])*a ; {'r':a*2} ; [a,a] ; (a,a*1) ; (a*2,a*2) ; a.flags.writeable ; a.strides
a.base is None ; a.T.T ; a.swapaxes(0,-1) ; np.moveaxis(a,0,-1) ; np.squeeze(a) ; np.expand_dims(a,0)*1 ; np.atleast_1d(a)
np.broadcast_to(a,(2,3)) ; np.einsum('i,i',a,a) ; np.dot(a,2) ; np.vdot(a,a) ; np.gradient(a) ; np.histogram(a,3)[0]
np.percentile(a,50) ; np.median(a) ; np.std(a) ; np.var(a,ddof=1) ; np.argmax(a) ; np.nonzero(a) ; np.count_nonzero(a)
np.any(a) ; np.all(a>0) ; np.isin(a,[1,2]) ; np.searchsorted(a,1.5) ; np.interp(1.5,a,a) ; np.polyfit(a,a,1)
np.convolve(a,[1,1]) ; np.fft.fft(a) ; np.roll(a,1) ; np.flip(a) ; np.pad(a,1) ; np.triu(a) ; np.trace(a) ; np.diag(a)
np.kron(a,a) ; np.cross(a,a) ; np.prod(a) ; np.ptp(a) ; a.view('i8') ; a.fill(3) ; a.sort() ; a.__setitem__(0,9)
a.__setitem__(slice(None),a*2) ; np.copyto(a,1) ; np.put(a,[0],[5]) ; np.multiply(a,2,out=a) ; str(a) ; repr(a) ; f'{a}'
np.result_type(a) ; np.can_cast(np.asarray(a).dtype,'f4') ; np.finfo(np.float64).eps*a ; np.dtype(float)
np.issubdtype(np.asarray(a).dtype,np.floating) ; hash(str(np.shape(a))) ; a.__class__.__name__ ; a.__len__()
iter(a).__next__() ; next(iter(a)) ; zip(a,a).__next__() ; dict(enumerate(a)) ; sorted(a) ; reversed(a) ; all(a) ; any(a)
round(a) ; np.int64(a) ; complex(a) ; range(a) ; [0]*a ; 'ab'*a ; a*[1,2,3] ; a+(1,2,3) ; a+'s' ; a+None
np.add.reduce(a) ; np.add.accumulate(a) ; np.multiply.outer(a,a) ; np.vectorize(lambda v:v*2)(a)
np.apply_along_axis(lambda v:v*2,0,a) ; np.fromiter(a,float) ; np.ndenumerate(a).__next__()
np.lib.stride_tricks.sliding_window_view(a,2) ; np.select([a>1],[a]) ; np.piecewise(a,[a>1],[2]) ; np.choose([0,1],[a,a])
np.take(a,[0,1]) ; np.take_along_axis(a,np.argsort(a),0) ; np.delete(a,0) ; np.insert(a,0,9) ; np.append(a,9)
np.block([a,a]) ; np.split(a,3) ; np.array_split(a,2) ; np.vstack([a,a]) ; np.column_stack([a,a]) ; np.ix_(a)
np.linspace(0,a,3) ; np.arange(a) ; np.eye(a) ; np.zeros(a) ; np.ones(3)*a+a
"""


def pieces(text):
    return [piece for line in text.strip().splitlines() for piece in line.split(" ; ")]


def described(x):
    """A value with its type, its dtype and its bits."""
    if isinstance(x, (np.ndarray, np.generic)):
        flags = x.flags.writeable if isinstance(x, np.ndarray) else None
        return type(x).__name__, x.dtype.str, x.shape, flags, repr(x.tolist()) if x.dtype.hasobject else x.tobytes()
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [described(item) for item in x]
    if isinstance(x, dict):
        return [(described(k), described(v)) for k, v in x.items()]
    if isinstance(x, Exception):
        return type(x).__name__, str(x)
    return type(x).__name__, repr(x) if isinstance(x, (int, float, complex, str, type(None))) else ""


def steps(f, given):
    found = []
    for text in given:
        x = eval(text, {"np": np})
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                out = f(x)
            except Exception as error:
                out = error
        said = [(w.category, str(w.message)) for w in heard if w.category is not dispatch.errors.PerformanceWarning]
        found.append((text, described(out), described(x), said))
    return found


def differences(line, given):
    scope = {"np": np}
    exec(f"def f(a): return {line}", scope)
    expected = steps(scope["f"], given)
    return [(a, b) for a, b in zip(steps(dispatch.compile(scope["f"]), given), expected, strict=True) if a != b]


@pytest.mark.parametrize("part", range(12))
def test_a_line_gives_what_it_gives_whatever_it_was_called_with(part):
    rng = random.Random(part)
    for line in pieces(LINES)[part::12]:
        some = rng.sample(pieces(ARGUMENTS), 3)
        assert not differences(line, some * 2), (line, some)
