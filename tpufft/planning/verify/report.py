"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One identity along one axis.

    Parameters
    ----------
    test : str
        ``linearity``, ``impulse``, ``shift in time``, ``shift in frequency``; ``tone``, ``shift`` and ``round trip``
        of Hankel transforms, ``order`` of shifts.
    axis : int, optional
        None: of all axes together.
    error : float
        The largest deviation of all rounds, relative to the largest value.
    limit : float
        What rounding may explain.
    """

    test: str
    axis: int | None
    error: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the error is within the limit; what is no number is not."""
        return self.error <= self.limit


@dataclass(frozen=True)
class Verification:
    """What :func:`tpufft.verify` found; true if all is well, and a table when printed.

    Parameters
    ----------
    plan : str
        The plan in a few words.
    checks : tuple of Check
        One for each identity and axis.
    rounds : int
        How often each was tried with other random numbers.
    seed : int
        Of the random numbers.
    """

    plan: str
    checks: tuple[Check, ...]
    rounds: int
    seed: int

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def raise_if_failed(self) -> None:
        """Raise if a check failed.

        Raises
        ------
        ArithmeticError
            With the checks that failed.
        """
        failed = [_words(check) for check in self.checks if not check.passed]
        if failed:
            raise ArithmeticError(f"{self.plan} is wrong: {'; '.join(failed)}")

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        rows = [("test", "axis", "largest error", "limit", "")]
        rows += [
            (
                check.test,
                "all" if check.axis is None else str(check.axis),
                f"{check.error:.1e}",
                f"{check.limit:.0e}",
                "passed" if check.passed else "FAILED",
            )
            for check in self.checks
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        table = [
            "  ".join(
                (
                    row[0].ljust(widths[0]),
                    *(cell.rjust(width) for cell, width in zip(row[1:4], widths[1:], strict=False)),
                    row[4],
                )
            ).rstrip()
            for row in rows
        ]
        verdict = "passed" if self.passed else "FAILED"
        return "\n".join([self.plan, *table, f"{verdict} in {self.rounds} rounds from seed {self.seed}"])


def _words(check: Check) -> str:
    where = "" if check.axis is None else f" along axis {check.axis}"
    return f"{check.test}{where} is off by {check.error:.1e}, more than {check.limit:.0e}"
