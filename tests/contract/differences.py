"""Where a test of torch comes out otherwise here, on purpose: one cause each, with what torch does, what is done here, and why.

An entry names its causes in its docstring, `Differs: one other`. What torch's test does not ask for is no difference: it is said
under `Adapted:` or `Beyond:`. A program that torch runs and this package refuses, or the other way round, is one.
"""

DIFFERENCES = {
    "defaults": (
        "Torch leaves what equals its default out of what a rule sees, so that `needs_input_grad` is as long as the call was. Here "
        "a rule sees every argument always, and `inputs`, `needs_input_grad` and the gradients have one length: a rule that counts "
        "is right for every call."
    ),
    "keyword-only arrays": (
        "Torch refuses the definition of an operator with keyword-only arrays, and of its rules. Here they are computed on, "
        "differentiated and batched as any others, so that `out=`, `weight=` or `mask=` may be written as in NumPy."
    ),
    "defining again": (
        "In torch the second `Library(ns, 'DEF')` of a process fails, and so did the second definition of a name in its old "
        "interface; `custom_op` replaces in silence whatever another package defined. Here the module that defined a name or owns a "
        "namespace may do so again, which is what running a notebook's cell twice and a reload do; any other is refused, with both "
        "places."
    ),
    "switching kernels": (
        "Torch logs a line where `set_kernel_enabled` names a device without a kernel, or changes nothing, and goes on; what it "
        "switches, it switches for every thread, and the decorated function runs. Here a device that nobody knows, or has no kernel "
        "of its own, is refused with the close match; a block holds for the thread that entered it, says nothing where nothing "
        "changes, and uncovers the kernel below."
    ),
    "rules on composites": (
        "Torch refuses a fake rule or a gradient for an operator with a composite kernel, because its table would ignore it. Here "
        "the operator's own rule is nearer than its composition, and counts as long as its library is there; on request, "
        "`allow_override=False`, it is refused as well."
    ),
    "fake rules of tagged operators": (
        "Torch warns when an operator in place or with `out` gets a fake rule, and then believes a rule that returns another array "
        "than the kernel has to. Here a rule that is right costs no warning, and one that returns another array is refused when it "
        "runs, so that a trace is never of another program than the call."
    ),
    "None for a list": (
        "Torch wants a list of Nones from a backward where a list of arrays has no gradient. Here None stands for it, as it does "
        "for an array."
    ),
    "no kernel on fakes": (
        "Torch runs a kernel that serves every device, CompositeExplicitAutograd, on fakes where there is no fake rule. Here no "
        "kernel ever runs to learn a shape: a kernel that hands its arrays to C or SciPy would fail there, or read memory that does "
        "not exist. The error says the line to add; `custom_op` asks for the rule in torch too."
    ),
    "SymInt": (
        "Torch infers `SymInt` from the hint int, and an operator whose schema says `int` takes no symbolic size. Here there is one "
        "type, printed `int`, which takes numbers and symbols; `SymInt` is read as it."
    ),
    "more hints": (
        "Torch refuses tuples, `list[int | None]`, named tuples and functions as hints, and suggests a list. Here they have schema "
        "types, `int[2]`, `(int, float)`, `Tensor[]` for a tuple of any length, a record, `Callable`, so that a function can be "
        "decorated as it is written."
    ),
    "sequences as given": (
        "Torch makes a new list of every sequence before the kernel sees it. Here the kernel gets the very object, a tuple, a range or "
        "a sequence of a user's own, as a call of the plain function would: nothing is copied on every call."
    ),
    "aliases of library operators": (
        "Torch looks for a result that is an argument, or a view of one, at the calls of `custom_op` operators only; what a library "
        "defines returns it in silence, and gradients and compiled code are wrong; for a write that no schema declares at no call. "
        "Here the schema holds for every operator, however defined, for writes at the first call of a kernel, and the error names "
        "kernel and argument."
    ),
    "writing operators": (
        "Torch refuses gradients for operators that write to their arguments, at registration or at the walk back, and calls of `out` "
        "operators with tracked arrays. Here they have gradients, those of the value that is written; what would lose one, a write to a "
        "leaf or of a tracked value into a plain `out`, is refused at the call, with the line to write."
    ),
    "functional forms": (
        "Torch neither compiles nor checks an operator whose result is an argument that it wrote to, or a view. Here each has a "
        "functional form: it is compiled, and checked for doing what its schema says."
    ),
    "views": (
        "Torch refuses gradients for operators that return views, or all but those of one array to one without symbolic sizes. Here a "
        "view takes a gradient like any result."
    ),
    "checks of opcheck": (
        "Torch's opcheck looks at no value of a gradient. Here the dict has `test_vmap`, `test_gradients` and `test_jvp` beside torch's "
        "four: batches are held against a loop, gradients and jvp rules against finite differences."
    ),
    "counting gradients": (
        "Torch counts the gradients of a backward against what the call passed on, and lets further Nones pass. Here they are counted "
        "against the schema: one for each argument, those of numbers behind the last array may be left out, a list is as good as a "
        "tuple, and one for an array that was left out is dropped as that of an untracked one. None alone is a `return` that was "
        "forgotten, and `(None,)` no gradient. What one call takes, every call takes."
    ),
    "results of batching rules": (
        "Torch believes a batching rule that names an axis which its output has not, and gives the batch itself; an output of no batch "
        "is repeated along the first axis only. Here a rule's answer is held against the shapes, and `out_dims` holds for every output."
    ),
    "values of another type": (
        "Torch takes None for a tensor, and gives it back as one, a flag for a number, nearly anything for a flag, and a tensor of one "
        "element for a number, whose gradient it drops. Here a value fits its type, so that two arguments that change places are found."
    ),
    "definitions that contradict themselves": (
        "Torch defines operators with two arguments of one name, defaults that do not fit their types, a '*' before nothing, two "
        "written arguments in one alias set, and reads `mutates_args=\"x\"` letter by letter beside a schema. Here each is refused, with "
        "the place in the text. What returns nothing is written `-> ()`."
    ),
    "overloads": (
        "Torch runs the first overload, in the order of definition, that a call can be converted to: of `f(Tensor, int)` and "
        "`f(Tensor, Tensor)` the first, given two tensors. Here the one runs that the call fits most exactly, whatever the order."
    ),
    "returned arguments": (
        "Torch refuses, at the call, an operator whose schema says that it returns what it wrote to, unless it has a tag that says so "
        "again. Here the schema is enough."
    ),
    "later composites": (
        "In torch a CompositeExplicitAutograd kernel that is registered after a CompositeImplicitAutograd one does not run, against its own "
        "order of precedence. Here the order of registering decides only among kernels of one key."
    ),
    "get_ctx outside a rule": (
        "Torch's `get_ctx()` gives None where no fake rule runs, and the error comes with the first use. Here it raises."
    ),
    "symbolic bounds": (
        "Torch takes numbers only as the bounds of a new size. Here `max=x.size` may be symbolic, which is what is known of most "
        "such sizes."
    ),
    "numbers without a gradient": (
        "In torch an operator that makes a number of a tracked tensor drops its gradient in silence. Here an operator without a rule is "
        "refused there, and a rule for one that returns numbers alone where it is registered. What is said: return a 0-d array."
    ),
}
