"""The program of a mapped function for one form of call: arrays in, chunks to the function, results joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from tpufft.collectives import make_varying
from tpufft.execution import mapped
from tpufft.mapping.outputs import group_specs, grouped, put_together
from tpufft.mapping.signature import Form
from tpufft.mapping.where import declared
from tpufft.meshes import AnyMesh


@dataclass(frozen=True, eq=False)
class Program:
    """A function of the flat arrays of a call.

    Parameters
    ----------
    fn : callable
        The caller's, of one device's chunks.
    name : str
        How messages name it.
    mesh : Mesh
        The devices; all its axes are mapped.
    form : Form
        Which argument is what.
    trees : sequence
        The structure of every argument.
    specs : sequence of PartitionSpec
        How every array is split.
    out_axis : pytree
        The caller's.
    """

    fn: Callable[..., Any]
    name: str
    mesh: AnyMesh
    form: Form
    trees: Sequence[Any]
    specs: Sequence[PartitionSpec]
    out_axis: Any

    def __call__(self, *arrays: jax.Array) -> Any:
        """The result, every array of it over all devices."""
        recipes: list[Any] = []

        def body(*chunks: jax.Array) -> Any:
            # What is whole differs in type too, so that a derivative in the function is this device's own.
            varying = [make_varying(chunk, self.mesh.axis_names) for chunk in chunks]
            groups, recipe = grouped(self._applied(varying), self.out_axis, self.name, self.mesh)
            recipes.append(recipe)
            return groups

        targets = [NamedSharding(self.mesh, spec) for spec in self.specs]  # type: ignore[arg-type]
        function = mapped(body, self.mesh, tuple(self.specs), group_specs(self.mesh))
        groups = function(*map(declared, arrays, targets))
        return put_together(groups, recipes[-1])

    def jitted(self) -> Callable[..., Any]:
        """The same, compiled when it is called, by the function's own name."""

        def run(*arrays: jax.Array) -> Any:
            return self(*arrays)

        run.__name__ = self.name
        return jax.jit(run)

    def _applied(self, chunks: Sequence[jax.Array]) -> Any:
        values, start = [], 0
        for tree in self.trees:
            values.append(jax.tree.unflatten(tree, chunks[start : start + tree.num_leaves]))
            start += tree.num_leaves
        axes = tuple(argument.batch for argument in self.form.arguments)
        if all(axis is None for axis in axes):
            return self._called(*values)
        return jax.vmap(self._called, in_axes=axes)(*values)

    def _called(self, *values: Any) -> Any:
        by_position = self.form.positional
        return self.fn(*values[:by_position], **dict(zip(self.form.keywords, values[by_position:], strict=True)))
