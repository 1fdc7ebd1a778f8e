"""What a compiled program says of itself: collectives that are executed, and peak memory."""

from __future__ import annotations

import re
from collections import Counter

from jax.stages import Compiled

from tpufft import native

COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
)

SHARED_EXCHANGE = "shared-exchange"
"""How an exchange by copies in shared memory is counted, which is a call of ours and no opcode."""

_COMPUTATION = re.compile(r"^(?:ENTRY\s+)?%?([\w.\-]+)\s.*\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT\s+)?%?([\w.\-]+)\s*=\s*(.*)$")
_OPCODE = re.compile(r"(?:^|[\s)}\]])([a-z][a-z0-9\-]*)\(")
_CALLED = re.compile(
    r"(?:body|condition|to_apply|calls|branch_computations|called_computations)=(?:\{([\w.\-, %]+)\}|%?([\w.\-]+))"
)
_TRIPS = re.compile(r'known_trip_count"?:\s*\{\s*"?n"?:\s*"?(\d+)')


def executed_collectives(text: str) -> dict[str, int]:
    """How often each collective opcode is executed: its count in the text times the trip counts of enclosing loops.

    Exchanges by copies in shared memory count as ``shared-exchange``.

    Raises
    ------
    ValueError
        For a collective in a loop whose trip count the compiler does not tell.
    """
    computations, entry = _parse(text)
    total: Counter[str] = Counter()
    _count(computations, entry, 1, total)
    return dict(sorted(total.items()))


def peak_bytes(compiled: Compiled) -> int:
    """Argument, output and temporary bytes of one device, less those that are aliased."""
    memory = compiled.memory_analysis()
    if memory is None:
        raise RuntimeError("the compiler of this platform does not tell how much memory a program takes")
    return int(
        memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes
    )


def _parse(text: str) -> tuple[dict[str, list[str]], str]:
    computations: dict[str, list[str]] = {}
    entry, current = "", None
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head and not line.startswith(" "):
            current = head.group(1)
            computations[current] = []
            if line.startswith("ENTRY"):
                entry = current
        elif current is not None and _INSTRUCTION.match(line):
            computations[current].append(line)
    return computations, entry


def _count(computations: dict[str, list[str]], name: str, times: int, total: Counter[str]) -> None:
    for line in computations.get(name, ()):
        right = line.split("=", 1)[1]
        opcode = _opcode(right)
        base = opcode.removesuffix("-start")
        if opcode == "custom-call" and f'custom_call_target="{native.SHARED_EXCHANGE}"' in right:
            total[SHARED_EXCHANGE] += times
        elif base in COLLECTIVES:
            total[base] += times
        called = [part.strip().lstrip("%") for pair in _CALLED.findall(right) for part in "".join(pair).split(",")]
        trips = 1
        if opcode == "while":
            known = _TRIPS.search(right)
            if known is None:
                inside: Counter[str] = Counter()
                for part in called:
                    _count(computations, part, 1, inside)
                if inside:
                    raise ValueError(f"a loop of unknown length executes {dict(inside)}: {line.strip()[:120]}")
                continue
            trips = int(known.group(1))
        # The start of an asynchronous wrapper counts what it wraps; its update and its end name it again.
        if base not in COLLECTIVES and opcode not in ("async-update", "async-done"):
            for part in called:
                _count(computations, part, times * trips, total)


def _opcode(right: str) -> str:
    match = _OPCODE.search(right)
    return match.group(1) if match else ""
