"""Forests: sums and maxima against enumeration, the JSON form, what is refused."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from tests.oracles.translation import derivations
from tests.translate.forests import random_forest

import dualign
from dualign.translate import Derivation, Hypergraph, LanguageModel, decode

TWO_ORDERS = ([(None, 0.0), ("a", -0.5), ("b", -0.25)], [(0, [1, 2], -1.0), (0, [2, 1], -2.0)], 0)


def forests(count):
    for seed in range(count):
        rng = random.Random(seed)
        vertices, edges = random_forest(rng)
        found = derivations(vertices, edges, 0)
        if found:
            yield Hypergraph(vertices, edges, 0), found


@pytest.mark.kernel
def test_inside_is_the_log_of_the_sum_over_all_derivations():
    for graph, found in forests(150):
        total = math.log(math.fsum(math.exp(weight) for _, _, weight in found))
        assert graph.inside()[0] == pytest.approx(total, rel=1e-9)
        assert graph.inside(maximum=True)[0] == pytest.approx(max(w for _, _, w in found), rel=1e-9)


@pytest.mark.kernel
def test_edge_marginals_are_over_the_derivations_that_use_the_edge():
    for graph, found in forests(60):
        maxima = graph.edge_marginals(maximum=True)
        for e in range(len(graph.head)):
            using = [w for edges, _, w in found if e in edges]
            if using:
                assert maxima[e] == pytest.approx(max(using), rel=1e-9)


@pytest.mark.kernel
def test_outside_completes_inside_in_forests_that_use_no_vertex_twice():
    graph = Hypergraph(*TWO_ORDERS)
    within, around = graph.inside(), graph.outside()
    assert np.allclose((within + around)[:3], within[0])


@pytest.mark.kernel
def test_k_best_are_the_best_in_order():
    for graph, found in forests(150):
        wanted = sorted((w for _, _, w in found), reverse=True)[:7]
        answers = list(graph.k_best(7))
        assert [score for _, score in answers] == pytest.approx(wanted)
        assert len({d.edges for d, _ in answers}) == len(answers)
        for derivation, score in answers:
            assert graph.weight(derivation.edges) == pytest.approx(score)
            assert (derivation.edges, derivation.words) in {(e, w) for e, w, _ in found}


def test_json_round_trip(tmp_path):
    for graph, _ in forests(20):
        again = Hypergraph.from_json(graph.as_json())
        assert (again.vertices, again.edges, again.root) == (graph.vertices, graph.edges, graph.root)
    path = str(tmp_path / "forest.json.gz")
    graph.write(path)
    assert Hypergraph.read(path).edges == graph.edges


def test_a_root_that_is_a_word_is_its_own_derivation():
    derivation, score = Hypergraph([("a", -1.5)], [], 0).best()
    assert (derivation.words, derivation.edges, score) == (("a",), (), -1.5)


def test_deep_forests_need_no_deep_stack():
    depth = 5000
    vertices = [(None, 0.0)] * depth + [("a", 0.0)]
    edges = [(v, [v + 1], 0.0) for v in range(depth)]
    assert len(Hypergraph(vertices, edges, 0).best()[0].edges) == depth


@pytest.mark.parametrize(
    ("vertices", "edges", "root", "message"),
    [
        ([(None, 0), (None, 0), ("a", 0)], [(0, [1], 0), (1, [0], 0)], 0, "cycle: 0 → 1 → 0"),
        ([(None, 0), ("a", 0)], [(0, [0], 0), (0, [1], 0)], 0, "cycle"),
        ([(None, 0), ("a", 0)], [], 0, "no derivation"),
        ([(None, 0), ("a", 0), (None, 0)], [(0, [1, 2], 0)], 0, "vertex 2 has neither a word nor an edge"),
        ([(None, 0), ("a", 0)], [(0, [], 0)], 0, "empty tail"),
        ([(None, 0), ("a", 0)], [(0, [7], 0)], 0, "7 is not one of the 2 vertices"),
        ([(None, 0), ("a", 0)], [(0, [1], 0)], 2, "root 2"),
        ([("x", 0), ("a", 0)], [(0, [1], 0)], 0, "label 'x'"),
        ([(None, 0), ("a b", 0)], [(0, [1], 0)], 0, "not one word"),
        ([(None, 0), ("<s>", 0)], [(0, [1], 0)], 0, "<s> is added by the language model"),
        ([(None, float("nan")), ("a", 0)], [(0, [1], 0)], 0, "weight nan is not between"),
        ([(None, 0), ("a", 0)], [(0, [1], -float("inf"))], 0, "leave out what is impossible"),
        ([(None, "x"), ("a", 0)], [(0, [1], 0)], 0, "not a number"),
        ([None], [], 0, "not a pair"),
        ([(None, 0), ("a", 0)], [(0, [1])], 0, "not a triple"),
        ([(None, 0), ("a", 0)], [(0, "1", 0)], 0, "not a list of vertices"),
    ],
)
def test_what_is_no_forest_is_refused(vertices, edges, root, message):
    with pytest.raises(dualign.DataError, match=message):
        Hypergraph(vertices, edges, root)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"vertices": [], "edges": []}', '{"vertices": 1, "edges": [], "root": 0}', "nonsense"]
)
def test_bad_json_names_the_place(tmp_path, text):
    path = tmp_path / "forest.json"
    path.write_text(text)
    with pytest.raises(dualign.DataError, match=r"forest\.json"):
        Hypergraph.read(str(path))


def test_edges_that_are_no_derivation_are_refused():
    graph = Hypergraph(*TWO_ORDERS)
    for edges in ((), (0, 1), (5,)):
        with pytest.raises(dualign.DataError, match="not a derivation"):
            graph.derivation(edges)


def test_json_is_what_the_documentation_says():
    content = json.loads(Hypergraph(*TWO_ORDERS).as_json())
    assert content["vertices"][1] == ["a", -0.5]
    assert content["edges"][1] == [0, [2, 1], -2.0]
    assert content["root"] == 0


def test_a_forest_with_other_weights_leaves_the_first_as_it_is():
    for seed in range(50):
        vertices, edges = random_forest(random.Random(seed))
        graph = Hypergraph(vertices, edges, 0)
        other = graph.reweighted(2.0 * graph.edge_weight)
        assert (
            graph.edges
            == Hypergraph.trusted(vertices, edges, 0).edges
            == Hypergraph(vertices, edges, 0).edges
        )
        assert [w for _, _, w in other.edges] == [2.0 * w for _, _, w in graph.edges]
        assert other.best()[1] == Hypergraph(vertices, [(h, t, 2.0 * w) for h, t, w in edges], 0).best()[1]


def test_what_the_root_does_not_lead_to_is_ignored_with_a_note(caplog):
    alone = [(None, 0), ("a", 0), (None, 0), ("b", 0)], [(0, [1], -1), (2, [3], 0)]
    sharing = [(None, 0), ("a", 0), (None, 0)], [(0, [1], -1), (2, [1], 0)]
    for vertices, edges in (alone, sharing):
        caplog.clear()
        graph = Hypergraph(vertices, edges, 0)
        assert graph.best() == (Derivation(("a",), (0,)), -1.0)
        assert "all but 1 of the forest's edges" in caplog.text


@pytest.mark.parametrize("weight", [-1e308, 1e21, 10**400, -(10**400)])
def test_weights_that_drown_all_others_are_refused(weight):
    for vertices, edges in (
        ([(None, weight), ("a", 0)], [(0, [1], 0)]),
        ([(None, 0), ("a", 0)], [(0, [1], weight)]),
    ):
        with pytest.raises(dualign.DataError, match="leave out what is impossible"):
            Hypergraph(vertices, edges, 0)
    text = json.dumps({"vertices": [[None, 0], ["a", 0]], "edges": [[0, [1], weight]], "root": 0})
    with pytest.raises(dualign.DataError, match=r"forest\.json: edge 0: the weight"):
        Hypergraph.from_json(text, "forest.json")


def test_a_derivation_that_doubles_at_each_vertex_is_refused_not_built():
    vertices = [*((None, 0.0) for _ in range(60)), ("a", 0.0)]
    graph = Hypergraph(vertices, [(v, [v + 1, v + 1], 0.0) for v in range(60)], 0)
    assert graph.inside(maximum=True)[0] == 0.0
    with pytest.raises(dualign.DataError, match="edges or more"):
        graph.best()
    model = LanguageModel.train([["a", "a"]], 2)
    for method in ("exact", "cube"):
        with pytest.raises(dualign.DataError, match="edges or more"):
            decode(graph, model, method=method, time_limit=1.0)
