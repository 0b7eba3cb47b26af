"""What `bidirectional` refuses, and how it says so."""

from __future__ import annotations

import numpy as np
import pytest

import dualign

THETA, OMEGA = np.zeros((2, 4, 4)), np.zeros((3, 3, 3))


def with_value(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed[1, 2, 0] = value
    return changed


@pytest.mark.parametrize(
    ("theta", "omega", "message"),
    [
        (np.zeros((2, 3, 3)), OMEGA, r"theta has shape \(2, 3, 3\).*must be \(2, 4, 4\)"),
        (np.zeros((2, 4, 3)), OMEGA, r"theta has shape \(2, 4, 3\)"),
        (THETA, np.zeros((3, 4, 4)), r"omega has shape \(3, 4, 4\).*must be \(3, 3, 3\)"),
        (np.zeros((2, 4)), OMEGA, "theta has shape .* three dimensions"),
        (THETA, np.zeros((3, 0, 3)), "omega has shape .* only the first may be empty"),
        (THETA, np.zeros((0, 3, 3)), r"theta has shape \(2, 4, 4\).*must be \(2, 1, 1\)"),
        (with_value(THETA, np.nan), OMEGA, r"theta\[1, 2, 0\] is nan"),
        (THETA, with_value(OMEGA, np.inf), r"omega\[1, 2, 0\] is inf"),
        (with_value(THETA, 1e13), OMEGA, "theta has a score of size 1e"),
        ([["a"]], OMEGA, "theta is not an array of numbers"),
        (THETA + 1j, OMEGA, "theta is not an array of numbers"),
        (THETA, [[1.0], [2.0, 3.0]], "omega is not an array of numbers"),
    ],
)
def test_scores_that_are_none(theta, omega, message):
    with pytest.raises(dualign.DataError, match=message):
        dualign.decode.bidirectional(theta, omega)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": 0.5}, "penalty=0.5 must be a number at most 0"),
        ({"penalty": None}, "penalty=None must be a number at most 0"),
        ({"penalty": "-1"}, 'penalty="-1" must be a number at most 0'),
        ({"agreement": "soft", "unsupported": "-2"}, 'unsupported="-2" must be a number at most penalty=-1'),
        ({"time_limit": "1"}, 'time_limit="1" must be a number of seconds'),
        ({"penalty": np.nan}, "penalty=nan"),
        ({"agreement": "half"}, 'agreement="half" is not one of full, adjacent, soft'),
        ({"agreement": "soft"}, "unsupported=None must be a number"),
        ({"agreement": "soft", "unsupported": -0.5}, "unsupported=-0.5 must be a number at most penalty=-1"),
        ({"agreement": "soft", "unsupported": np.nan}, "unsupported=nan"),
        ({"unsupported": -2.0}, 'unsupported=-2.0 is for agreement="soft" only'),
        ({"method": "magic"}, 'method="magic" is not one of exact, relax, constrain, ilp, dual-'),
        ({"time_limit": 0}, "time_limit=0"),
        ({"time_limit": -1.0}, "time_limit=-1.0"),
        ({"time_limit": np.nan}, "time_limit=nan"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(dualign.UsageError, match=message):
        dualign.decode.bidirectional(THETA, OMEGA, **options)


def test_both_kinds_of_error_are_value_errors():
    assert issubclass(dualign.DataError, ValueError)
    assert issubclass(dualign.UsageError, ValueError)
