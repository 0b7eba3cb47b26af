"""Linear and integer programs for HiGHS: built in blocks, solved on one thread, within a time limit.

**What a bound of HiGHS proves.** HiGHS compares objectives with absolute tolerances: it drops a part of the
search whose bound is less than `TOLERANCE` above the best solution, and takes reduced costs as small as that
for 0. So objectives are multiplied by a power of two, which changes no digit, until their largest number is
about a million, and bounds are raised by what the tolerance allows, in the search and for every variable
with a limit.
Larger ones stay: made smaller, their differences would be below the tolerance.

**Time limits.** HiGHS looks at its clock, and calls back, when it comes to it: a quarter of a second late on
ten words, many seconds late on forty. A thread that runs it can be neither stopped nor left behind when the
program ends. So whoever has a time limit has HiGHS run in a process of its own, which reports each better
solution and bound, and is killed when its time is over: what it has reported by then is the answer.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from math import frexp, inf, ldexp
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock

RATE = 1_000_000
"""Entries of a program that can be built, handed over and looked through in a second, with some to spare."""

MAGNITUDE = 20
"""Binary digits before the point of the largest cost that HiGHS is given, if it has not more by itself."""

TOLERANCE = 1e-7
"""What HiGHS takes for 0 in an objective."""

LATE = 0.1, 0.05
"""HiGHS may exceed its time limit by these seconds, or this share of it; then its process is killed."""

LONGEST_WAIT = 1e6
"""Seconds; what waits longer is not waited for."""


def fits(entries: float, seconds: float) -> bool:
    """Whether a program with that many entries can be built and begun within that time."""
    return entries <= RATE * seconds


class Solved(NamedTuple):
    """How HiGHS ended: the values of the variables, if it found any, and an upper bound.

    The bound is −∞ if there is no solution at all. `ended` is false if the time limit stopped the search, or
    numerical trouble.
    """

    values: Array | None
    bound: float
    ended: bool
    nodes: int = 0
    iterations: int = 0


class LinearProgram(NamedTuple):
    """Maximise `costs · v`, 0 ≤ v ≤ upper, v whole where `whole`, low ≤ A v ≤ high; A by columns."""

    costs: Array
    upper: Array
    whole: Array
    low: Array
    high: Array
    start: Array
    rows: Array
    value: Array


class Program:
    """Maximise `costs · v` over 0 ≤ v ≤ upper, some v whole numbers, with `low ≤ A v ≤ high`.

    Variables, constraints and entries of A are added in blocks before the first `solve`; afterwards
    `at_most` may still add single constraints, and `solve` goes on from there.
    """

    def __init__(self) -> None:
        self.variables = self.constraints = 0
        self._columns: list[tuple[Array, ...]] = [(np.zeros(0), np.zeros(0), np.zeros(0, bool))]
        self._rows: list[tuple[Array, ...]] = [(np.zeros(0), np.zeros(0))]
        self._entries: list[tuple[Array, ...]] = [(np.zeros(0, int), np.zeros(0, int), np.zeros(0))]
        self._solver: Solver | ChildSolver | None = None
        self._scale = 1.0

    def add_variables(
        self, costs: Sequence[float] | Array, *, whole: bool = False, upper: float = 1.0
    ) -> Array:
        """Their numbers."""
        count, first = len(costs), self.variables
        self.variables += count
        self._columns.append((np.asarray(costs, np.float64), np.full(count, upper), np.full(count, whole)))
        return np.arange(first, self.variables)

    def add_constraints(self, low: Sequence[float] | Array, high: Sequence[float] | Array) -> Array:
        """Their numbers; no entries yet."""
        first = self.constraints
        self.constraints += len(low)
        self._rows.append((np.asarray(low, np.float64), np.asarray(high, np.float64)))
        return np.arange(first, self.constraints)

    def add_entries(self, rows: Array, columns: Array, values: float | Array) -> None:
        """`A[row, column] = value` for each of these pairs."""
        self._entries.append((rows, columns, np.broadcast_to(np.asarray(values, np.float64), len(rows))))

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add the constraint `Σ coefficients · v[columns] ≤ bound`."""
        if self._solver is None:
            (row,) = self.add_constraints([-inf], [bound])
            self.add_entries(np.full(len(columns), row), columns, coefficients)
        else:
            self._solver.at_most(bound, columns, coefficients)

    def solve(self, seconds: float = inf, gap: float = 1e-9) -> Solved:
        """The best solution found within that many seconds; the search stops at a gap of at most `gap`."""
        clock = Clock(seconds)
        if self._solver is None:
            if not fits(sum(len(rows) for rows, *_ in self._entries), seconds):
                return Solved(None, inf, False)
            if not self.variables:
                low, high = map(np.concatenate, zip(*self._rows, strict=True))
                possible = (low <= 0).all() and (high >= 0).all()
                return Solved(np.zeros(0), 0.0, True) if possible else Solved(None, -inf, True)
            self._solver = Solver(self._model()) if seconds == inf else ChildSolver(self._model())
        found = self._solver.solve(max(0.0, clock.left), gap * self._scale)
        limits = np.concatenate([upper for _, upper, _ in self._columns])
        missed = TOLERANCE * (1 + float(limits[limits < inf].sum()))
        return found._replace(bound=(found.bound + missed) / self._scale)

    def _model(self) -> LinearProgram:
        costs, upper, whole = map(np.concatenate, zip(*self._columns, strict=True))
        rows, columns, values = map(np.concatenate, zip(*self._entries, strict=True))
        low, high = map(np.concatenate, zip(*self._rows, strict=True))
        _, exponent = frexp(np.abs(costs).max())
        self._scale = ldexp(1.0, min(max(0, MAGNITUDE - exponent), 1000))
        order = np.argsort(columns, kind="stable")
        start = np.searchsorted(columns[order], np.arange(self.variables + 1))
        return LinearProgram(costs * self._scale, upper, whole, low, high, start, rows[order], values[order])


class Solver:
    """HiGHS with a program; constraints may be added between two runs."""

    def __init__(self, model: LinearProgram) -> None:
        self.highspy: Any = import_module("highspy")
        self.whole = bool(model.whole.any())
        self.solver = self.highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
            self.solver.setOptionValue(name, value)
        for name in ("mip_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.solver.setOptionValue(name, TOLERANCE)
        self.solver.passModel(self._program(model))

    def _program(self, model: LinearProgram) -> Any:
        highspy = self.highspy
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(model.costs), len(model.low)
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_, program.col_upper_ = model.costs, model.upper
        program.col_lower_ = np.zeros(len(model.costs))
        program.row_lower_, program.row_upper_ = model.low, model.high
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = model.start.astype(np.int32)
        program.a_matrix_.index_ = model.rows.astype(np.int32)
        program.a_matrix_.value_ = model.value
        if self.whole:
            kinds = np.array([highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger])
            program.integrality_ = kinds[model.whole.astype(np.int64)].tolist()
        return program

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add the constraint `Σ coefficients · v[columns] ≤ bound`."""
        columns, coefficients = columns.astype(np.int32), coefficients.astype(np.float64)
        self.solver.addRow(-inf, bound, len(columns), columns, coefficients)

    def solve(self, seconds: float, gap: float, tell: Callable[[Solved], None] | None = None) -> Solved:
        """The best solution found in that time, to within `gap`; `tell` of each that improves on the last."""
        self.solver.setOptionValue("mip_abs_gap", gap)
        self.solver.setOptionValue("time_limit", seconds)
        if tell is not None and self.whole:
            self._report_to(tell)
        self.solver.run()
        highspy, solver = self.highspy, self.solver
        status, info, statuses = solver.getModelStatus(), solver.getInfo(), highspy.HighsModelStatus
        counts = max(0, int(info.mip_node_count)), max(0, int(info.simplex_iteration_count))
        # No objective here grows without limit, so "unbounded or infeasible" means infeasible.
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            return Solved(None, -inf, True, *counts)
        if status not in (statuses.kOptimal, statuses.kTimeLimit):
            return Solved(None, inf, False, *counts)  # numerical trouble
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(solver.getSolution().col_value) if feasible else None
        optimal = status == statuses.kOptimal
        bound = info.mip_dual_bound if self.whole else info.objective_function_value if optimal else inf
        return Solved(values, float(bound), optimal, *counts)

    def _report_to(self, tell: Callable[[Solved], None]) -> None:
        kinds = self.highspy.cb.HighsCallbackType
        best = Solved(None, inf, False)

        def look(kind: Any, message: str, found: Any, answer: Any, data: Any) -> None:
            nonlocal best
            if improves := kind == kinds.kCallbackMipImprovingSolution:
                best = best._replace(values=np.array(found.mip_solution))
            if improves or found.mip_dual_bound < best.bound:
                bound, nodes = min(best.bound, found.mip_dual_bound), max(0, int(found.mip_node_count))
                best = best._replace(bound=bound, nodes=nodes)
                tell(best)

        self.solver.setCallback(look, None)
        for kind in (kinds.kCallbackMipImprovingSolution, kinds.kCallbackMipInterrupt):
            self.solver.startCallback(kind)


class ChildSolver:
    """A `Solver` in a process of its own, which is killed if it does not end in time."""

    def __init__(self, model: LinearProgram) -> None:
        self._orders: list[tuple[Any, ...]] = [("load", model)]
        self._sent = 0
        self._child: _Child | None = None

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add a constraint before the next run."""
        self._orders.append(("at_most", bound, columns, coefficients))

    def solve(self, seconds: float, gap: float) -> Solved:
        """As `Solver.solve`, but never much longer; after it had to be killed, the next run begins anew."""
        clock = Clock(seconds)
        if self._child is None or self._child.ended:
            with _lock:
                self._child, self._sent = _idle.pop() if _idle else _Child(), 0
            finalize(self, _give_back, self._child)
        child = self._child
        try:
            if not child.is_ready(clock.left):
                return Solved(None, inf, False)
            for order in self._orders[self._sent :]:
                child.send(order)
            self._sent = len(self._orders)
            child.send(("solve", max(0.0, clock.left), gap))
            return child.best(clock.left + max(LATE[0], LATE[1] * seconds))
        except BaseException:
            child.end()
            raise


class _Child:
    """A process that runs `serve`, and a thread that takes what it sends."""

    def __init__(self) -> None:
        program = f"import sys; sys.path[:] = {json.dumps(sys.path)}; import {__name__} as here; here.serve()"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process: Any = subprocess.Popen([sys.executable, "-c", program], **pipes)  # type: ignore[call-overload]
        self._received: SimpleQueue[Any] = SimpleQueue()
        self._greeted = self.ended = False
        Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._received.put(pickle.load(self._process.stdout))
        self._received.put(None)

    def is_ready(self, seconds: float) -> bool:
        """Whether it has started within that time; one that has not is not waited for again."""
        if not self._greeted:
            self._greeted = self._next(seconds) == "ready"
        return self._greeted

    def _next(self, seconds: float) -> Any:
        """What it sends next; None if it has ended or says nothing for so long."""
        try:
            return self._received.get(timeout=min(max(0.0, seconds), LONGEST_WAIT))
        except Empty:
            return None

    def send(self, order: tuple[Any, ...]) -> None:
        """Give it something to do; a process that has died is found out by `best`."""
        with suppress(OSError):
            pickle.dump(order, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def best(self, seconds: float) -> Solved:
        """Its answer, or the best that it reported within that time."""
        clock, last = Clock(max(1e-3, seconds)), Solved(None, inf, False)
        while (found := self._next(clock.left)) is not None:
            kind, last = found
            if kind == "answer":
                return last
        self.end()
        return last

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self.ended = True
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()
        self._process.wait()


_idle: list[_Child] = []
_lock = Lock()


def _give_back(child: _Child) -> None:
    """Keep a process for the next program, unless it had to be killed."""
    if not child.ended:
        with _lock:
            _idle.append(child)


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


def serve() -> None:
    """Do what comes on standard input, and answer on standard output, until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process ends it
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    import_module("highspy")

    def send(message: Any) -> None:
        pickle.dump(message, output, pickle.HIGHEST_PROTOCOL)
        output.flush()

    send("ready")
    solver: Any = None
    with suppress(EOFError, BrokenPipeError):
        while True:
            order, *rest = pickle.load(sys.stdin.buffer)
            if order == "load":
                solver = Solver(*rest)
            elif order == "at_most":
                solver.at_most(*rest)
            else:
                send(("answer", solver.solve(*rest, lambda outcome: send(("report", outcome)))))
