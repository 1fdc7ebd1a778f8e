"""Which devices take part: the mesh axes that are mapped where a function is called."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax

from tpufft import collectives
from tpufft.chunked import check_is_array
from tpufft.comm import mailbox
from tpufft.errors import LayoutError
from tpufft.execution import mesh_platform
from tpufft.layout import AxisNames

AxisName: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True)
class Axes:
    """The devices along some mapped axes.

    Parameters
    ----------
    names : tuple of str
        The axes, the first the slowest.
    count : int
        Devices along them together.
    """

    names: AxisNames
    count: int

    @property
    def rank(self) -> jax.Array:
        """The position of this device."""
        return lax.axis_index(collectives.axis_name(self.names))

    @property
    def platform(self) -> str:
        """The devices' platform."""
        return mesh_platform(jax.sharding.get_abstract_mesh())

    def varying(self, x: Any) -> jax.Array:
        """An array typed as varying over these axes."""
        check_is_array(x, "tpufft.comm")
        return collectives.make_varying(jnp.asarray(x), self.names)

    def message(self, x: Any) -> jax.Array:
        """An array as it is sent: of numbers, and typed as varying."""
        x = self.varying(x)
        if jnp.issubdtype(x.dtype, jax.dtypes.extended):
            raise TypeError(
                f"an array of {x.dtype} is not sent; send jax.random.key_data(key) and wrap what arrives with "
                "jax.random.wrap_key_data"
            )
        return x

    def position(self, root: Any) -> int:
        """A caller's argument `root`, if it is the position of a device."""
        try:
            number = operator.index(root)
        except TypeError:
            raise TypeError(f"root={root!r} is no integer; it is the same rank on all devices") from None
        if not 0 <= number < self.count:
            raise ValueError(f"root={number} is no rank along {self}; right is 0 to {self.count - 1}")
        return number

    def __str__(self) -> str:
        return f"{collectives.axis_name(self.names)!r} of {self.count} device{'s' * (self.count != 1)}"


def axes_of(function: str, axis_name: AxisName | None) -> Axes:
    """The axes that a call of ``comm.function`` is about; None: all mesh axes that are mapped.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.
    TypeError
        For what is no axis name.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if axis_name is None:
        names = tuple(name for name in mesh.axis_names if name in mesh.manual_axes)
        if not names:
            raise _unmapped(function, axis_name)
    else:
        names = (axis_name,) if isinstance(axis_name, str) else axis_name
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"axis_name={axis_name!r} is no name of a mesh axis, nor a tuple of names")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"axis_name={axis_name!r} must name at least one axis, and none twice")
    try:
        sizes = [int(lax.axis_size(name)) for name in names]
    except NameError:
        raise _unmapped(function, axis_name) from None
    mailbox.sweep()
    return Axes(tuple(names), math.prod(sizes))


def _unmapped(function: str, axis_name: AxisName | None) -> LayoutError:
    # The names that a vmap has given show nowhere else; where this goes, those of a shard_map remain.
    shown = getattr(jax.extend.core, "unsafe_get_axis_names_DO_NOT_USE", None)
    mapped = tuple(shown() if shown else jax.sharding.get_abstract_mesh().manual_axes)
    here = f"mapped here: {', '.join(map(repr, mapped))}" if mapped else "no axis is mapped here"
    given = "needs a mapped axis" if axis_name is None else f"axis_name={axis_name!r} is not mapped here"
    remedy = "give axis_name=" if axis_name is None and mapped else "call it inside tpufft.smap or jax.shard_map"
    return LayoutError(f"tpufft.comm.{function}: {given} ({here}); {remedy}")


def rank(axis_name: AxisName | None = None) -> jax.Array:
    """The number of this device among those of the mapped axes.

    Parameters
    ----------
    axis_name : str or tuple of str, optional
        The mesh axes along which devices are counted, the first the slowest. Default: all that are mapped here, in the
        mesh's order.

    Returns
    -------
    jax.Array
        From 0 to ``size(axis_name) - 1``, int32; another value on every device.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.

    Notes
    -----
    Nothing is sent.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: x + comm.rank("x"), axis_name="x")(jnp.zeros(4)).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return axes_of("rank", axis_name).rank


def size(axis_name: AxisName | None = None) -> int:
    """The number of devices along the mapped axes.

    Parameters
    ----------
    axis_name : str or tuple of str, optional
        As in :func:`rank`.

    Returns
    -------
    int
        Known when the function is traced.

    Raises
    ------
    LayoutError
        Where an axis is not mapped.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from tpufft import comm
    >>> jax.vmap(lambda x: x / comm.size("x"), axis_name="x")(jnp.ones(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return axes_of("size", axis_name).count
