from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from dualign._core.errors import DataError, UsageError
from dualign.measure.curves import calibration, curve
from dualign.measure.links import evaluate
from dualign.show.figures import (
    BLUE,
    INK,
    ORANGE,
    FigureMatrix,
    matrices_figure,
    matrix_figure,
    posterior_figure,
    save,
)
from dualign.show.plots import calibration_figure, cost_figure, curve_figure, pruning_figure, trace_figure
from dualign.text.formats.pharaoh import parse_pharaoh

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Rectangle

LINKS, GOLD = parse_pharaoh("0-0 1-1 1-0"), parse_pharaoh("0-0 1?1")
TRACES = {"a": [(3.0, 0.0, 1.0), (2.0, 1.0, 0.5)], "b": [(4.0, float("-inf"), 1.0)]}


def circles(axes):
    return {
        (round(patch.center[1]), round(patch.center[0])): (
            to_hex(patch.get_edgecolor()),
            patch.fill,
            patch.radius,
        )
        for patch in axes.patches
        if isinstance(patch, Circle)
    }


def test_matrix_marks_links_gold_and_errors():
    figure = matrix_figure(["a", "b"], ["x", "y"], LINKS, GOLD, {(0, 0): 0.25})
    [axes] = figure.axes
    found = circles(axes)
    assert {link: colour for link, (colour, _, _) in found.items()} == {
        (0, 0): INK,
        (1, 1): INK,
        (1, 0): ORANGE,
    }
    assert found[0, 0][2] == pytest.approx(found[1, 1][2] / 2)
    squares = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bool(patch.get_edgecolor()[3]) for patch in squares] == [True, False]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_system_has_its_matrix_and_signs_are_explained():
    systems = [FigureMatrix(LINKS, None, "one"), FigureMatrix(parse_pharaoh("0-1 1?0"), {(0, 1): 0.3}, "two")]
    figure = matrices_figure(["a", "b"], ["x", "y"], systems, GOLD)
    assert [set(circles(axes)) for axes in figure.axes] == [{(0, 0), (1, 1), (1, 0)}, {(0, 1), (1, 0)}]
    assert [axes.get_xlabel() for axes in figure.axes] == ["one", "two"]
    assert legend(figure) == [
        "gold, sure",
        "gold, possible",
        "link (area: probability)",
        "not in gold",
        "possible link",
    ]
    assert legend(matrix_figure(["a"], ["x"], parse_pharaoh("0-0"))) == ["link"]


def test_posteriors_show_gains_full_and_losses_hollow():
    array = np.zeros((2, 2, 1, 3))
    array[0, 0, 0], array[1, 0, 0] = [0.5, 0.5, 0.5], [0.9, 0.1, 0.5]
    figure = posterior_figure(["a"], ["x", "y", "z"], array, GOLD)
    assert len(figure.axes) == 4
    found = {link: mark[:2] for link, mark in circles(figure.axes[2]).items()}
    assert found == {(0, 0): (BLUE, True), (0, 1): (ORANGE, False), (0, 2): (INK, True)}
    assert legend(figure)[2:] == ["posterior (area)", "grown by projection", "shrunk"]
    assert len(posterior_figure(["a"], ["x", "y", "z"], array, None, "none").axes) == 2


def test_curves_have_the_points_of_the_measure():
    measured = curve([[(0, 0, 0.9), (1, 0, 0.5)]], [GOLD])
    figure = curve_figure({"one": measured}, {"two": evaluate([LINKS], [GOLD])})
    lines = figure.axes[0].lines
    np.testing.assert_array_equal(lines[0].get_xdata(), measured.recall[measured.recall > 0])
    assert lines[1].get_ydata()[0] == pytest.approx(2 / 3)


def test_trace_of_one_round_has_marks():
    lines = trace_figure({"a": [(3.0, 3.0)]}).axes[0].lines
    assert [line.get_marker() for line in lines] == ["s", "+"]
    assert {line.get_marker() for line in trace_figure({"a": TRACES["a"]}).axes[0].lines} == {""}


def test_calibration_has_a_point_for_each_step():
    found = calibration([[(0, 0, 0.95), (1, 0, 0.55), (1, 1, 0.5)]], [GOLD])
    _, drawn = calibration_figure({"x": found}).axes[0].lines
    assert list(drawn.get_xdata()) == [0.525, 0.95]
    assert list(drawn.get_ydata()) == [0.5, 1.0]
    assert drawn.get_label() == "x (3 links, error 3.3 %)"


def test_traces_and_pruning():
    lines = trace_figure(TRACES).axes[0].lines
    assert [list(line.get_ydata()) for line in lines[:2]] == [[3, 2], [0, 1]]
    assert np.isnan(lines[3].get_ydata()).all()
    [line] = pruning_figure({"x": list(TRACES.values())}).axes[0].lines
    # The shorter trace keeps its last share.
    assert list(line.get_ydata()) == [100, 75]
    with pytest.raises(DataError, match="its traces have no shares"):
        pruning_figure({"x": [[(1.0, 2.0)]]})
    with pytest.raises(DataError, match="not a trace"):
        trace_figure({"x": []})


def test_costs_lie_on_logarithmic_scales():
    axes = cost_figure({"x": [(100, 9), (10, 1)]}, "pairs", "seconds").axes[0]
    assert list(axes.lines[0].get_xdata()) == [10, 100]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    with pytest.raises(DataError, match="over 0"):
        cost_figure({"x": [(0, 1)]}, "pairs", "seconds")


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_files_are_the_same_every_time(tmp_path, suffix):
    written = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.{suffix}"
        save(matrix_figure(["a", "$x$"], ["<x>", "é"], LINKS, GOLD), str(path))
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[suffix])


def test_letters_without_a_font_are_returned(tmp_path):
    figure = matrix_figure(["\U000f0001x"], ["b"], parse_pharaoh("0-0"))
    assert save(figure, str(tmp_path / "x.png")) == "\U000f0001"
    assert save(matrix_figure(["é"], ["b"], parse_pharaoh("")), str(tmp_path / "x.png")) == ""


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\.svg, \.pdf, \.png"):
        save(matrix_figure(["a"], ["b"], parse_pharaoh("")), str(tmp_path / "x.jpg"))


@pytest.mark.parametrize(("source", "target"), [([], ["a"]), (["a"], []), (["a"] * 151, ["a"])])
def test_pairs_that_make_no_figure_are_refused(source, target):
    with pytest.raises(UsageError, match="sentence"):
        matrix_figure(source, target, parse_pharaoh(""))


def test_missing_matplotlib_is_said_with_the_remedy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'dualign\[plots\]'"):
        trace_figure(TRACES)


def test_svg_is_well_formed_whatever_the_words_are(tmp_path):
    words = [chr(code) for code in range(1, 32)] + [
        "a\x00b",
        "\x7f",
        "\x9b",
        "\ufffe",
        "\uffff",
        "--",
        "]]>",
        "&lt;",
    ]
    save(matrix_figure(words, ["<x>", "\x1b[0m"], LINKS), str(tmp_path / "a.svg"))
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.tag.endswith("svg")
