"""The Ergün tests: whether a plan computes its transform, told without a reference and without gathering anything."""

from tpufft.planning.verify.report import Check, Verification
from tpufft.planning.verify.rounds import verify

__all__ = ["Check", "Verification", "verify"]
