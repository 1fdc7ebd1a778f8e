"""`on(mesh)`: the transforms with numpy's signatures; a backend of scipy.fft and an array-API ``fft`` namespace."""

from tpufft.namespace.bound import OUTPUTS, Namespace, on

__all__ = ["OUTPUTS", "Namespace", "on"]
