"""``python -m bench`` lists the questions, ``python -m bench call`` answers the one that bench/call.py asks."""

import importlib
import sys

from bench.questions import questions


def main(arguments: list[str]) -> int:
    """List the questions, or answer the one named first with the words after it."""
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
