"""How values cross the wire: a complex chunk is one collective everywhere; devices are counted as specs count them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpufft.layout import AxisNames


def axis_name(names: AxisNames) -> str | AxisNames:
    """Mesh axes as JAX's collectives take them: one name bare, several as a tuple, the first the slowest."""
    return names[0] if len(names) == 1 else names


def send_whole(collective: Callable[[jax.Array], jax.Array], x: jax.Array, platform: str) -> jax.Array:
    """Apply a collective to `x` so that it stays one collective.

    XLA for TPU splits a complex collective in two; there the planes travel stacked, behind the other axes so that the
    collective's axis numbers keep their meaning.
    """
    if platform != "tpu" or not jnp.iscomplexobj(x):
        return collective(x)
    moved = collective(jnp.stack([x.real, x.imag], axis=-1))
    return lax.complex(moved[..., 0], moved[..., 1])


def permute(x: jax.Array, names: AxisNames, pairs: Sequence[tuple[int, int]], platform: str) -> jax.Array:
    """Send `x` from each pair's first device to its second; who is no second receives zeros.

    Parameters
    ----------
    x : array
        What every device sends.
    names : tuple of str
        Mesh axes, the first the slowest: positions are counted in this order, as ``lax.axis_index`` and specs do.
    pairs : sequence of (int, int)
        Positions along `names` together.
    platform : str
        The devices' platform.
    """
    # ppermute counts positions in the mesh's own order of axes, whatever the order of the names it is given.
    mesh_names = jax.sharding.get_abstract_mesh().axis_names
    if not set(names) <= set(mesh_names):
        return _permute_all(x, names, list(pairs), platform)
    ordered = tuple(sorted(names, key=mesh_names.index))
    if ordered != names:
        place = _positions(names, ordered)
        pairs = [(place[source], place[target]) for source, target in pairs]
    return send_whole(lambda part: lax.ppermute(part, axis_name(ordered), list(pairs)), x, platform)


def _permute_all(x: jax.Array, names: AxisNames, pairs: list[tuple[int, int]], platform: str) -> jax.Array:
    """The same under ``vmap(axis_name=)``, a mesh on one device, which knows only permutations of all positions."""
    count = math.prod(lax.axis_size(name) for name in names)
    senders, receivers = zip(*pairs, strict=True)
    idle = zip(sorted({*range(count)} - {*senders}), sorted({*range(count)} - {*receivers}), strict=True)
    moved = send_whole(lambda part: lax.ppermute(part, axis_name(names), [*pairs, *idle]), x, platform)
    asked = jnp.asarray(np.isin(np.arange(count), receivers))[lax.axis_index(axis_name(names))]
    return moved if len(pairs) == count else jnp.where(asked, moved, jnp.zeros_like(moved))


def _positions(names: AxisNames, ordered: AxisNames) -> list[int]:
    """For every position counted along `names`, the position counted along `ordered`."""
    sizes = [lax.axis_size(name) for name in ordered]
    count = np.arange(int(np.prod(sizes))).reshape(sizes)
    return count.transpose([ordered.index(name) for name in names]).ravel().tolist()
