"""The programs of a verification: inputs made by each device for itself, and outputs compared where they are.

Every program is elementwise but for the largest deviation, which is all that crosses the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from tpufft.planning.problem import Problem
from tpufft.planning.verify.lines import Line
from tpufft.planning.verify.sides import Side, counting
from tpufft.planning.verify.values import roots, uniform
from tpufft.steps import complex_dtype, real_dtype

Deviation: TypeAlias = tuple[jax.Array, jax.Array, jax.Array | bool]
"""What came, what should, and where that is known."""

_JUNK = np.uint32(0x2545F491)


class Programs:
    """Makes inputs and compares outputs of one plan.

    Parameters
    ----------
    problem : Problem
        What the plan computes.
    lines : tuple of Line
        Its axes.
    before, after : Side
        Of its input and its result.
    """

    def __init__(self, problem: Problem, lines: tuple[Line, ...], before: Side, after: Side) -> None:
        self.problem, self.lines, self.before, self.after = problem, lines, before, after
        self._kept: dict[Hashable, Any] = {}

    @property
    def real(self) -> np.dtype:
        """The dtype of the parts of all numbers."""
        return real_dtype(self.problem.result_dtype)

    # -- inputs ----------------------------------------------------------------------------------------------------

    def random(self, seed: np.uint32, guard: Line | None = None) -> jax.Array:
        """Random numbers in the place of every column; along `guard` none that would move to where nothing is."""
        if guard is not None and guard.is_closed:
            guard = None
        return self._made(("random", guard), lambda columns, seed: self._drawn(seed, columns, guard), seed)

    def combined(self, seeds: np.ndarray, factors: np.ndarray) -> jax.Array:
        """The sum of two random inputs with factors."""

        def value(columns: list[jax.Array], seeds: jax.Array, factors: jax.Array) -> jax.Array:
            return factors[0] * self._drawn(seeds[0], columns) + factors[1] * self._drawn(seeds[1], columns)

        return self._made("combined", value, seeds, factors)

    def impulse(self, seed: np.uint32, places: np.ndarray) -> jax.Array:
        """A random number for each element of the other axes, at one element of those that are transformed."""

        def value(columns: list[jax.Array], seed: jax.Array, places: jax.Array) -> jax.Array:
            found = self._amplitude(seed, columns, self.problem.dtype)
            for line, place in zip(self.lines, places, strict=True):
                found = found * (columns[line.axis] == line.column(place))
            return found

        return self._made("impulse", value, seed, places)

    def neighbours(self, seed: np.uint32, line: Line, summed: bool) -> jax.Array:
        """What a random input becomes when neighbours take the place of a line's elements."""

        def value(columns: list[jax.Array], seed: jax.Array) -> jax.Array:
            found: Any = 0
            for weight, place in line.matrix.neighbours(columns[line.axis], summed):
                others = [place if axis == line.axis else column for axis, column in enumerate(columns)]
                found = found + weight.astype(self.real) * self._drawn(seed, others, line)
            return found

        return self._made(("neighbours", line), value, seed)

    def modulated(self, seed: np.uint32, line: Line, summed: bool) -> jax.Array:
        """A random input times the factors of a line."""

        def value(columns: list[jax.Array], seed: jax.Array) -> jax.Array:
            factor = line.matrix.modulation(columns[line.axis], summed, complex_dtype(self.problem.dtype))
            return factor * self._drawn(seed, columns)

        return self._made(("modulated", line), value, seed)

    def tone(self, seed: np.uint32, number: np.int64, turn: np.ndarray) -> jax.Array:
        """A cosine of `number` periods and a phase, for a line of real numbers."""

        def value(columns: list[jax.Array], seed: jax.Array, number: jax.Array, turn: jax.Array) -> jax.Array:
            return self._amplitude(seed, columns, self.problem.dtype) * self._tone(columns, number, turn)

        return self._made("tone", value, seed, number, turn)

    # -- comparisons -----------------------------------------------------------------------------------------------

    def compare_combined(self, factors: np.ndarray, first: jax.Array, second: jax.Array, both: jax.Array) -> float:
        """Whether both is the sum of first and second with factors."""

        def deviation(rows: list[jax.Array], outputs: list[jax.Array], factors: jax.Array) -> Deviation:
            return outputs[2], factors[0] * outputs[0] + factors[1] * outputs[1], True

        return self._compared("combined", deviation, [first, second, both], factors)

    def compare_impulse(self, seed: np.uint32, places: np.ndarray, y: jax.Array) -> float:
        """Whether the result is made of the columns at the impulse."""

        def deviation(rows: list[jax.Array], outputs: list[jax.Array], seed: jax.Array, places: jax.Array) -> Deviation:
            wanted = self._amplitude(seed, rows, self.problem.dtype)
            for line, place in zip(self.lines, places, strict=True):
                entry = line.matrix.entry(rows[line.axis], line.column(place), self._complex)
                wanted = wanted * (line.matrix.scale * entry).astype(entry.dtype)
            return outputs[0], wanted if self._gives_complex else wanted.real, True

        return self._compared("impulse", deviation, [y], seed, places)

    def compare_neighbours(self, line: Line, summed: bool, plain: jax.Array, moved: jax.Array) -> float:
        """Whether neighbours in the input are factors in the result."""

        def deviation(rows: list[jax.Array], outputs: list[jax.Array]) -> Deviation:
            return outputs[1], line.matrix.factor(rows[line.axis], summed, self._complex) * outputs[0], True

        return self._compared(("neighbours", line), deviation, [plain, moved])

    def compare_modulated(self, line: Line, modulated: jax.Array, rolled: Mapping[int, jax.Array]) -> float:
        """Whether factors in the input are neighbours in the result.

        Parameters
        ----------
        line : Line
            The axis.
        modulated : jax.Array
            The result of the input with its factors.
        rolled : mapping
            The result of the input itself, rolled by one bin, forth (1) or back (-1) or both.
        """
        axis, steps, size = line.axis, tuple(rolled), self.after.layout.shape[line.axis]

        def deviation(rows: list[jax.Array], outputs: list[jax.Array]) -> Deviation:
            bins = self.after.bins()[axis]
            here = line.row_factor(bins, self.real)
            wanted: Any = 0
            for output, step in zip(outputs[1:], steps, strict=True):
                # The factors that were taken off are those of the place, not of what was rolled there.
                there = line.row_factor(jnp.remainder(bins - step, size), self.real)
                wanted = wanted + self.after.neighbour(output, axis, step) * (here / there)
            return outputs[0], wanted, line.matrix.has_neighbours(rows[axis], len(steps) > 1)

        return self._compared(("modulated", line), deviation, [modulated, *rolled.values()])

    def compare_inputs(self, first: jax.Array, second: jax.Array) -> float:
        """Whether two inputs are the same, their factors taken off."""

        def program(first: jax.Array, second: jax.Array) -> jax.Array:
            factors = jnp.ones((1,) * self.before.layout.rank, self.real)
            for line in self.lines:
                factors = factors * line.column_factor(self.before.bins()[line.axis], self.real)
            return _largest_off(self.before, first * factors, second * factors, True)

        return float(self._run("inputs", program, self._scalar, first, second))

    def compare_tone(
        self, seed: np.uint32, number: np.int64, turn: np.ndarray, eigenvalue: np.ndarray, y: jax.Array
    ) -> float:
        """Whether a tone comes back times its eigenvalue."""

        def deviation(
            rows: list[jax.Array],
            outputs: list[jax.Array],
            seed: jax.Array,
            number: jax.Array,
            turn: jax.Array,
            eigenvalue: jax.Array,
        ) -> Deviation:
            product = jnp.stack(
                [turn[0] * eigenvalue[0] - turn[1] * eigenvalue[1], turn[0] * eigenvalue[1] + turn[1] * eigenvalue[0]]
            )
            return outputs[0], self._amplitude(seed, rows, self.problem.dtype) * self._tone(rows, number, product), True

        return self._compared("tone", deviation, [y], seed, number, turn, eigenvalue)

    # -- what they are made of -------------------------------------------------------------------------------------

    @property
    def _complex(self) -> np.dtype:
        return complex_dtype(self.problem.result_dtype)

    @property
    def _gives_complex(self) -> bool:
        return self.problem.result_dtype.kind == "c"

    def _drawn(self, seed: jax.Array, columns: list[jax.Array], guard: Line | None = None) -> jax.Array:
        drawn = uniform(seed, columns, self.problem.dtype)
        return drawn if guard is None else drawn * self._stays(guard, columns[guard.axis])

    def _stays(self, line: Line, column: jax.Array) -> jax.Array:
        """Where all neighbours are transformed too, and known."""
        summed = not self._gives_complex
        found = line.matrix.may_move(column)
        for place in (column, *line.matrix.reached(column, summed)):
            found = found & (line.column(place) < line.filled)
        return found

    def _amplitude(self, seed: jax.Array, places: list[jax.Array], dtype: np.dtype) -> jax.Array:
        axes = {line.axis for line in self.lines}
        batch = [jnp.zeros((1,) * place.ndim, np.int64) if axis in axes else place for axis, place in enumerate(places)]
        return uniform(seed, batch, dtype)

    def _tone(self, places: list[jax.Array], number: jax.Array, turn: jax.Array) -> jax.Array:
        (line,) = self.lines
        root = roots(line.matrix.size, -number * places[line.axis], self._complex)
        return turn[0].astype(self.real) * root.real - turn[1].astype(self.real) * root.imag

    def _made(self, key: Hashable, value: Callable[..., jax.Array], *arguments: Any) -> jax.Array:
        """An input of the plan: values in the place of what is transformed, and junk where nothing may be read."""
        layout = self.before.layout

        def program(*arguments: jax.Array) -> jax.Array:
            positions, columns = self.before.positions(), self.before.bins()
            factors = jnp.ones((1,) * layout.rank, self.real)
            read = self.before.inside()
            for line in self.lines:
                factors = factors * line.column_factor(columns[line.axis], self.real)
                read = read & (columns[line.axis] < line.filled)
                columns[line.axis] = line.column(columns[line.axis])
            junk = uniform(_JUNK ^ arguments[0].ravel()[0].astype(np.uint32), positions, layout.dtype)
            found = jnp.where(read, value(columns, *arguments) / factors, junk)
            return jnp.broadcast_to(found, layout.stored_shape).astype(layout.dtype)

        return self._run(("made", key), program, self.before.inner.sharding, *arguments)

    def _compared(
        self, key: Hashable, deviation: Callable[..., tuple], outputs: list[jax.Array], *arguments: Any
    ) -> float:
        """The largest deviation of a result, its factors taken off, relative to the largest value in sight."""

        def program(outputs: list[jax.Array], *arguments: jax.Array) -> jax.Array:
            rows = self.after.bins()
            factors = jnp.ones((1,) * self.after.layout.rank, self.real)
            for line in self.lines:
                factors = factors * line.row_factor(rows[line.axis], self.real)
                rows[line.axis] = line.row(rows[line.axis])
            outputs = [output / factors for output in outputs]
            got, wanted, known = deviation(rows, outputs, *arguments)
            return _largest_off(self.after, got, wanted, known, *outputs)

        return float(self._run(("compared", key), program, self._scalar, outputs, *arguments))

    @property
    def _scalar(self) -> NamedSharding:
        return NamedSharding(self.after.inner.mesh, PartitionSpec())  # type: ignore[arg-type]

    def _run(self, key: Hashable, program: Callable[..., jax.Array], sharding: Sharding, *arguments: Any) -> jax.Array:
        with counting(self.before):
            if key not in self._kept:
                self._kept[key] = jax.jit(program, out_shardings=sharding)
            return self._kept[key](*arguments).block_until_ready()


def _largest_off(
    side: Side, got: jax.Array, wanted: jax.Array, known: jax.Array | bool, *others: jax.Array
) -> jax.Array:
    """The largest distance of what is known, relative to the largest value of all; not a number where one is none."""
    inside = side.inside()

    def largest(values: jax.Array, where: jax.Array) -> jax.Array:
        # A maximum over devices may lose a NaN, but not an infinity.
        return jnp.max(jnp.where(jnp.isnan(values), jnp.inf, jnp.abs(values)), where=where, initial=0)

    scale = jnp.max(jnp.stack([largest(one, inside) for one in (got, wanted, *others)]))
    off = largest(got - wanted, inside & known)
    return jnp.where(scale == 0, off, off / scale)
