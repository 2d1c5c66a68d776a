"""A world of values, bodies of functions that read it, and changes to it between calls, in text: programs for tests/compiler/test_worlds.py."""

WORLD = '''
import abc, array, bisect, collections, contextlib, contextvars, copy, dataclasses, decimal, enum, fractions, functools, heapq, itertools, math, operator, os, random, string, sys, threading, time, types, typing, warnings, weakref
import numpy as np
W = np.arange(1.0, 4.0)
B = np.arange(12.0)
V = B[2:5]
R = B[4:1:-1]
Z = np.array(2.0)
I = np.array([2, 0, 1])
M = np.array([True, False, True])
C = np.array([1 + 2j, 3, 4])
E = np.zeros(3, [('p', 'f8'), ('q', 'i4')])
F = np.float64(0.5); N = np.int32(3)
rate = 0.5; count = 3; flag = True; name = 'alpha'; big = 2**70; neg = -0.0; nothing = None; cplx = 1+2j; byt = b'ab'; frac = fractions.Fraction(1, 3); dec = decimal.Decimal('0.5')
sl = slice(0, 2); rg = range(3); tup = (1, 2.0, 'x'); lst = [1.0, 2.0, 3.0]; ints = [1, 2, 3]; objs = [W, B]; nest = {'a': [W, 2.0], 'b': {'c': 3}}
dic = {'x': 1.0, 'y': 2.0, 'z': W}; odic = collections.OrderedDict(x=1.0, y=2.0); ddic = collections.defaultdict(lambda: 2.0, x=1.0); keyed = {1: 5.0, 2: 6.0, 'k': 7.0, (1, 2): 8.0, None: 9.0}
st = {1, 2, 3}; fst = frozenset({1, 2}); dq = collections.deque([1.0, 2.0], maxlen=3); cnt = collections.Counter('aab'); chain = collections.ChainMap({'u': 1.0}, {'v': 2.0}); ba = bytearray(b'abc'); arr = array.array('d', [1.0, 2.0]); mv = memoryview(arr); mp = types.MappingProxyType(dic)
P = collections.namedtuple('P', 'u v'); pt = P(1.0, 2.0); pa = P(W, 3)
class Col(enum.Enum):
    red = 1; blue = 2
class Lev(enum.IntEnum):
    low = 1; high = 2
class Per(enum.Flag):
    r = 1; w = 2
col = Col.red; lev = Lev.low; per = Per.r
@dataclasses.dataclass
class Cfg:
    lr: float = 0.1
    n: int = 2
    w: object = None
@dataclasses.dataclass(frozen=True)
class Fro:
    lr: float = 0.1
    w: object = None
@dataclasses.dataclass(slots=True)
class Slo:
    lr: float = 0.1
    w: object = None
@dataclasses.dataclass(order=True)
class Ord:
    k: int
    v: float = dataclasses.field(compare=False, default=1.0)
cfg = Cfg(0.1, 2, W); fro = Fro(0.2, W); slo = Slo(0.3, W); ords = [Ord(3), Ord(1, 4.0), Ord(2)]
class Desc:
    def __init__(self, v): self.v = v
    def __get__(self, o, t=None): return self.v if o is None else self.v * o.k
    def __set__(self, o, v): o.k = v
class NonData:
    def __get__(self, o, t=None): return 7.0
class Base:
    shared = 2.0
    table = [1.0, 2.0]
    def __init__(self, k): self.k = k
    def scale(self, a): return a * self.k
    def name(self): return type(self).__name__
    @property
    def twice(self): return self.k * 2
    @twice.setter
    def twice(self, v): self.k = v / 2
    @classmethod
    def cm(cls, a): return a * cls.shared
    @staticmethod
    def sm(a): return a * rate
    @functools.cached_property
    def cached(self): return self.k * 10
    d = Desc(3.0); nd = NonData()
    def __call__(self, a): return a + self.k
    def __len__(self): return int(self.k)
    def __getitem__(self, i): return self.k + i
    def __contains__(self, i): return i == self.k
    def __iter__(self):
        yield self.k; yield self.k + 1
    def __bool__(self): return self.k > 1
    def __add__(self, o): return o + self.k
    __radd__ = __add__
    def __mul__(self, o): return o * self.k
    __array_ufunc__ = None
    def __enter__(self): return self.k
    def __exit__(self, *e): return True
class Plain:
    w = 4.0
    def __init__(self, k): self.k = k; self.u = W; self.n = count
    def up(self, a): return a * self.k + self.u
    def __eq__(self, o): return isinstance(o, Plain) and self.k == o.k
    def __hash__(self): return hash(self.k)
class Sub(Plain):
    def up(self, a): return super().up(a) + self.w
class Dyn:
    def __init__(self): self.store = {'q': 2.0}
    def __getattr__(self, n):
        if n == 'q': return self.store[n]
        raise AttributeError(n)
class Slots:
    __slots__ = ('p', 'q')
    def __init__(self, p, q): self.p = p; self.q = q
class Meta(type):
    @property
    def m(cls): return cls._m
class Mcls(metaclass=Meta):
    _m = 3.0
class Ab(abc.ABC):
    @abc.abstractmethod
    def run(self, a): ...
class Conc(Ab):
    g = 2.0
    def run(self, a): return a * self.g
class Eq:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return self.v == (o.v if isinstance(o, Eq) else o)
    def __hash__(self): return 1
    def __lt__(self, o): return self.v < o.v
    def __repr__(self): return f'Eq({self.v})'
    def __format__(self, spec): return str(self.v)
    def __index__(self): return 1
    def __float__(self): return float(self.v)
class Arr(np.ndarray):
    pass
base = Base(2.0); plain = Plain(2.0); sub = Sub(3.0); dyn = Dyn(); slt = Slots(2.0, W); conc = Conc(); eqs = [Eq(3), Eq(1)]; sarr = np.ones(3).view(Arr); ns = types.SimpleNamespace(w=2.0, u=W, n=2)
mod = types.ModuleType('mod'); mod.w = 2.0; mod.u = W; mod.g = lambda a: a * 3
def default(a, k=2.0, *, w=W): return a * k + w
def mutable(a, seen=[]):
    seen.append(1); return a * len(seen)
def helper(a): return a * rate + count
def make(v):
    def inner(a): return a * v
    def put(n):
        nonlocal v
        v = n
    return inner, put
inner, put = make(2.0)
def make_counter():
    n = 0
    def tick(a):
        nonlocal n
        n += 1
        return a * n
    return tick
tick = make_counter()
part = functools.partial(default, k=3.0); part2 = functools.partial(operator.mul, 2.0); meth = plain.up; bmeth = lst.count; attrg = operator.attrgetter('k'); itemg = operator.itemgetter('x'); mc = operator.methodcaller('scale', W)
@functools.lru_cache
def memo(k): return k * rate
@functools.singledispatch
def sd(x): return 1.0
@sd.register
def _(x: int): return 2.0
@functools.wraps(helper)
def wrapped(a): return helper(a) + 1
def gen(n):
    i = 0
    while i < n:
        yield i * rate
        i += 1
live = gen(3); it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]); cyc = itertools.cycle([1.0, 2.0]); ctr = itertools.count()
cv = contextvars.ContextVar('cv', default=1.0); tl = threading.local(); tl.v = 2.0; lock = threading.Lock(); wr = weakref.ref(plain); wvd = weakref.WeakValueDictionary(p=plain); rng = np.random.default_rng(0)
@contextlib.contextmanager
def ctx(v):
    yield v * rate
def deco(f):
    def g(*args, **kw): return f(*args, **kw) * rate
    return g
@deco
def decorated(a): return a + 1
def rec(a, n): return a if n <= 0 else rec(a * rate + 1, n - 1)
def kws(a, **kw): return a * sum((i + 1) * v for i, v in enumerate(kw.values()))
def args_(a, *args): return a * len(args) + sum(args)
def raises(a):
    if a.shape[0] == count: raise ValueError(f'{count} of {a.shape}')
    return a
vec = np.vectorize(lambda v: v * 2.0); dt = np.dtype('f4'); table = {'sin': np.sin, 'cos': np.cos}; ufn = 'sin'; types_ = {float: 1.0, int: 2.0, np.ndarray: 3.0}; logs = []; out = np.zeros(3)
A1 = [0.0]; nanv = float('nan'); shape = (3,); axes = [0]; T = typing.TypeVar('T'); spec = '{:.2f}'; tmpl = string.Template('$x'); sd_ = {3: 4.0}
'''

EXPRESSIONS = r'''
a * W
a + V
a * R + V
a * Z
a[I] if a.ndim == 1 and len(a) == 3 else a
np.where(M, a, W)
(a, W)
(W, W)
(V, B[2:5])
W[:]
W.T
[W, a]
{'w': W, 'a': a}
a * E['p']
a * E['q'].dtype.itemsize
a * F
a * N
a * np.float32(rate)
a * rate
a * count
a ** count
a.reshape(count, -1)
np.full(count, a[0])
a * (rate if flag else count)
a * len(name)
a * (big % 7)
np.copysign(a, neg)
a * (nothing is None)
a * cplx
a * cplx.imag
a * len(byt)
a * float(frac)
a * frac.numerator
a * float(dec)
a[sl]
a * sum(rg)
a * tup[0] + tup[1]
a * len(tup[2])
a * lst[0] + sum(lst)
a * lst[-1]
a * len(lst)
a * sorted(lst)[0]
a * max(lst)
a * lst.index(2.0)
a * (2.0 in lst)
a * lst.count(2)
a * (1 in ints)
a * sum(ints)
a * np.array(ints).sum()
a + np.array(lst)
a + np.asarray(lst)[0]
a * objs[0] + objs[1][:3]
a * (objs[0] is W)
a * nest['a'][0] + nest['b']['c']
a * dic['x'] + dic['z']
a * list(dic)[0].__len__()
a * list(dic.values())[0]
a * sum(v for v in dic.values() if isinstance(v, float))
a * dic.get('nope', 3.0)
a * ('w' in dic)
a * len(dic)
[v * a for k, v in dic.items()]
a * list(reversed(odic.values()))[0]
a * odic['y']
a * ddic['x']
a * ddic['miss']
a * keyed[1] + keyed[2]
a * keyed[True]
a * keyed[1.0]
a * keyed[(1, 2)] + keyed[None]
a * keyed.get(s, 4.0)
a * keyed.get(count, 4.0)
a * list(keyed)[0]
a * len(st)
a * (2 in st)
a * sum(st)
a * sorted(st)[0]
a * (s in st)
a * (count in fst)
a * dq[0] + len(dq)
a * (dq.maxlen or 9)
a * cnt['a']
a * chain['u']
a * ba[0]
a * arr[0]
a * mp['x']
a * mp.get('q', 5.0)
a * pt.u + pt.v
a * pt[0]
a * pa.u + pa.v
pt._replace(u=a)
P(a, W)
a * P(2.0, 3.0).u
a * len(pt._fields)
a * (2 if col is Col.red else 3)
a * col.value
a * (col == Col.blue)
a * len(col.name)
a * lev
a * (lev == 1)
a * (lev > Lev.low)
a * len(list(Col))
a * Col(1).value
a * Col['red'].value
a * (2 if Per.r in per else 3)
a * cfg.lr + cfg.w
a * cfg.n
cfg
dataclasses.replace(cfg, w=a)
Cfg(0.5, 2, a)
Fro(0.5, a)
a * fro.lr + fro.w
a * slo.lr + slo.w
Slo(0.5, a)
a * (cfg == Cfg(0.1, 2, None))
a * len(dataclasses.fields(cfg))
a * len(dataclasses.asdict(Cfg(1.0, 2, None)))
a * sorted(ords)[0].v
a * min(ords).v
a * base.k
base.scale(a)
a * base.twice
a * base.cached
a * base.d
a * base.nd
a * base.shared
a * base.table[0]
base.cm(a)
base.sm(a)
base(a)
a * len(base)
a * base[1]
a * (2.0 in base)
a * sum(base)
a * (2 if base else 3)
a + base
base + a
a * base
a * len(base.name())
a * len(type(base).__name__)
a * plain.k + plain.u
plain.up(a)
sub.up(a)
meth(a)
a * (plain == Plain(2.0))
a * (plain == sub)
a * isinstance(plain, Sub)
a * isinstance(sub, Plain)
a * hasattr(plain, 'extra')
a * getattr(plain, 'k')
a * getattr(plain, 'extra', 5.0)
a * getattr(plain, name, 5.0)
a * vars(plain)['k']
a * len(vars(plain))
a * plain.__dict__['k']
Plain(a).k * 2
Plain(2.0).up(a)
Sub(rate).up(a)
{plain: a}[plain]
a * dyn.q
a * slt.p + slt.q
a * hasattr(slt, 'p')
a * Mcls.m
a * Mcls._m
conc.run(a)
a * isinstance(conc, Ab)
a * isinstance(count, int)
a * isinstance(rate, float)
a * isinstance(s, int)
a * isinstance(s, bool)
a * isinstance(a, np.ndarray)
a * isinstance(a, (list, tuple))
a * (type(s) is int)
a * (type(a) is np.ndarray)
a * types_.get(type(s), 9.0)
a * types_[type(a)]
a * sorted(eqs)[0].v
a * (eqs[0] == eqs[1])
a * (eqs[0] in eqs)
a * eqs.index(Eq(1))
a * len(f'{eqs[0]}')
a * len(repr(eqs[0]))
a[eqs[0]]
a * float(eqs[0])
a * sarr
a * ns.w + ns.u
a * ns.n
a * (ns == types.SimpleNamespace(w=2.0, u=W, n=2))
mod.g(a) * mod.w + mod.u
a * hasattr(mod, 'late')
default(a)
default(a, 3.0)
default(a, w=2.0)
mutable(a)
helper(a)
inner(a)
tick(a)
part(a)
part2(a)
a * len(part.keywords)
part.func(a)
a * bmeth(2.0)
a * attrg(plain)
a * itemg(dic)
mc(base)
a * memo(2.0)
a * memo(s)
a * sd(s)
a * sd(2)
wrapped(a)
wrapped.__wrapped__(a)
a * sum(gen(3))
[a * v for v in gen(count)]
a * next(live)
a * next(it)
a * next(cyc)
a * next(ctr)
a * sum(it)
a * cv.get()
a * tl.v
a * wr().k
a * wvd['p'].k
rng.normal(size=3) + a
a * len(os.environ.get('HOSTILE', 'abc'))
decorated(a)
rec(a, count)
rec(a, s) if type(s) is int and s < 9 else a
kws(a, p=1.0, q=2.0)
kws(a, **odic)
kws(a, **{k: v for k, v in dic.items() if k != 'z'})
args_(a, *lst)
args_(a, *ints, 4)
args_(a, *tup[:2])
raises(a)
a.astype(dt)
np.zeros(3, dt) + a
a * dt.itemsize
table[ufn](a)
getattr(np, ufn)(a)
[table[k](a) for k in table]
np.add(a, W, out=out)
np.add(a, W, out=np.zeros(3))
np.add(a, 1, where=M, out=np.zeros(3))
np.sum(a, where=M)
np.add.at(out, I, a)
np.add.reduce(a)
np.multiply.outer(a, W)
np.take(a, I)
np.compress(M, a)
np.argsort(a)
np.sort(W) + a
np.searchsorted(W, a)
np.interp(a, W, lst)
np.linalg.norm(a) * rate
np.einsum('i,i->', W, W) * a
np.concatenate([a, W])
np.stack([W, V, R]) * 2
np.stack(objs[:1] + [a])
np.tile(a, count)
np.repeat(a, ints)
np.roll(a, count)
np.pad(a, count)
np.clip(a, neg, rate)
np.linspace(0, rate, count) + a[0]
np.arange(count) + a[0]
np.eye(count) * a[0]
np.split(a, ints[:1])
np.broadcast_to(W, (2, 3))
np.atleast_2d(W)
np.ravel(W)
np.asarray(W)
np.asarray(a)
np.array(W, copy=False) if False else np.asanyarray(W)
np.reshape(W, (3, 1))
np.ascontiguousarray(R)
np.ascontiguousarray(W)
np.require(W)
W.astype(float, copy=False)
a.astype(a.dtype, copy=False)
a.copy()
a.view()
a[:]
a[...]
a[()]
a[None]
a.T
a.real
a.flat[0]
list(a)
a.tolist()
a.item(0)
float(a[0])
int(count) * a
bool(flag) * a
a if flag else -a
a if rate > 0.3 else -a
a if W[0] > 0 else -a
a if len(W) == 3 else -a
a if W.shape == (3,) else -a
a if W.dtype == float else -a
a if W.flags.writeable else -a
a if W is V else -a
a if np.shares_memory(V, B) else -a
a if W.base is None else -a
a if a.flags.c_contiguous else -a
a if a.strides[0] > 0 else -a
a * W.strides[0]
a * W.nbytes
a * a.nbytes
a * a.dtype.num
a * len(a.dtype.name)
a * len(a.dtype.str)
a * ord(a.dtype.byteorder)
a * (a.dtype == float)
a * (a.dtype is np.dtype(float))
a * a.ndim
a * a.size
a * len(str(a.shape))
a * len(f'{a.shape}')
a * len('%s' % (a.shape,))
a * len('{}'.format(a.dtype))
a * len(str(count))
a * len(f'{rate:.3f}')
a * len(spec.format(rate))
a * len(tmpl.substitute(x=count))
a * len(str(lst))
a * len(repr(tup))
a * len(str(dic.keys()))
a * len(str(odic))
a * len(str(W))
a * len(str(F))
a * len(repr(F))
a * len(repr(N))
a * len(str(plain))
a * len(str(lst.append))
a * len(repr(lst.append).split(' at ')[0])
a * len(str(Col.red))
a * len(repr(col))
a * len(str(cfg.lr))
a * len(repr(fro))
a * len(repr(pt))
a * len(str(np.add.reduce))
a * len(str(len))
a * len(str(dic.get))
a * len(str(name.upper))
a * len(str(W.dtype))
a * len(str(operator.itemgetter('x')))
a * ({lst.append: 1.0}[lst.append])
a * sorted([(1, 2.0), (0, 3.0)], key=lambda p: p[0])[0][1]
a * sorted(dic, key=len)[0].__len__()
a * sorted(lst, key=functools.cmp_to_key(lambda p, q: (p > q) - (p < q)))[0]
a * functools.reduce(operator.add, lst)
a * sum(p * q for p, q in zip(lst, ints))
a * heapq.nsmallest(1, lst)[0]
a * bisect.bisect(lst, s) if isinstance(s, (int, float)) else a
a * math.sqrt(abs(rate))
a * math.floor(rate)
a * round(rate, 1)
a * divmod(count, 2)[1]
a * (count // 2) + count % 2
a * (count << 1)
a * (count == 3.0)
a * (flag == 1)
a * (flag + 1)
a * (True if s == 1 else False)
a * s if not isinstance(s, str) and s is not None else a
a + s if isinstance(s, (int, float)) else a
np.full(3, s) + a if isinstance(s, (int, float)) else a
a * {1: 2.0}.get(s, 3.0)
a * {1.0: 2.0, True: 4.0}.get(s, 3.0)
a * (s is None)
a * (s is nothing)
a * (s is name)
a * (s == s)
a * (nanv in [nanv])
a * (nanv != nanv)
a * (s in [nanv])
a * len(f'{s}')
a * len(f'{s!r}')
a * len(str(type(s)))
a * bool(s)
a * (name == 'alpha')
a * name.count('a')
a * (name + 'x').find('x')
a * len(name.split('p'))
a * ord(name[0])
a * eval('rate')
a * globals()['rate']
a * len(locals())
a * np.geterr()['divide'].__len__()
a / W
1 / (a - 1)
np.log(a - 2)
np.sqrt(-a)
np.log(W - 1) + a
a / neg
a // 0 if a.dtype.kind == 'i' else a
np.float64(1) / np.float64(neg) * a
np.divide(a, 0.0)
np.exp(a * 1000)
a.sum() + a.mean() * a.std()
a.max() - a.argmin()
a @ W
a.dot(W)
np.dot(W, W) * a
np.var(a, ddof=count - 2)
np.prod(ints) * a
np.cumsum(a)[::-1]
np.diff(a, n=count - 2)
np.histogram(a, ints)[0]
np.unique(a)
np.nonzero(a)
np.linalg.inv(np.eye(3) * a)
np.linalg.solve(np.diag(W), a)
np.fft.fft(a).real
np.polyval(lst, a)
np.apply_along_axis(helper, 0, a)
np.array([v for v in gen(3)]) + a
np.array(list(map(float, ints))) * a
np.vstack([a, a * rate])
np.select([M, ~M], [a, W])
np.choose(I, [a, W, V])
np.piecewise(a, [M, ~M], [1.0, 2.0])
np.ones_like(W) * a
np.zeros_like(a, dtype=dt)
np.empty(0) if count else a
np.result_type(a, dt).itemsize * a
np.can_cast(a.dtype, dt) * a
np.finfo(a.dtype).eps * a if a.dtype.kind == 'f' else a
np.iinfo('i4').max * a
np.pi * a
np.isclose(a, W)
np.allclose(W, W) * a
np.array_equal(W, V) * a
np.any(W > 2) * a
a * np.any(M)
a * M.sum()
a * bool(M[0])
a * W.tolist()[0]
a * float(Z)
a * int(N)
a * Z.item()
a * W.item(0)
a * W.max()
a * list(W)[0]
a * sum(W)
a * max(W)
a * len([w for w in W if w > 1])
[a * w for w in W]
dict(zip('abc', a))
dict(x=a, y=W)
tuple(a)
set(ints)
frozenset(ints)
(v for v in lst)
lambda q: q * rate
slice(0, count)
range(count)
Col.red
np.sin
helper
plain
base.scale
None
count
rate
F
N
Z
name
(rate, count, name)
[rate, [count]]
lst
dic
nest
tup
pt
pa
W.dtype
a.shape
W.shape
dt
type(a)
Plain
P
mod
st
objs[0]
(a, a)
[a, [a]]
a.view('i8') if a.dtype == float else a
a.view(dt) if a.dtype == dt else a
E
E['p']
E[0]['p'] * a
E[['p']]
C.real * a
C * a
C.conj() * a
W[I] * a
W[M].sum() * a
B[sl] * a[:2]
B.reshape(3, 4)[:, 0] * a
B[count] * a
B[count:] * a[0]
np.lib.stride_tricks.sliding_window_view(B, count)[0] * a[0]
V.base[0] * a
(lambda q: q * count)(a)
(lambda q=rate: q)() * a
(y := a * rate) + y
[y := a, y + 1]
a * (1 if (n := count) > 2 else n)
a * sum([1 for _ in range(count)])
a * len({1, 2, count})
a * list({3, 1, 2})[0]
a * min({name: 1, 'zz': 2})[0].__len__()
copy.copy(lst)[0] * a
copy.deepcopy(nest)['a'][1] * a
warnings.warn('w') or a
logs.append(1) or a
lst.append(1.0) or a * len(lst)
dic.setdefault('new', 1.0) * a
dic.pop('x', 1.0) * a
odic.move_to_end('x') or a
dq.appendleft(1.0) or a
st.add(9) or a
setattr(plain, 'k', 3.0) or a
plain.__setattr__('k', 4.0) or a
vars(plain).update(k=5.0) or a
os.environ.__setitem__('HOSTILE', 'zz') or a
cv.set(3.0) and a
rng.shuffle(W) or a
np.put(W, 0, 9.0) or a
np.copyto(W, a)
np.place(W, M, 5.0) or W
W.fill(2.0) or W * a
W.sort() or W
a.sort() or a
a.fill(rate) or a
a.partition(1) or a
a.put(0, 5.0) or a
a.itemset(0, 1.0) if hasattr(a, 'itemset') else a
a.__setitem__(0, rate) or a
operator.setitem(a, 0, 3.0) or a
operator.iadd(a, 1) is a
operator.itemgetter(0)(a)
operator.attrgetter('T')(a)
operator.methodcaller('sum')(a)
operator.index(count) * a
threading.current_thread().name.__len__() * a
sys.maxsize % 7 * a
sys.byteorder.__len__() * a
sys.flags.optimize * a + 1
fractions.Fraction(count, 2) * count + a
decimal.Decimal(1) / 3 == 0 or a
string.ascii_letters[count].__len__() * a
contextlib.nullcontext(rate).enter_result * a
typing.cast(float, rate) * a
abs(-a)
round(rate) * a
pow(a, count)
divmod(a, rate)
-a + +a
~I
a > rate
a == W
a != count
(a > 1) & M
(a > 1).any()
not flag
all(lst) * a
any(ints) * a
bytes(ints)[0] * a
complex(rate, count) * a
float('nan') * a
float(name == 'alpha') * a
str(a.ndim) + name
memoryview(W)[0] * a
np.int8(100) * np.int8(2) * a
np.int32(count) * a
np.uint8(count - 4) * a if count > 3 else a
np.array(count) * a
np.array(rate, dt) * a
np.array([rate, count]) * a[0]
np.array([[rate]]) * a
np.array(lst, dtype=dt) * a
np.array([W, V]) * a
np.array(objs[:1]) * a
np.array(pt) * a[0]
np.array(range(count)) * a[0]
np.array(name).dtype.itemsize * a
np.asarray(count).dtype.itemsize * a
'''.strip().split("\n")

STATEMENTS = r'''
y = a.copy(); y[0] = rate; return y
y = a * 2; y += W; return y
y = W; y += 1; return a
y = V; y *= 2; return B.sum() + a
a += 1; return a
a[...] = W; return None
a[0] = count; return a * 2
W[:] = a; return W
W[0] += 1; return a * W
B[2] = 7; return V * a
y = B[2:5]; y[...] = a; return V
out[:] = a; return out.sum()
global rate; rate = rate + 1; return a * rate
global W; W = W * 2; return a
global fresh; fresh = 3.0; return a * fresh
lst[0] = 5.0; return a * lst[0]
lst.append(2.0); lst.pop(); return a * len(lst)
dic['x'] += 1; return a * dic['x']
dic['x'] = dic['x']; return a
dic['z'] = a; return a
plain.k += 1; return a * plain.k
plain.k = a; return a
plain.u = plain.u; return a
plain.u += a; return plain.u
plain.cache = a; return a
Plain.w = 9.0; return a * plain.w
del plain.n; return a
base.twice = 8.0; return a * base.k
cfg.lr *= 0.5; return a * cfg.lr
cfg.w = a; return a
cfg.w += a; return cfg.w
nest['a'][0] += a; return nest['a'][0]
objs[0] *= rate; return objs[0]
helper.calls = 1; return a
default.__defaults__ = (5.0,); return default(a)
mod.w = 5.0; return a * mod.w
ns.w = a; return a
slt.p = 7.0; return a
\ntry:\n    return a * missing\nexcept NameError:\n    return a * 2
\ntry:\n    return a * dic['nope']\nexcept KeyError:\n    return a * 3
\ntry:\n    return a * lst[count]\nexcept IndexError:\n    return a * 4
\ntry:\n    return a.reshape(count, 2)\nexcept ValueError:\n    return a * 5
\ntry:\n    return np.linalg.inv(np.outer(a, a) * rate)\nexcept np.linalg.LinAlgError as e:\n    return a * 6
\ntry:\n    return a + W\nexcept ValueError as e:\n    return len(str(e)) * a
\ntry:\n    raises(a)\nexcept ValueError as e:\n    return a * len(e.args[0])
\ntry:\n    raise KeyError(name)\nexcept KeyError as e:\n    return a * len(e.args)\nfinally:\n    y = 2
\ntry:\n    return a * rate\nfinally:\n    lst.append(1.0)
\nfor i, v in enumerate(lst):\n    if v > rate: a = a * v + i\n    else: break\nelse:\n    a = a + 1\nreturn a
\nfor v in it:\n    a = a * v\nreturn a
\nfor v in live:\n    a = a + v\nreturn a
\nwhile rate < a[0] * 0 + 1: break\nreturn a
\nn = count\nwhile n > 0:\n    a = a * rate; n -= 1\nreturn a
\nwith np.errstate(all='ignore'):\n    return a / neg
\nwith np.errstate(divide='raise'):\n    return a / W
\nwith np.errstate(divide='raise'):\n    try:\n        return a / (W - 1)\n    except FloatingPointError:\n        return a * 3
\nwith np.printoptions(precision=count):\n    return a * len(str(rate))
\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    return np.log(a - 2)
\nwith contextlib.suppress(ValueError):\n    return a.reshape(2, count)\nreturn a * 8
\nwith ctx(2.0) as v:\n    return a * v
\nwith base as v:\n    return a * v
\nwith base:\n    raise ValueError\nreturn a * 2
\nwith lock:\n    return a * 2
\nmatch s:\n    case 1: return a * 2\n    case 1.5: return a * 3\n    case None: return a * 4\n    case str(): return a * 5\n    case _: return a * 6
\nmatch tup:\n    case (1, x, str(n)): return a * x + len(n)\n    case [p, *q]: return a * len(q)\n    case _: return a
\nmatch dic:\n    case {'x': x}: return a * x\n    case _: return a * 2
\nmatch a.shape:\n    case (3,): return a * rate\n    case (n,): return a * n\n    case _: return a
\nmatch pt:\n    case P(u, v): return a * u + v
\nmatch col:\n    case Col.red: return a * 2\n    case Col.blue: return a * 3
\nmatch W.ndim, count:\n    case (1, 3): return a + 1\n    case (1, n): return a + n
def g(q, k=rate):\n    return q * k\nreturn g(a)
def g(q):\n    nonlocal_ = q\n    def h():\n        nonlocal nonlocal_\n        nonlocal_ = nonlocal_ * rate\n        return nonlocal_\n    return h() + h()\nreturn g(a)
def g():\n    for v in lst: yield a * v\nreturn sum(g())
def g():\n    got = yield a\n    yield got * rate\nq = g(); next(q); return q.send(a)
def g():\n    yield from gen(count)\nreturn [a * v for v in g()]
f2 = lambda q: f2(q[1:]) + q[0] if len(q) > 1 else q[0]; return f2(a)
fs = [lambda q, k=k: q * k for k in lst]; return [g(a) for g in fs]
fs = [lambda q: q * k for k in lst]; return [g(a) for g in fs]
y, *z = lst; return a * y + len(z)
(y, z), n = (lst[:2]), count; return a * y * z * n
y = [*lst, *ints]; return a * len(y)
y = {**dic, 'x': a}; return y['x']
y = dic | {'x': a}; return y
y = dict(dic); y['x'] = a; return y['x'] * y['y']
y = list(lst); y.append(a); return y[-1] * y[0]
y = lst; y = y + [a]; return y[-1] * y[0]
y = objs[:]; y[0] = a; return y
y = plain; return y.up(a)
y = Plain(a); y.k = y.k * rate; return y.k
y = Sub(2.0); y.extra = a; return y.extra * y.w
y = Slots(a, rate); y.p = y.p * y.q; return y.p
y = types.SimpleNamespace(a=a); y.a = y.a * rate; return y.a
y = Cfg(); y.w = a; y.lr = rate; return y.w * y.lr
y = Cfg(w=a); return y
y = collections.defaultdict(list); y['q'].append(a); return y['q'][0] * rate
y = collections.OrderedDict(); y['q'] = a; return dict(y)
y = collections.deque([a], maxlen=count); y.append(a * 2); return list(y)
y = np.zeros(3); y[:] = a; return y
y = np.zeros(count); y[0] = rate; return a[0] * y
y = np.empty(3); y.fill(rate); return y * a
y = np.zeros((3, 2)); y[:, 0] = a; y[:, 1] = W; return y
y = W.copy(); y[I] = a; return y
y = W.view(); y[0] = 3; return W * a
y = W[::-1]; return y, a
y = np.array(W); y += a; return y
y = np.asarray(W); y += a; return W
y = np.add(a, 1, out=a); return y is a
y = a.T; y[0] = 5; return a
y = a[1:]; y *= 2; return a
y = a[1:]; a[1] = 9; return y
y = a.reshape(-1); y[0] = rate; return a
y = a.ravel(); y[0] = rate; return a
y = a[::-1]; a[:] = y; return a
a[1:] += a[:-1]; return a
a[:-1] = a[1:]; return a
np.add.at(a, [0, 0], 1); return a
np.add(a, W, out=a, where=M); return a
np.multiply(W, 2, out=W); return W + a
np.cumsum(a, out=a); return a
np.clip(a, 0, rate, out=a); return a
np.copyto(a, W, where=M); return a
a.shape = (1, -1); return a
a.dtype = a.dtype; return a
y = a.copy(); y.shape = (3, 1); return y
y = a; del a; return y
y = a; a = a * 2; a[0] = 9; return y, a
y = a is W; return a * (1 + y)
y = a == W; return y
b = a; b += 1; return a is b
if s: a = a * 2
if s is None: return a\nreturn a * 2
assert count > 1, 'no'; return a
assert a.ndim == 1; return a * rate
raise ValueError(f'{name} {count}')
raise RuntimeError
return
yield a
y = yield_ = a; return y
import math as m; return a * m.sqrt(rate)
from functools import reduce; return reduce(np.add, [a, W, V])
x = [a]; x.append(x); return a
y = [a, W]; y.reverse(); return y
y = sorted([a, W], key=lambda q: q.shape); return y
y = [0] * 3\nfor i in range(3): y[i] = a[i] * rate\nreturn y
y = {}\nfor k in dic: y[k] = a\nreturn y
y = {k: a * v for k, v in odic.items()}; return y
y = {n: a for n in ints}; return y
y = 0\nfor n in st: y = y * 10 + n\nreturn a * y
y = 0.0\nfor n in W: y = y + n\nreturn a * y
y = 1\nfor r in np.stack([W, V]): y = y * r\nreturn a * y
y = sum(w * a for w in objs[:1]); return y
y = functools.partial(default, w=a); return y(a)
y = functools.partial(helper); return y(a)
y = functools.reduce(lambda p, q: p * q, [a, W, rate]); return y
y = list(map(lambda p, q: p * q, [a], [W])); return y
y = list(filter(None, lst)); return a * len(y)
y = list(zip(lst, [a, a])); return y[0][1] * y[0][0]
y = np.ndenumerate(a); return [v for i, v in y]
y = np.fromfunction(lambda i: i * rate, (3,)); return y * a
y = a.base is None; return a * (1 + y)
y = a.flags.owndata; return a * (1 + y)
y = a.flags['WRITEABLE']; return a * (1 + y)
y = a.tobytes(); return len(y) * a
y = a.tolist()[0]; return a * y
y = a[0].item() > 1; return a * y
y = np.bool_(flag); return a * y, y
y = np.float64(rate); return y, a
y = np.float32(rate) * 2; return y, a
y = np.array(rate); y += 1; return y * a
y = np.array([1, 2, 3]); y[0] = count; return y * a
y = np.array(W, order='F', ndmin=2); return y * a
'''.strip().split("\n")

CHANGES = r'''
W += 1
W[0] = -3.0
W = np.full(3, 2.0)
W = np.array([1, 2, 3])
W = np.ones(3, 'f4')
W = np.arange(6.0)[::2]
W = np.arange(1.0, 4.0).astype('>f8')
W = 2.0
W = [1.0, 2.0, 3.0]
W = V
W = np.ones(4)
W = np.ones(3).view(Arr)
W = np.float64(2)
W.flags.writeable = False
W = Z
W = B[1:4]
B[:] = B[::-1].copy()
B = B.copy()
V = V.copy()
V = B[3:6]
V += 3
R = B[2:5]
Z[()] = 5.0
Z = np.array([2.0])
Z = np.float64(3.0)
Z = 3.0
I[:] = [0, 0, 1]
I = [1, 1, 0]
I = np.array([True, False, True])
I = np.array([5, 0, 1])
M[:] = False
M = np.array([1, 0, 1])
C[0] = 9
C = C.real
E['p'] = 3
E.dtype.names = ('q', 'p')
F = np.float64(0.25)
F = np.float32(0.5)
F = 0.5
N = np.int32(4)
N = np.int64(3)
N = 3
rate = 0.25
rate = -0.0
rate = 0.0
rate = 1
rate = True
rate = 0.5
rate = np.float64(0.5)
rate = float('nan')
rate = np.float32(0.25)
rate = 2 + 0j
rate = W
count = 4
count = 3.0
count = True
count = np.int64(3)
count = 2
count = 5
count = 6
count = -1
flag = False
flag = 1
flag = 0
flag = np.True_
name = 'beta'
name = 'alp' + 'ha'[:2]
name = 'k'
name = 'alpha'.upper()
big += 1
big = 2**70
neg = 0.0
neg = 0
neg = -0.0
neg = 2.0
nothing = 0
nothing = False
cplx = 2+1j
cplx = complex(1.0, -0.0)
cplx = 1.0
byt = b'abc'
byt = 'abc'
frac = fractions.Fraction(2, 3)
dec = decimal.Decimal('0.50')
dec = decimal.Decimal('0.25')
sl = slice(0, 1)
sl = slice(0, 3, 2)
sl = 1
rg = range(4)
rg = range(0, 3, 2)
tup = (2, 2.0, 'x')
tup = (1.0, 2.0, 'x')
tup = (True, 2, 'xy')
tup = [1, 2.0, 'x']
tup = (W, 2.0, 'x')
lst[0] = 4.0
lst[0] = 1
lst[-1] = 7.0
lst.append(0.5)
lst.pop()
lst.reverse()
lst = [3.0, 2.0, 1.0]
lst = (1.0, 2.0, 3.0)
lst[1] = W
lst[0] = nanv
lst[0] = -0.0
ints[0] = 1.0
ints[0] = True
ints[0] = 7
ints.append(4)
ints = (1, 2, 3)
ints = range(1, 4)
ints = np.array([1, 2, 3])
objs[0] = V
objs[0] = B[:3]
objs.reverse()
objs[0] = W.copy()
objs[0] += 1
nest['a'][0] = V
nest['b']['c'] = 4
nest['a'].append(1)
nest['b'] = {'c': 3.0}
nest['a'][0] = nest['a'][0] * 2
dic['x'] = 5.0
dic['x'] = 1
dic['z'] = V
dic['w'] = 1.0
v_ = dic.pop('x', 1.0); dic['x'] = v_
del dic['y']
dic['x'] = True
dic = dict(reversed(list(dic.items())))
dic['x'] = W
dic['new'] = 4.0
odic.move_to_end('x')
odic['x'] = 4.0
odic.popitem()
ddic.default_factory = lambda: 5.0
ddic['x'] = 3.0
ddic['miss'] = 8.0
keyed[1] = 9.0
keyed[True] = 10.0
v_ = keyed.pop(1); keyed[True] = v_
v_ = keyed.pop(1); keyed[1.0] = v_
keyed[s_] = 1.0
keyed[(1, 2)] = 1.0
del keyed[None]
keyed[1.5] = 2.5
keyed[3] = 3.5
st.add(4)
st.discard(2)
st.clear(); st.update([8, 16, 0])
st.clear(); st.update([0, 16, 8])
st.add(1.5)
fst = frozenset({3})
fst = frozenset({2, 3.0})
dq.append(5.0)
dq = collections.deque([1.0, 2.0], maxlen=4)
dq[0] = 9.0
cnt['a'] += 1
chain.maps[0]['u'] = 4.0
ba[0] = 100
arr[0] = 7.0
pt = P(3.0, 2.0)
pt = P(1, 2.0)
pt = (1.0, 2.0)
pa = P(V, 3)
pa = P(W, 4)
P._fields = ('u',)
P.u = property(lambda self: 8.0)
col = Col.blue
col = Lev.low
Col.red._value_ = 7
Col.blue._value_ = 8
lev = Lev.high
lev = 1
per = Per.w
per = Per.r | Per.w
cfg.lr = 0.5
cfg.lr = 1
cfg.w = V
cfg.w = None
cfg.n = 3
cfg.n = 2.0
cfg.extra = 1
cfg = Cfg(0.1, 2, W)
Cfg.lr = 0.9
cfg = Fro(0.1, W)
del cfg.lr
fro = Fro(0.2, V)
fro = Fro(0.3, W)
object.__setattr__(fro, 'lr', 0.7)
slo.lr = 0.9
slo.w = V
del slo.w
slo = Slo(0.3, W)
ords[0].k = 0
ords[1].v = 9.0
ords[0].v = 8.0
Ord.__lt__ = lambda self, o: self.k > o.k
base.k = 3.0
base.k = 2
base.k = W
base.k = True
base.twice = 10.0
base.cached = 99.0
vars(base).pop('cached', None)
base.nd = 5.0
Base.shared = 3.0
base.shared = 4.0
Base.table[0] = 9.0
Base.table = [4.0]
Base.d = 2.5
Base.d.v = 5.0
NonData.__get__ = lambda self, o, t=None: 8.0
Base.scale = lambda self, a: a * 9
Base.twice = property(lambda self: self.k * 5)
Base.__len__ = lambda self: 4
Base.__call__ = lambda self, a: a - 1
Base.cm = classmethod(lambda cls, a: a * 8)
Base.__bool__ = lambda self: False
base.scale = lambda a: a * 11
base.__class__ = type('Base', (Base,), {'shared': 6.0})
base = Base(2.0)
del base.k
plain.k = 5.0
plain.k = 2
plain.u = V
plain.u = np.ones(3, 'f4')
plain.u += 1
plain.extra = 6.0
plain.alpha = 3.0
plain.n = 7
plain = Plain(2.0)
plain = sub
plain.__class__ = Sub
Plain.w = 5.0
Plain.up = lambda self, a: a * 12
Plain.__init__ = lambda self, k: setattr(self, 'k', 13.0) or setattr(self, 'u', 1.0)
Plain.__eq__ = lambda self, o: False
Plain.k = property(lambda self: 4.5)
Plain.extra = 5.5
Sub.w = 6.0
Sub.up = lambda self, a: a
Sub.__bases__ = (Base,)
sub.k = 8.0
sub.w = 9.0
meth = sub.up
meth = plain.up
dyn.store['q'] = 5.0
dyn.q = 6.0
Dyn.q = 7.0
slt.p = 3.0
slt.q = V
del slt.p
Slots.p = property(lambda self: 3.5)
Mcls._m = 4.0
Meta.m = property(lambda cls: 6.0)
Mcls.m_ = 5.0
conc.g = 5.0
Conc.g = 6.0
conc.__class__ = type('C2', (), {'run': lambda self, a: a * 7, 'g': 1.0})
eqs[0].v = 0
eqs[0].v = 3.0
eqs.reverse()
Eq.__eq__ = lambda self, o: True
Eq.__repr__ = lambda self: 'longer text'
Eq.__format__ = lambda self, spec: 'longer'
Eq.__index__ = lambda self: 0
Eq.__lt__ = lambda self, o: self.v > o.v
Eq.__float__ = lambda self: 4.0
sarr = np.ones(3)
Arr.__mul__ = lambda self, o: 3.0
Arr.__rmul__ = lambda self, o: 3.0
Arr.__array_priority__ = 100
ns.w = 3.0
ns.u = V
ns.n = 3
ns.extra = 1
ns = types.SimpleNamespace(w=2.0, u=W, n=2)
mod.w = 4.0
mod.u = V
mod.g = lambda a: a * 5
mod.late = 1
default.__defaults__ = (9.0,)
default.__kwdefaults__ = {'w': 3.0}
default.__kwdefaults__['w'] = V
default.__code__ = (lambda a, k=2.0, *, w=W: a * 100).__code__
mutable.__defaults__[0].append(1)
helper = lambda a: a * 17
helper.__code__ = (lambda a: a * 18).__code__
helper.extra = 1
put(3.0)
put(W)
put(2)
put(-0.0)
inner.__closure__[0].cell_contents = 6.0
inner, put = make(2.0)
part = functools.partial(default, k=4.0)
part.keywords['k'] = 5.0
part = functools.partial(helper)
part.extra = 1
part.__setstate__((default, (), {'k': 7.0}, {}))
part2 = functools.partial(operator.add, 2.0)
attrg = operator.attrgetter('u')
itemg = operator.itemgetter('y')
memo.cache_clear()
sd.register(float)(lambda x: 4.0)
sd.register(int)(lambda x: 5.0)
wrapped.__wrapped__ = lambda a: a * 3
gen = lambda n: iter([5.0] * n)
next(it, None)
next(live, None)
next(cyc)
next(ctr)
cv.set(2.0)
tl.v = 5.0
wr = weakref.ref(sub)
wvd['p'] = sub
rng = np.random.default_rng(1)
decorated.__closure__[0].cell_contents = lambda a: a * 21
rec = lambda a, n: a * n
kws.__code__ = (lambda a, **kw: a * len(kw)).__code__
args_ = lambda a, *args: a
dt = np.dtype('f8')
dt = np.dtype('>f4')
dt = np.dtype('i4')
dt = 'f4'
dt = np.float32
table['sin'] = np.cos
table['tan'] = np.tan
table = dict(reversed(list(table.items())))
ufn = 'cos'
ufn = 'tanh'
types_[float] = 6.0
types_[np.ndarray] = 7.0
types_.pop(int)
logs.append(1)
out[:] = 9
out = np.zeros(3)
out = W
out = np.zeros(3, 'f4')
nanv = float('nan')
nanv = 1.0
spec = '{:.5f}'
spec = '{}'
tmpl = string.Template('$x$x')
missing = 3.0
del rate
del W
del count
len = lambda x: 5
sum = lambda x: 3.0
sorted = lambda x, key=None: list(x)
isinstance = lambda x, c: True
types_ = {}
'''.strip().split("\n")

# What a body stores: a place, a value, and what comes after.
PLACES = '''
plain.k
plain.u
plain.cache
sub.u
cfg.w
cfg.lr
ns.w
slt.p
slt.q
dic['x']
dic['z']
dic['fresh']
lst[0]
objs[0]
nest['a'][0]
nest['b']
base.twice
mod.w
Plain.w
sarr[0]
W
rate
fresh
helper.calls
cell
'''.strip().splitlines()
VALUES = '''
a
a * 2
a + W
W
V
a[1:]
a.T
a.sum()
rate
rate * 2
s
count + 1
(a, W)
[a * 2]
{'q': a}
dic
np.zeros(3)
np.arange(3) * a
None
plain
lambda q: q * rate
Cfg(w=a)
P(a, 1.0)
np.float64(2) * a[0]
@ + a.sum()
@ * np.float64(0.5)
(W.sum(), a)
'''.strip().splitlines()
ENDS = '''
return a
return @
return @ is a, @ is W
y = @; y += 1; return y
@ = @ * 2; return a
@ = a; @ += 1; return a
a += 1; return @
W[:] = 5; return @
W[0] += 1; return a * W
return @, @
return np.linalg.inv(np.outer(a, a) * 0)
try: raise KeyError(1)\\nexcept KeyError: return @
del dic['y']; return a
return other(a)
return a * @ * @
@ = @ + a.sum(); return (@, a)[0] * 2
return a if @ is None else @
lst[1] = @; return a * lst[1]
return a[slice(None)] * @
return {@: 1.0} if isinstance(@, float) else a
return helper(a) * plain.k
'''.strip().splitlines()
