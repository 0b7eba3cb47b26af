"""HiGHS on one program, in this process or in one of its own that can be killed.

HiGHS looks at its clock, and calls back, when it comes to it: a quarter of a second late on ten words, many
seconds late on forty. A thread that runs it can be neither stopped nor left behind when the program ends. So
whoever has a time limit has HiGHS run in a process of its own, which reports each better solution and bound,
and is killed when its time is over: what it has reported by then is the answer.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from math import inf
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock

TOLERANCE = 1e-7
"""What HiGHS takes for 0 in an objective."""

LATE = 0.1, 0.05
"""HiGHS may exceed its time limit by these seconds, or this share of it; then its process is killed."""


LONGEST_WAIT = 1e6
"""Seconds; what waits longer is not waited for."""


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


class Outcome(NamedTuple):
    """How far HiGHS has come: "optimal", "infeasible", "empty", "stopped" or "unknown"; values, and bound."""

    status: str
    values: Array | None
    bound: float
    nodes: int
    iterations: int


NOTHING = Outcome("stopped", None, inf, 0, 0)

Tell = Callable[[Outcome], None]


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

    def solve(self, seconds: float, gap: float, tell: Tell | None = None) -> Outcome:
        """The best solution found in that time, to within `gap`; `tell` of each that improves on the last."""
        self.solver.setOptionValue("mip_abs_gap", gap)
        self.solver.setOptionValue("time_limit", seconds)
        if tell is not None and self.whole:
            self._report_to(tell)
        self.solver.run()
        return self._outcome()

    def _report_to(self, tell: Tell) -> None:
        kinds = self.highspy.cb.HighsCallbackType
        best: list[Any] = [None, inf]

        def look(kind: Any, message: str, found: Any, answer: Any, data: Any) -> None:
            if improves := kind == kinds.kCallbackMipImprovingSolution:
                best[0] = np.array(found.mip_solution)
            if improves or found.mip_dual_bound < best[1]:
                best[1] = min(best[1], found.mip_dual_bound)
                tell(Outcome("stopped", best[0], best[1], max(0, int(found.mip_node_count)), 0))

        self.solver.setCallback(look, None)
        for kind in (kinds.kCallbackMipImprovingSolution, kinds.kCallbackMipInterrupt):
            self.solver.startCallback(kind)

    def _outcome(self) -> Outcome:
        highspy, solver = self.highspy, self.solver
        status, info, statuses = solver.getModelStatus(), solver.getInfo(), highspy.HighsModelStatus
        counts = max(0, int(info.mip_node_count)), max(0, int(info.simplex_iteration_count))
        if status == statuses.kModelEmpty:
            return Outcome("empty", None, inf, *counts)
        # No objective here grows without limit, so "unbounded or infeasible" means infeasible.
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            return Outcome("infeasible", None, -inf, *counts)
        if status not in (statuses.kOptimal, statuses.kTimeLimit):
            return Outcome("unknown", None, inf, *counts)  # numerical trouble
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(solver.getSolution().col_value) if feasible else None
        optimal = status == statuses.kOptimal
        if self.whole:
            bound = float(info.mip_dual_bound)
        else:
            bound = float(info.objective_function_value) if optimal else inf
        return Outcome("optimal" if optimal else "stopped", values, bound, *counts)


class ChildSolver:
    """A `Solver` in a process of its own, which is killed if it does not end in time."""

    def __init__(self, model: LinearProgram) -> None:
        self._orders: list[tuple[Any, ...]] = [("load", model)]
        self._sent = 0
        self._child: _Child | None = None

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add a constraint before the next run."""
        self._orders.append(("at_most", bound, columns, coefficients))

    def solve(self, seconds: float, gap: float) -> Outcome:
        """As `Solver.solve`, but never much longer; after it had to be killed, the next run begins anew."""
        clock = Clock(seconds)
        if self._child is None or self._child.ended:
            self._child, self._sent = _taken(), 0
            finalize(self, _give_back, self._child)
        child = self._child
        try:
            if not child.is_ready(clock.left):
                return NOTHING
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

    def best(self, seconds: float) -> Outcome:
        """Its answer, or the best that it reported within that time."""
        clock, last = Clock(max(1e-3, seconds)), NOTHING
        while (found := self._next(clock.left)) is not None:
            kind, outcome = found
            if kind == "answer":
                return Outcome(*outcome)
            last = Outcome(*outcome)
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


def _taken() -> _Child:
    """A process that nobody else uses now."""
    with _lock:
        return _idle.pop() if _idle else _Child()


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
                answer = solver.solve(*rest, lambda outcome: send(("report", tuple(outcome))))
                send(("answer", tuple(answer)))
