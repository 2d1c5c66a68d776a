# What .ci/run and .ci/nightly share; sourced from the root of the checkout.

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Some hundred tests start an interpreter: where PYTHONDONTWRITEBYTECODE is set, as in containers, each would compile the package anew.
unset PYTHONDONTWRITEBYTECODE

failed=()
step() {  # step TITLE COMMAND...: run it and print its seconds; one run shows every failure, and the end counts them
    local title=$1 start=$SECONDS verdict=ok
    shift
    printf '\n== %s\n' "$title"
    "$@" || { verdict=FAILED; failed+=("$title"); }
    printf '== %s: %s, %d s\n' "$title" "$verdict" $((SECONDS - start))
}

readme() {  # readme START: the README's command whose line starts so (a pattern of grep), run word for word
    local command
    command=$(grep -m 1 -- "^$1" README.md) || { echo "README.md has no line that starts with: $1"; return 1; }
    printf '$ %s\n' "$command"
    bash -c "$command"
}

beside() {  # beside FUNCTION: run its steps at the same time, with a log that beside_done prints
    (
        failed=()
        "$1" || failed+=("$1")
        printf '%s\n' "${failed[@]}" >"$scratch/beside.failed"
    ) >"$scratch/beside.log" 2>&1 &
    beside=$!
}

beside_done() {  # wait for it, print what it said, and count its failures
    wait "$beside" || failed+=("what ran beside ended early")
    cat "$scratch/beside.log"
    while read -r title; do
        [ -z "$title" ] || failed+=("$title")
    done <"$scratch/beside.failed"
}

finish() {
    printf '\n== all of it: %d s, %d failed\n' "$SECONDS" "${#failed[@]}"
    [ "${#failed[@]}" -eq 0 ] || { printf '==   %s\n' "${failed[@]}"; exit 1; }
}

cpythons() {  # cpythons [BUT]: the path of one of each minor version that pyproject.toml names, but BUT
    local root found version
    root=$(pyenv root 2>/dev/null) || root=/nonexistent
    for version in $(sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml); do
        [ "$version" = "${1:-}" ] && continue
        found=$(compgen -G "$root/versions/$version.*/bin/python" | sort -V | tail -n 1) || found=
        [ -n "$found" ] || found=$(PATH=${bare_path:-$PATH} command -v "python$version") || found=
        if [ -n "$found" ]; then
            echo "$found"
        else
            echo "SKIPPED: the tests on CPython $version, which neither pyenv nor the path has here" >&2
        fi
    done
}

oldest_numpy() {
    sed -n 's/^dependencies = \["numpy>=\([0-9.]*\)"\]$/\1/p' pyproject.toml
}
