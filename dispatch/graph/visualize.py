"""Draws graphs: as DOT text, as SVG, and as an HTML table for notebooks."""

from collections.abc import Iterable, Sequence

from ..dispatcher.printing import TABLE, escape
from .body import Body
from .codegen import Code, brief
from .node import Node, nodes_in

ROW, WIDTH, LETTER, MARGIN = 34, 24, 7, 12  # pixels: from box to box, of a box's height, of a letter, around the picture
LANE = 9  # pixels from one arc to the next


def dot_text(boxes: Iterable[tuple[str, str]], arrows: Iterable[tuple[str, str, str]]) -> str:
    """Return DOT text for boxes, each a name and a label, and arrows between names, with a label or without."""
    lines = ["digraph {", "    node [shape=box, fontname=monospace]"]
    lines += [f"    {name} [label={_quoted(label)}]" for name, label in boxes]
    lines += [f"    {start} -> {end}" + (f" [label={label}]" if label else "") for start, end, label in arrows]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def dot(body: Body) -> str:
    """Return a graph as DOT text, with an arrow from each node to the nodes that take it as an argument."""
    names = {node: f"n{i}" for i, node in enumerate(body.nodes)}
    boxes = [(names[node], label(node)) for node in body.nodes] + [("out", "outputs")]
    arrows = [(names[x], names[node], "") for node in body.nodes for x in dict.fromkeys(nodes_in(node.args))]
    arrows += [(names[x], "out", "") for x in dict.fromkeys(nodes_in(body.outputs))]
    return dot_text(boxes, arrows)


def label(node: Node) -> str:
    """Return a node in one line: `sin = np::sin  float64[3]`."""
    what = node.kind if node.op is None else node.op.name
    kind = brief(node.value)
    return f"{node.name} = {what}" + (f"  {kind}" if kind else "")


def svg(body: Body) -> str:
    """Return a graph as SVG: the nodes in a column, with arcs on the left from each node to its users."""
    texts = [label(node) for node in body.nodes] + [f"return {', '.join(x.name for x in nodes_in(body.outputs))}"]
    row = {node: i for i, node in enumerate(body.nodes)}
    pairs = [(row[x], i) for i, node in enumerate(body.nodes) for x in dict.fromkeys(nodes_in(node.args))]
    pairs += [(row[x], len(body.nodes)) for x in dict.fromkeys(nodes_in(body.outputs))]
    lanes = [0 if end == start + 1 else lane for (start, end), lane in zip(pairs, _lanes(pairs), strict=True)]
    left = MARGIN + LANE * (max(lanes, default=0) + 1)
    wide = max(map(len, texts)) * LETTER + 16
    parts = [_arc(start, end, lane, left) for (start, end), lane in zip(pairs, lanes, strict=True)]
    for i, text in enumerate(texts):
        y = MARGIN + i * ROW
        parts.append(f'<rect x="{left}" y="{y}" width="{wide}" height="{WIDTH}" rx="4" fill="#f4f4f4" stroke="#888"/>')
        parts.append(f'<text x="{left + 8}" y="{y + 16}">{escape(text)}</text>')
    size = f'width="{left + wide + MARGIN}" height="{MARGIN + len(texts) * ROW}"'
    style = 'font-family="monospace" font-size="12"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', *parts, "</svg>"])


def _lanes(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return how far to the left each arc runs, so that arcs over the same rows do not meet unless they begin at one box."""
    taken: list[dict[int, int]] = []  # of each lane, by the box they begin at, how far down its arcs reach
    found = [0] * len(pairs)
    for number in sorted(range(len(pairs)), key=lambda i: pairs[i]):
        start, end = pairs[number]
        free = (i for i, reach in enumerate(taken) if all(start >= end or start == first for first, end in reach.items()))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append({})
        taken[lane][start] = max(end, taken[lane].get(start, 0))
        found[number] = lane + 1
    return found


def _arc(start: int, end: int, lane: int, left: int) -> str:
    above, below = MARGIN + start * ROW + WIDTH // 2, MARGIN + end * ROW + WIDTH // 2
    x = left - LANE * lane if lane else left + 12
    if not lane:
        return f'<path d="M{x} {above + WIDTH // 2}V{below - WIDTH // 2}" stroke="#666" fill="none"/>'
    return f'<path d="M{left} {above}H{x}V{below}H{left}" stroke="#666" fill="none"/>'


def html(body: Body) -> str:
    """Return a graph as an HTML table: name, code, value and source line of each node."""
    code = Code(body)
    rows = []
    for node in body.nodes:
        text = node.kind if node.kind == "placeholder" else code.statement(node)
        where = str(node.source or "")
        cells = (node.name, text.removeprefix(f"{node.name} = "), brief(node.value), where)
        name, call, gives, line = (f"<code>{escape(cell)}</code>" if cell else "" for cell in cells)
        rows.append(f'<td>{name}</td><td class="call">{call}</td><td>{gives}</td><td>{line}</td>')
    rows.append(f"<td></td><td class='call'><code>{escape('return ' + code.spell(body.outputs))}</code></td><td></td><td></td>")
    head = "<tr><th>name</th><th>call</th><th>gives</th><th>line</th></tr>"
    return f"{TABLE}{head}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
