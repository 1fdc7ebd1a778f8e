"""Calls of a mapped function: what is to be done is worked out once for every kind of call."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import NamedSharding

from tpufft.chunked import ChunkedArray
from tpufft.execution import awaited
from tpufft.mapping.arguments import Item, check_batch, flat, flat_leaves, item
from tpufft.mapping.outputs import leaf_axes
from tpufft.mapping.program import Program
from tpufft.mapping.shards import shards
from tpufft.mapping.signature import Form, Parameters
from tpufft.mapping.where import found_mesh, mesh_in_context, split
from tpufft.meshes import AnyMesh, context_mesh, refuse_manual_axes

#: Kinds of calls that one mapped function remembers: their structures, shapes and chunkings.
MOST_CALLS = 1024

# What JAX says of a loop or branch whose types differ in the devices' axes alone, in the versions since 0.7.
_TYPES_DIFFER = re.compile(r"(carry|branches).*(manual axis types|varying manual axes)", re.DOTALL)

Value = TypeVar("Value")


class Call:
    """What is to be done in calls of one kind: bring arrays to their devices, run the program, make lists.

    Parameters
    ----------
    program : Program
        Of the call's arrays.
    jitted : callable
        The same, compiled.
    items : sequence of Item
        The arrays.
    is_traced : bool
        Whether some arrays have no values yet, so that nothing is started.
    is_plain : bool
        Whether the arrays are the leaves of the arguments as JAX sees them: no lists of shards, no chunked arrays.
    lists : bool
        Whether joined results are returned as lists of shards.
    """

    def __init__(
        self,
        program: Program,
        jitted: Callable[..., Any],
        items: Sequence[Item],
        *,
        is_traced: bool,
        is_plain: bool,
        lists: bool,
    ) -> None:
        self._program, self._is_plain, self._lists = program, is_plain, lists
        self._moves = [(number, each.move) for number, each in enumerate(items) if each.move is not None]
        self._start = jitted if is_traced else awaited(jitted, program.mesh)
        self._has_nothing: bool | None = None

    def __call__(self, values: Sequence[Any], leaves: list[Any]) -> Any:
        """The result for these arguments, of which the leaves are known already."""
        if not self._is_plain:
            pairs = zip(self._program.form.arguments, values, strict=True)
            leaves = [leaf for argument, value in pairs for leaf in flat_leaves(argument, value)]
        for number, move in self._moves:
            leaves[number] = move(leaves[number])
        result = self._start(*leaves)
        if self._has_nothing is None:
            self._has_nothing = any(not leaf.size for leaf in jax.tree.leaves(result))
        return self._finished(result) if self._lists or self._has_nothing else result

    def _finished(self, result: Any) -> Any:
        program = self._program
        leaves, tree = jax.tree.flatten(result)
        for number, axis in enumerate(leaf_axes(program.out_axis, result, program.name)):
            leaf = leaves[number]
            if axis is None:
                continue
            if self._lists and isinstance(leaf, Tracer):
                raise TypeError(
                    f"{program.name} was given lists of shards under jit, grad or another transformation, where "
                    "results are on no device; give it the arrays that tpufft.unshard makes of them"
                )
            if not leaf.size and not isinstance(leaf, Tracer):  # compiled programs return those in a wrong chunking
                target = NamedSharding(program.mesh, split(program.mesh, axis % leaf.ndim))  # type: ignore[arg-type]
                leaf = jax.device_put(leaf, target)
            leaves[number] = shards(leaf) if self._lists else leaf
        return jax.tree.unflatten(tree, leaves)


class Mapping:
    """A function that is mapped over devices, with what was worked out for calls of it.

    Parameters
    ----------
    fn : callable
        Of one device's chunks.
    mesh : Mesh, optional
        As the caller gave it.
    parameters : Parameters
        Which argument is split how.
    out_axis : pytree
        Along which axes results are joined.
    """

    def __init__(self, fn: Callable[..., Any], mesh: AnyMesh | None, parameters: Parameters, out_axis: Any) -> None:
        self._fn, self._mesh, self._parameters, self._out_axis = fn, mesh, parameters, out_axis
        self._forms: dict[Hashable, Form] = {}
        self._programs: dict[Hashable, tuple[Program, Callable[..., Any]]] = {}
        self._calls: dict[Hashable, Call] = {}

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function of whole arrays."""
        name = self._parameters.name
        refuse_manual_axes(f"the smap of {name} was called", f"every device has its own chunk; call {name} itself")
        way = (len(args), tuple(kwargs))
        form = self._forms.get(way)
        if form is None:
            form = _kept(self._forms, way, self._parameters.form(*way))
        values = (*args, *kwargs.values(), *form.defaults)
        leaves, tree = jax.tree.flatten(values)
        context = context_mesh()
        key = (way, tree, *map(_kind, leaves), context)
        known = self._calls.get(key)
        try:
            if known is None:
                known = _kept(self._calls, key, self._prepared(way, form, values, leaves, context))
            return known(values, leaves)
        except TypeError as error:
            if not _TYPES_DIFFER.search(str(error)):
                raise
            raise TypeError(
                f"{error}\n\nIn {name}, mapped by tpufft.smap: what comes of a chunk may differ between devices, a "
                "constant such as jnp.zeros(n) does not. Start the loop, or end the branch, with tpufft.comm.vary(x) "
                "in the place of such an x."
            ) from error

    def _prepared(
        self, way: Hashable, form: Form, values: Sequence[Any], leaves: Sequence[Any], context: AnyMesh | None
    ) -> Call:
        name = self._parameters.name
        found = [(argument, *flat(argument, value)) for argument, value in zip(form.arguments, values, strict=True)]
        mesh = self._mesh
        if mesh is None:
            # What is split shows better where to work than what every device has.
            first = sorted(found, key=lambda each: each[0].shard is None)
            mesh = found_mesh(f"the smap of {name}", (leaf for _, paths, _ in first for _, leaf in paths))
        mesh = mesh_in_context(mesh, context)
        items = [
            (argument, item(leaf, argument, path, name, mesh)) for argument, paths, _ in found for path, leaf in paths
        ]
        if any(argument.batch is not None for argument in form.arguments):
            check_batch(items, name)
        trees = tuple(tree for _, _, tree in found)
        structure = (way, trees, mesh)
        if structure not in self._programs:
            specs = [each.spec for _, each in items]
            program = Program(self._fn, name, mesh, form, trees, specs, self._out_axis)
            _kept(self._programs, structure, (program, program.jitted()))
        arrays = [leaf for _, paths, _ in found for _, leaf in paths]
        return Call(
            *self._programs[structure],
            [each for _, each in items],
            is_traced=any(isinstance(leaf, Tracer) for leaf in leaves),
            is_plain=not any(isinstance(leaf, list | ChunkedArray) for leaf in arrays),
            lists=any(isinstance(leaf, list) for leaf in arrays),
        )


def _kept(store: dict[Hashable, Value], key: Hashable, value: Value) -> Value:
    """Remember a value; when there are too many, none of the others."""
    if len(store) >= MOST_CALLS:
        store.clear()
    store[key] = value
    return value


def _kind(leaf: Any) -> Hashable:
    """What decides on what is done with a leaf: never its values."""
    if isinstance(leaf, Tracer):
        return jax.typeof(leaf)
    if isinstance(leaf, jax.Array):
        return (leaf.shape, leaf.dtype, leaf.sharding, leaf.committed)
    return (type(leaf), leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray | np.generic) else type(leaf)
