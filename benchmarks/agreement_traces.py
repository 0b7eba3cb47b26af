"""Figure 7 of Chang et al. 2014: how bound and score approach the optimum, and what pruning leaves.

Every pair goes through up to 400 rounds of the relaxation with pruning, the first part of `constrain`, one
round at a time; after a proof its last values stay. Means over the pairs whose optimum is known:

- (a) `bound`: the least bound so far; `greedy`: the best score so far of the greedy heuristic, which runs
  every fourth round (pruning uses it); `intersection`: the best score so far of the links that the row chain
  and the columns' choices have in common, the first of several in a column; `exact`: for comparison, the
  least bound so far of `exact` at the root of its search. All as (value − optimum) / |optimum|.
- (b) `space`: the transitions of both chains that are left, relative to all of them. `space_before`: the same
  before the first round, when the two plain chains alone have pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualign._core.errors import UsageError
from dualign._search.certificate import PRECISION
from dualign._search.dual import BOUND, CLOSED, IMPOSSIBLE, OPEN, new_record
from dualign.decode.joint.bound import prune_by_chains
from dualign.decode.joint.feasible import compiled_offer, new_incumbent
from dualign.decode.joint.model import JointProblem, Masks, all_allowed, compiled_propagate
from dualign.decode.joint.relax import MOST_ROUNDS, JointRelaxation, descend_and_prune, new_relaxation
from dualign.measure.timing import markdown

SHOWN = (1, 2, 5, 10, 25, 50, 100, 200, 400)
CURVES = ("bound", "exact", "greedy", "intersection", "space")


def average(pairs: Sequence[tuple[JointProblem, Any, float]]) -> dict[str, Any]:
    """Means over pairs, each given with what `exact` found and the optimum: lists, but `space_before`."""
    traces: list[dict[str, np.ndarray]] = []
    for problem, run, optimum in pairs:
        if np.isnan(optimum):
            continue
        trace = traced(problem)
        bounds = [bound for bound, _ in run.trace[:MOST_ROUNDS]]
        # A proof at the root may come from pruning, after the last bound.
        last = optimum if run.certified and run.nodes == 1 else min(bounds)
        trace["exact"] = np.array(bounds + [last] * (MOST_ROUNDS - len(bounds)))
        for name in ("bound", "exact", "greedy", "intersection"):
            trace[name] = (trace[name] - optimum) / abs(optimum)
        traces.append(trace)
    if not traces:
        raise UsageError("no pair has a proved optimum, so that there is no Figure 7; raise --time-limit")
    means = {name: np.nanmean([trace[name] for trace in traces], axis=0).tolist() for name in traces[0]}
    return means | {"averaged": len(traces)}


def traced(problem: JointProblem) -> dict[str, np.ndarray]:
    """The curves of one pair but `exact`, in the scores' own unit."""
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record()
    met = new_incumbent(I, J)
    relaxation = new_relaxation(problem, masks, incumbent)
    whole = transitions(masks, relaxation)
    record.numbers[BOUND] = prune_by_chains(problem, masks, incumbent, PRECISION)
    status = OPEN if compiled_propagate(masks, problem.gamma < IMPOSSIBLE) else CLOSED
    before = transitions(masks, relaxation) / whole
    curves = np.full((4, MOST_ROUNDS), np.nan)
    point = float(record.numbers[BOUND]), float(incumbent.value[0]), np.nan, before
    for t in range(MOST_ROUNDS):
        if status == OPEN:
            status = descend_and_prune(relaxation, record, 1, PRECISION)
            compiled_offer(problem, *intersection(relaxation), met)
            best, common = float(incumbent.value[0]), float(met.value[0])
            bound = best if status == CLOSED else float(record.numbers[BOUND])
            point = bound, best, common, transitions(masks, relaxation) / whole
        curves[:, t] = point
    names = ("bound", "greedy", "intersection", "space")
    return dict(zip(names, curves, strict=True)) | {"space_before": np.array(before)}


def intersection(relaxation: JointRelaxation) -> tuple[np.ndarray, np.ndarray]:
    """Chains of the links that both sides chose, at most one per column."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    a, b = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    for i in range(1, I + 1):
        j = relaxation.a[i]
        if j > 0 and relaxation.y[i, j] and b[j] == 0:
            a[i], b[j] = j, i
    return a, b


def transitions(masks: Masks, relaxation: JointRelaxation) -> int:
    """How many transitions of both chains are left."""
    choices = masks.x[1:].sum(axis=1, dtype=np.int64)
    rows = choices[0] + (choices[:-1] * choices[1:]).sum()
    y, arcs = masks.y[:, 1:].T, relaxation.arcs
    columns = (arcs[0, 0] & y[0]).sum(dtype=np.int64)
    columns += (arcs[1:] & y[:-1, :, None] & y[1:, None, :]).sum(dtype=np.int64)
    return int(rows + columns)


def print_curves(curves: dict[str, Any]) -> None:
    print(f"\n## Figure 7: mean over {curves['averaged']} pairs, in percent\n")
    rows = [
        (
            str(t),
            *(f"{100 * curves[name][t - 1]:+.3f}" for name in CURVES[:-1]),
            f"{100 * curves['space'][t - 1]:.1f}",
        )
        for t in SHOWN
    ]
    print(markdown(["round", "bound", "bound of `exact`", "greedy", "intersection", "space left"], rows))
    print(f"\nSpace left before the first round: {100 * curves['space_before']:.1f} %", flush=True)


def plotter() -> Callable[[Path, dict[str, Any]], None]:
    """A function that draws the curves, or an error if matplotlib is missing."""
    try:
        from matplotlib import rcParams
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'dualign[plots]'") from None
    rcParams["svg.hashsalt"] = "dualign"

    def draw(path: Path, curves: dict[str, Any]) -> None:
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        scores, space = figure.subplots(1, 2)
        rounds = np.arange(1, MOST_ROUNDS + 1)
        for name, label, style, grey in (
            ("bound", "best bound", "solid", "0.0"),
            ("exact", "best bound of `exact`", "dotted", "0.0"),
            ("greedy", "best score, greedy", "dashed", "0.0"),
            ("intersection", "best score, intersection", "dashdot", "0.45"),
        ):
            scores.plot(rounds, 100 * np.array(curves[name]), linestyle=style, color=grey, label=label)
        scores.set(xlabel="rounds", ylabel="% of |optimum| from the optimum", title="(a)", xscale="log")
        scores.legend(frameon=False)
        whole = [100 * curves["space_before"], *(100 * np.array(curves["space"]))]
        space.plot(np.arange(MOST_ROUNDS + 1), whole, color="0.0")
        space.set(xlabel="rounds", ylabel="% of the transitions left", title="(b)", ylim=(0, None))
        for panel in (scores, space):
            panel.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})

    return draw
