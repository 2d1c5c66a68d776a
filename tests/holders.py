"""Programs in text over what a function may refer to: where a value is kept, how it is read, and what it is."""

import sys

import numpy as np

x = np.arange(1.0, 4.0)


def same(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (str, type)):
        return a == b
    return type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


HOLDERS = {
    "global": ("h = V", "h", "h = V"),
    "list": ("h = [0, V]", "h[1]", "h[1] = V"),
    "dict": ("h = {'a': V}", "h['a']", "h['a'] = V"),
    "tuple in a list": ("h = [(V, 1)]", "h[0][0]", "h[0] = (V, 1)"),
    "attribute": ("class A: pass\nh = A(); h.w = V", "h.w", "h.w = V"),
    "slot": ("class A: __slots__ = ('w',)\nh = A(); h.w = V", "h.w", "h.w = V"),
    "class attribute": ("class A: w = V\nh = A()", "h.w", "A.w = V"),
    "shadowed": ("class A: w = V\nh = A()", "h.w", "h.w = V"),
    "property": ("class A:\n    @property\n    def w(self): return self.k\nh = A(); h.k = V", "h.w", "h.k = V"),
    "method": ("class A:\n    def w(self): return self.k\nh = A(); h.k = V", "h.w()", "h.k = V"),
    "replaced method": ("class A:\n    def w(self): return V\nh = A()", "h.w()", "A.w = lambda self, v=V: v"),
    "getattr": ("class A: pass\nh = A(); h.w = V", "getattr(h, 'w' + '')", "h.w = V"),
    "vars": ("class A: pass\nh = A(); h.w = V", "vars(h)['w']", "h.w = V"),
    "namespace": ("h = types.SimpleNamespace(w=V)", "h.w", "h.w = V"),
    "deque": ("h = collections.deque([V])", "h[0]", "h[0] = V"),
    "default": ("def g(w=V): return w\nh = 0", "g()", "g.__defaults__ = (V,)"),
    "keyword default": ("def g(*, w=V): return w\nh = 0", "g()", "g.__kwdefaults__['w'] = V"),
    "function attribute": ("def g(): return g.w\ng.w = V", "g()", "g.w = V"),
    "cell": (
        "def outer(v):\n    def g(): return v\n    def put(new):\n        nonlocal v\n        v = new\n    return g, put\ng, put = outer(V)",
        "g()",
        "put(V)",
    ),
    "partial": ("g = functools.partial(lambda w: w, V)", "g()", "g = functools.partial(lambda w: w, V)"),
    "module": ("h = types.ModuleType('h'); h.w = V", "h.w", "h.w = V"),
    "dataclass": ("@dataclasses.dataclass\nclass A:\n    w: object\nh = A(V)", "h.w", "h.w = V"),
    "mapping proxy": ("m = {'w': V}; h = types.MappingProxyType(m)", "h['w']", "m['w'] = V"),
    "defaultdict": ("h = collections.defaultdict(lambda: V)\nh['w'] = V", "h['w']", "h['w'] = V"),
    "code": ("def g(): return V\n", "g()", "k = V\ng.__code__ = (lambda: k).__code__"),
    "member of an Enum": ("class E(enum.Enum): A = 1\nE.A.w = V", "E.A.w", "E.A.w = V"),
    "value of an Enum": ("class E(enum.Enum): A = 1\nE.A._value_ = V", "E.A.value", "E.A._value_ = V"),
    "called member": ("k = V\nclass E(enum.Enum):\n    A = 1\n    def __call__(self): return k", "E.A()", "k = V"),
    "exception": ("class E(Exception): w = V\ndef g():\n    try: raise E\n    except E as e: return e.w", "g()", "E.w = V"),
    "exception's method": (
        "k = V\nclass E(Exception):\n    def w(self): return k\ndef g():\n    try: raise E\n    except E as e: return e.w()",
        "g()",
        "k = V",
    ),
    "class that says it is NumPy's": ("class A: w = V\nA.__module__ = 'numpy'", "A.w", "A.w = V"),
    "base that says it is typing's": ("class A: w = V\nA.__module__ = 'typing'\nclass B(A): pass\nh = B()", "h.w", "A.w = V"),
    "module that says it is ours": ("h = types.ModuleType('dispatch.h'); h.w = V", "h.w", "h.w = V"),
    "attribute in a text": ("class A: pass\nh = A(); h.w = V", "float('{0.w}'.format(h))", "h.w = V"),
    "getattr in a list": ("class A: pass\nh = A(); h.w = V\nq = [getattr]", "q[0](h, 'w', 7.0)", "h.w = V"),
    "attrgetter": ("class A: pass\nh = A(); h.b = A(); h.b.w = V", "operator.attrgetter('b.w')(h)", "h.b.w = V"),
    "class pattern": (
        "class A: pass\nh = A(); h.w = V\ndef g():\n    match h:\n        case A(w=w): return w\n        case _: return 7.0",
        "g()",
        "h.w = V",
    ),
    "default of a named tuple": (
        "N = collections.namedtuple('N', 'w', defaults=[V])",
        "N().w",
        "N.__new__.__defaults__ = (V,)",
    ),
    "builtins of its own": ("b = {'w': V}\ng = types.FunctionType((lambda: w).__code__, {'__builtins__': b})", "g()", "b['w'] = V"),
    "last of an OrderedDict": ("h = collections.OrderedDict(a=V, b=3.0)", "next(reversed(h.values()))", "h['a'] = V; h.move_to_end('a')"),
    "factory of a defaultdict": ("h = collections.defaultdict(lambda: V)", "h.copy()['w']", "h.default_factory = lambda v=V: v"),
    "annotation of a class": ("class A: pass\nA.__annotations__ = {'w': V}\nh = A()", "h.__annotations__['w']", "h.__annotations__['w'] = V"),
    "annotation of a function": ("def g(): pass\ng.__annotations__ = {'w': V}", "g.__annotations__['w']", "g.__annotations__ = {'w': V}"),
    "text of a class": ("class A: pass\nA.__doc__ = V\nh = A()", "h.__doc__", "A.__doc__ = V"),
    "text of a function": ("def g(): pass\ng.__doc__ = V", "g.__doc__", "g.__doc__ = V"),
    "hash": (
        "k = V\nclass A:\n    def __init__(self, n): self.n = n\n    def __hash__(self): return int(np.sum(k)) * self.n\n    __eq__ = lambda a, b: True\nh = A(0), A(1)",
        "({h[0]: 2.0}.get(h[1], 3.0))",
        "k = V",
    ),
    "alias of a generic class": ("class A(typing.Generic[typing.AnyStr]): w = V\nh = A[int]", "h.w", "A.w = V"),
    "origin of an alias": ("class A(typing.Generic[typing.AnyStr]): w = V\nh = A[int]", "typing.get_origin(h).w", "A.w = V"),
    "metadata of a field": (
        "m = {'w': V}\n@dataclasses.dataclass\nclass A:\n    a: int = dataclasses.field(default=1, metadata=m)\nh = A()",
        "dataclasses.fields(h)[0].metadata['w']",
        "m['w'] = V",
    ),
    "default of a field": (
        "@dataclasses.dataclass\nclass A:\n    a: object = dataclasses.field(default=V if type(V) is float else 1)\n",
        "dataclasses.fields(A)[0].default",
        "dataclasses.fields(A)[0].default = V",
    ),
    "module with a class of its own": (
        "k = V\nclass M(types.ModuleType): w = property(lambda self: k)\nh = types.ModuleType('h'); h.__class__ = M",
        "h.w",
        "k = V",
    ),
    "module with a __getattr__": (
        "h = types.ModuleType('h'); h.__getattr__ = lambda name, v=V: v",
        "h.w",
        "h.__getattr__ = lambda name, v=V: v",
    ),
    "name of a module with a __getattr__": ("h = types.ModuleType('h'); h.__getattr__ = lambda name: 0.5; h.w = V", "h.w", "h.w = V"),
    "module that gets a __getattr__": (
        "h = types.ModuleType('h')",
        "getattr(h, 'w', 1.0)",
        "h.__getattr__ = lambda name, v=V: v",
    ),
    "one object in two places": ("k = V\nclass A: w = k\nt = (k,)", "(A.w + t[0])", "A.w = V"),
    "namespace that is compared": (
        "h = types.SimpleNamespace(w=V)", "(2.0 if h == types.SimpleNamespace(w=0.25) else 3.0)", "h.w = V"
    ),
    "text of a namespace": ("h = types.SimpleNamespace(w=V)", "(1.0 * len(repr(h)))", "h.w = V"),
    "union of classes": (
        "class A: w = V\nclass B: w = 0.0\nh = A()", "(h.w if isinstance(h, A | B) else 7.0)", "A.w = V"
    ),
    "weak reference": ("class A: pass\nh = A(); h.w = V\nq = weakref.ref(h)", "q().w", "h.w = V"),
}
READS = {
    "computed with": "a * {}",
    "computed with first": "a * ({} - 1)",
    "handed to NumPy": "a + np.sin({})",
    "decided by": "a * 2 if np.sum({}) > 1 else a",
    "a number": "a * float(np.sum({}))",
    "a type": "a * (2 if isinstance({}, float) else 3)",
    "a truth that is caught": "caught(lambda: bool(np.all({} > 0)), a)",
    "a text": "a * len(str({}))",
    "returned": "(a, {})",
}
VALUES = {
    "floats": ("0.5", "0.25", "-0.0", "0.0", "2"),
    "arrays": ("np.ones(3)", "np.full(3, 2.0)", "np.zeros(1)", "np.array([1, 2, 3])", "0.5"),
    "other": ("2", "True", "2.0", "np.float64(2)", "np.ones(3)"),
}
KNOWN = ("types", "collections", "functools", "dataclasses", "enum", "operator", "typing", "weakref")
CAUGHT = """
def caught(read, a):
    try:
        return a * read()
    except Exception:
        return a - 7
"""


def generated(holder, read, values):
    """A program in text: the holder's value is set to one after the other, and the function called before and after."""
    made, place, change = HOLDERS[holder]
    scope = {name: sys.modules[name] for name in KNOWN} | {"np": np, "__name__": "generated"}

    def make():
        world = dict(scope)
        code = f"{CAUGHT}\n{made.replace('V', values[0])}\ndef f(a):\n    return {READS[read].format(place)}\n"
        exec(compile(code, "<generated>", "exec", dont_inherit=True), world)

        def steps(f):
            yield f(x)
            yield f(x)
            for value in values[1:]:
                exec(compile(change.replace("V", value), "<generated>", "exec", dont_inherit=True), world)
                yield f(x)
                now = world.get("h")
                if isinstance(now, np.ndarray):
                    now += 1
                    yield f(x)

        return world["f"], steps

    return make
