"""What a device can do in a second, as the cost model sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import jax
from jax.sharding import Mesh

from tpufft.collectives import shared
from tpufft.execution import mesh_platform
from tpufft.meshes import AnyMesh, host_cores
from tpufft.planning.wisdom import machine_key, wisdom
from tpufft.tpu import CHIPS, Chip

BF16_PASSES = 6
"""bfloat16 products that make one float32 product at highest precision on a TPU."""

RATES = (
    "fft_flops",
    "library_flops",
    "matmul_flops",
    "memory_bandwidth",
    "strided_penalty",
    "wire_bandwidth",
    "latency",
    "call_latency",
    "shared_bandwidth",
)
"""What calibration measures."""


@dataclass(frozen=True)
class Machine:
    """Rates of one device of a mesh.

    Parameters
    ----------
    name : str
        What it is.
    fft_flops : float
        FLOP/s of the compiler's own FFT, by the 5 N log2 N convention.
    library_flops : float
        FLOP/s of the kernel `host` by the same convention; where a device has no such kernel, the compiler's.
    matmul_flops : float
        FLOP/s of float32 products at highest precision, large enough to fill the device.
    matmul_width : int
        The radix below which products run slower, in proportion.
    memory_bandwidth : float
        Bytes per second read or written by a pass over an array.
    strided_penalty : float
        By how much an FFT along another axis than the last is slower.
    wire_bandwidth : float
        Bytes per second that one device sends one way.
    exchange_share : float
        Part of a chunk that the slowest link carries in an exchange over P devices, divided by P: 1/8 on a ring of
        two ways. None: each device sends all but its own part.
    latency : float
        Seconds for a collective to start.
    call_latency : float
        Seconds for a call of the kernel `host` to start.
    shared_bandwidth : float
        Bytes per second that one device copies from the memory of others; 0 where they share none.
    both_ways : bool
        Whether a ring gains from sending both ways.
    ring_bytes : float
        Bytes of a chunk up to which ``auto`` considers the ring, which holds twice as many chunks as an exchange.
    platform : str
        What its kernels are for, as JAX names it.
    """

    name: str
    fft_flops: float
    library_flops: float
    matmul_flops: float
    matmul_width: int
    memory_bandwidth: float
    strided_penalty: float
    wire_bandwidth: float
    exchange_share: float | None
    latency: float
    call_latency: float
    shared_bandwidth: float
    both_ways: bool
    ring_bytes: float
    platform: str

    def exchange_seconds(self, chunk_bytes: int, count: int) -> float:
        """Time on the wire of one exchange among `count` devices."""
        share = (count - 1) / count if self.exchange_share is None else count * self.exchange_share
        return self.latency + chunk_bytes * share / self.wire_bandwidth

    def shared_seconds(self, chunk_bytes: int) -> float:
        """Time of one exchange by copies in shared memory, which takes twice an exchange's time to start."""
        return 2 * self.latency + chunk_bytes / self.shared_bandwidth if self.shared_bandwidth else math.inf

    def permute_seconds(self, sent_bytes: int, permutes: int, both_ways: bool) -> float:
        """Time on the wire of `permutes` neighbour permutes that carry `sent_bytes` together."""
        ways = 2 if both_ways and self.both_ways else 1
        return permutes * self.latency + sent_bytes / self.wire_bandwidth / ways


def machine_of(mesh: AnyMesh, kind: str | None = None) -> Machine:
    """The machine that a mesh's devices are, or the named chip.

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    if kind is not None:
        if kind not in CHIPS:
            raise ValueError(f"kind={kind!r}: one of {', '.join(map(repr, CHIPS))}, or None for the mesh's own devices")
        return _tpu(CHIPS[kind])
    platform = mesh_platform(mesh)
    if platform == "tpu":
        return _tpu(_chip_of(_device_kind(mesh)))
    if platform in ("gpu", "cuda", "rocm"):
        return _calibrated(GPU, mesh)
    return _calibrated(_host(mesh.size, _shares_memory(mesh)), mesh)


def _calibrated(machine: Machine, mesh: AnyMesh) -> Machine:
    """With the rates that were measured on such devices, where there are any."""
    measured = wisdom().machines
    rates = measured.get(machine_key(mesh), {}) if measured and isinstance(mesh, Mesh) else {}
    # What these devices lack they do not get by having been measured with it.
    return replace(machine, **{name: rate for name, rate in rates.items() if name in RATES and getattr(machine, name)})


def _shares_memory(mesh: AnyMesh) -> bool:
    """Whether all devices are parts of this process."""
    if not isinstance(mesh, Mesh) or mesh.size < 2 or not shared.is_there():
        return False
    return all(device.process_index == jax.process_index() for device in mesh.devices.flat)


def _host(devices: int, shares: bool) -> Machine:
    """A host's cores shared by its CPU devices; rates of a 2020s x86 server core, measured with XLA's kernels."""
    share = min(1.0, host_cores() / devices)
    return Machine(
        name="host",
        fft_flops=7.5e9 * share,
        library_flops=2.0e10 * share,
        matmul_flops=5.5e10 * share,
        matmul_width=64,
        memory_bandwidth=5.0e9 * share,
        strided_penalty=2.5,
        wire_bandwidth=1.0e9 * share,
        exchange_share=None,
        latency=1.5e-4,
        call_latency=2e-5,
        shared_bandwidth=2.0e9 * share if shares else 0.0,
        both_ways=False,
        ring_bytes=1 << 14,
        platform="cpu",
    )


GPU = Machine(
    name="gpu",
    fft_flops=2.0e12,
    library_flops=2.0e12,
    matmul_flops=2.0e13,
    matmul_width=64,
    memory_bandwidth=1.5e12,
    strided_penalty=1.5,
    wire_bandwidth=1.0e11,
    exchange_share=None,
    latency=2e-5,
    call_latency=0.0,
    shared_bandwidth=0.0,
    both_ways=False,
    ring_bytes=1 << 14,
    platform="gpu",
)
"""A data-centre GPU of the 2020s in round figures; not measured."""


def _tpu(chip: Chip) -> Machine:
    """One device of a chip; the compiler's FFT runs on the vector unit, taken as a fiftieth of the matrix unit."""
    product = chip.flops / BF16_PASSES / chip.devices
    return Machine(
        name=chip.name,
        fft_flops=product / 50,
        library_flops=product / 50,
        matmul_flops=product,
        matmul_width=128,
        memory_bandwidth=chip.hbm_bandwidth / chip.devices,
        strided_penalty=1.0,
        wire_bandwidth=chip.link_bandwidth / chip.devices,
        exchange_share=1 / 8,
        latency=1e-6,
        call_latency=0.0,
        shared_bandwidth=0.0,
        both_ways=True,
        ring_bytes=math.inf,
        platform="tpu",
    )


def _device_kind(mesh: AnyMesh) -> str:
    if isinstance(mesh, Mesh):
        return mesh.devices.flat[0].device_kind
    return getattr(mesh.abstract_device, "device_kind", None) or ""


def _chip_of(device_kind: str) -> Chip:
    kind = device_kind.lower()
    for word, name in (("v6", "v6e"), ("v5p", "v5p"), ("v5 lite", "v5e"), ("v5e", "v5e"), ("v5", "v5p"), ("v4", "v4")):
        if word in kind:
            return CHIPS[name]
    return CHIPS["v3"]
