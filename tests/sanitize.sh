#!/usr/bin/env bash
# Builds the package with AddressSanitizer and UndefinedBehaviorSanitizer in a scratch copy, and runs there the tests of the
# compiled parts: the core's, the tape's, the batches', the compiler's, those of the loops over items, and the fuzzer. The first fault ends
# the run with a report. The checkout and its build stay as they are.
#
#     tests/sanitize.sh                    all of these tests
#     tests/sanitize.sh tests/core -k x    others, by pytest's words
#
# Needs gcc with libasan, and a Python that has what `pip install -e ".[test]"` installs (PYTHON=..., else `python`).
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-python}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$scratch"
cd "$scratch"

sanitizers="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
# pip builds with the setuptools and the Cython that pyproject.toml asks for; the Python given here may have others, or none.
CFLAGS="-g -fno-omit-frame-pointer $sanitizers" LDFLAGS="$sanitizers" "$python" -m pip wheel --no-deps --wheel-dir wheel . >build.log 2>&1 || { tail -40 build.log; exit 1; }
"$python" -m zipfile -e wheel/*.whl .

tests=("$@")
if [ $# -eq 0 ]; then
    tests=(tests/core tests/layers/autograd tests/layers/trace tests/layers/vmap tests/compiler tests/operators/gufunc
           tests/test_fuzz_calls.py tests/test_lifetime.py tests/test_threads.py)
fi
# malloc: Python's own allocator would hide what is read after it was freed. Leaks are not looked for: Python itself keeps what it
# has until it exits. A million nodes in a chain, freed on a stack of larger frames, want more of it.
ulimit -s unlimited || true
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so) $(gcc -print-file-name=libstdc++.so)" \
    PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$scratch" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    "$python" -m pytest -q -x -p no:cacheprovider -p no:xdist "${tests[@]}"
