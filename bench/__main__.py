"""``python -m bench`` lists the questions; ``python -m bench call`` answers that of bench/call.py, and so on."""

import importlib
import sys

from bench.questions import questions


def main(arguments: list[str]) -> int:
    """List the questions, or answer the one that the first argument names; the other arguments are its own."""
    asked = questions()
    if not arguments:
        width = max(map(len, asked))
        for name, question in asked.items():
            print(f"python -m bench {name:<{width}}  {question}")
        return 0
    name, *words = arguments
    if name not in asked:
        print(f"No question is named {name}. Those asked here: {', '.join(asked)}.", file=sys.stderr)
        return 2
    importlib.import_module(f"bench.{name}").main(words)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
