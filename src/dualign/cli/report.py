"""The result of `dualign evaluate` as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from dualign.measure.bootstrap import Interval
from dualign.measure.breakdown import Breakdown
from dualign.measure.quality import Evaluation
from dualign.measure.signature import signature


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured; `interval` and `breakdown` are None where they were not asked for."""

    evaluation: Evaluation
    interval: Interval | None
    breakdown: Breakdown | None
    rare: int
    """A word of the breakdown is rare if it occurs at most so often."""

    def as_json(self) -> str:
        """One JSON object; rates are fractions, and what was not asked for is null."""
        content: dict[str, Any] = self.evaluation.as_dict()
        content["interval"] = None if self.interval is None else asdict(self.interval)
        content["breakdown"] = (
            None if self.breakdown is None else {"rare_at_most": self.rare, **asdict(self.breakdown)}
        )
        content["signature"] = signature(self.evaluation, self.interval)
        return json.dumps(content, allow_nan=False)

    def as_text(self) -> str:
        """Lines for people; rates are per cent."""
        whole = self.evaluation
        lines = [f"AER        {_percent(whole.aer)}{self._interval()}"]
        lines += [
            f"{name:10s} {_percent(rate)}"
            for name, rate in (("precision", whole.precision), ("recall", whole.recall), ("F1", whole.f1))
        ]
        if self.breakdown is not None:
            lines += ["", *self._breakdown(self.breakdown)]
        return "\n".join([*lines, "", signature(whole, self.interval)])

    def _interval(self) -> str:
        if self.interval is None:
            return ""
        low, high = self.interval.low, self.interval.high
        return (
            f"  {100 * self.interval.level:g} % interval {_percent(low).strip()} to {_percent(high).strip()}"
        )

    def _breakdown(self, breakdown: Breakdown) -> list[str]:
        rows = [
            (f"source word rare (at most {self.rare})", breakdown.source.rare),
            ("source word common", breakdown.source.common),
            (f"target word rare (at most {self.rare})", breakdown.target.rare),
            ("target word common", breakdown.target.common),
        ]
        width = max(len(name) for name, _ in rows)
        head = f"{'':{width}s}     AER  precision  recall      F1    links     sure"
        return [head] + [
            f"{name:{width}s}  {_percent(part.aer)}     {_percent(part.precision)}  {_percent(part.recall)}  "
            f"{_percent(part.f1)}  {part.links:7d}  {part.sure:7d}"
            for name, part in rows
        ]


def _percent(rate: float) -> str:
    return f"{100 * rate:6.2f}"
