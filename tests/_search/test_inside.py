"""Outside scores of arcs whose inside scores are known, against those of the hypergraph."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.translate.forests import random_forest

from dualign._search.inside import Arcs, best_outside
from dualign.translate import Hypergraph

pytestmark = pytest.mark.kernel


@given(st.integers(0, 10_000))
def test_outside_scores_of_arcs_are_those_of_the_forest(seed):
    graph = Hypergraph(*random_forest(random.Random(seed)), 0)
    place = {v: n for n, v in enumerate(graph.order.tolist())}
    inside = graph.inside(maximum=True)
    edges = [e for v in place for e in range(len(graph.head)) if graph.head[e] == v]
    tails = [[place[t] for t in graph.tail_of(e)] for e in edges]
    arcs = Arcs(
        inside[graph.order],
        np.array([place[int(graph.head[e])] for e in edges], np.int32),
        np.cumsum([0, *map(len, tails)]),
        np.array([t for tail in tails for t in tail], np.int32),
        np.array(
            [
                graph.vertex_weight[graph.head[e]] + graph.edge_weight[e] + inside[graph.tail_of(e)].sum()
                for e in edges
            ]
        ),
    )
    last = len(place)
    wanted = graph.outside(maximum=True)[graph.order]
    np.testing.assert_allclose(best_outside(arcs, last - 1, last), wanted, rtol=0, atol=1e-9)
