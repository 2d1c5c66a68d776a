"""Pictures: well formed, escaped, and with an arc for each use."""

from xml.etree import ElementTree as ET

import numpy as np

from dispatch import make_fx
from dispatch.dispatcher.printing import TABLE
from dispatch.graph.visualize import dot_text

X = np.array([0.3, 1.2])


def made():
    return make_fx(lambda x, y: (np.sin(x) * y + np.sin(x), x < y))(X, X)


def test_dot_has_a_box_for_each_node_and_an_arrow_for_each_use():
    text = made().to_dot()
    assert '    n2 [label="sin = np::sin  float64[2]"]' in text
    assert "    n0 -> n2\n" in text
    assert text.count(" -> ") == sum(len(set(node.args)) for node in made().nodes) + 2
    assert dot_text([('a', 'say "\\"\n')], []).splitlines()[2] == '    a [label="say \\"\\\\\\"\\n"]'


def test_svg_is_a_column_of_boxes_and_an_arc_for_each_use():
    root = ET.fromstring(made().to_svg())
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert texts[2:4] == ["sin = np::sin  float64[2]", "multiply = np::multiply  float64[2]"]
    assert texts[-1] == "return add, less"
    assert len(list(root.iter(f"{space}path"))) == 10
    rows = [int(box.get("y")) for box in root.iter(f"{space}rect")]
    assert rows == sorted(rows)
    assert all(int(box.get("x")) > 0 for box in root.iter(f"{space}rect"))


def test_a_graph_of_nothing_is_drawn():
    graph = make_fx(lambda: None)()
    assert "return" in graph.to_svg()
    assert graph.to_dot().startswith("digraph {")


def test_html_stands_by_itself_and_is_escaped():
    graph = make_fx(lambda x: x + "<&>".count("<") * np.sum(x))(X)
    text = graph._repr_html_()
    root = ET.fromstring(text)
    cells = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    assert cells[0] == ["name", "call", "gives", "line"]
    assert cells[1] == ["x", "placeholder", "float64[2]", ""]
    assert cells[2][:3] == ["sum", "ops.np.sum(x)", "float64[]"]
    assert '"<&>".count("<")' in cells[2][3]
    assert cells[-1] == ["", "return add", "", ""]
    for row in root.iter("tr"):  # the name and what it gives stay whole on a narrow page, the call breaks where it must
        assert [cell.get("class") for cell in row] == [None, None if row[0].tag == "th" else "call", None, None]


def test_a_notebook_gets_the_picture_and_the_table():
    graph = make_fx(np.sin)(np.zeros(3))
    assert graph._repr_svg_() == graph.to_svg()
    assert graph._repr_html_().startswith(f"<div>{graph.to_svg()}{TABLE}<tr>")
    assert graph._repr_html_().endswith("</table></div>")
