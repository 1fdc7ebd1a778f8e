"""Steps between real and complex arrays, and the real transforms of an axis that every device holds whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpufft.errors import LayoutError
from tpufft.layout import Layout
from tpufft.steps.core import Precision, Step, check_whole, complex_dtype, real_dtype


def half(size: int) -> int:
    """Frequencies of a real signal of `size` points that are not conjugates of others."""
    return size // 2 + 1


@dataclass(frozen=True)
class LocalReal(Step):
    r"""A DFT of a real axis to its half spectrum, or its transpose, and complex DFTs along further axes.

    .. math:: y_k = \text{scale}\; w_k \sum_j x_j\, e^{\mp 2\pi i jk/N}, \quad k \le N/2 \qquad
              x_j = \text{scale}\; \mathrm{Re} \sum_{k \le N/2} w_k y_k\, e^{\mp 2\pi i jk/N}

    Parameters
    ----------
    axes : tuple of int
        The last one is the real one; along the others the complex half spectrum is transformed.
    size : int
        Points N of the real axis.
    inverse, scale
        Sign of the phase, and a factor.
    to_real : bool
        From the half spectrum to the signal.
    weighted : bool
        Whether frequencies that stand for a conjugate too count twice (:math:`w_k = 2`), or all once.
    """

    axes: tuple[int, ...]
    size: int
    inverse: bool
    scale: float
    to_real: bool
    weighted: bool
    kernel: str
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        check_whole(layout, self.axes)
        before, after = (half(self.size), self.size) if self.to_real else (self.size, half(self.size))
        axis = self.axes[-1]
        if layout.shape[axis] != before or (layout.dtype.kind == "c") != self.to_real:
            raise LayoutError(
                f"axis {axis} of {layout} is not {before} {'complex' if self.to_real else 'real'} numbers"
            )
        dtype = real_dtype(layout.dtype) if self.to_real else complex_dtype(layout.dtype)
        return layout.with_dtype(dtype).with_axis(axis, size=after)

    def transposed(self, layout: Layout) -> LocalReal:
        return replace(self, to_real=not self.to_real)

    def describe(self, layout: Layout) -> str:
        lengths = " x ".join(str(self.size if axis == self.axes[-1] else layout.shape[axis]) for axis in self.axes)
        axes = f"ax{'is' if len(self.axes) == 1 else 'es'} {', '.join(map(str, self.axes))}"
        kind = "to real" if self.to_real else "of real"
        return f"local     {axes} of {lengths} {kind}, kernel {self.kernel}"


@dataclass(frozen=True)
class LocalTrig(Step):
    """A cosine or sine transform of a whole axis by one of the bare matrices `kind`: C1 C2 C3 C4 S1."""

    axis: int
    kind: str
    scale: float
    kernel: str
    precision: Precision = None

    def after(self, layout: Layout) -> Layout:
        check_whole(layout, (self.axis,))
        return layout

    def transposed(self, layout: Layout) -> LocalTrig:
        return replace(self, kind={"C2": "C3", "C3": "C2"}.get(self.kind, self.kind))

    def describe(self, layout: Layout) -> str:
        name = {"C": "cosine", "S": "sine"}[self.kind[0]]
        return f"local     axis {self.axis} of {layout.shape[self.axis]}, {name} {self.kind[1]}, kernel {self.kernel}"


@dataclass(frozen=True)
class Widen(Step):
    """Real numbers as complex ones."""

    def after(self, layout: Layout) -> Layout:
        return layout.with_dtype(complex_dtype(layout.dtype))

    def transposed(self, layout: Layout) -> RealPart:
        return RealPart()

    def describe(self, layout: Layout) -> str:
        return "widen     real to complex"


@dataclass(frozen=True)
class RealPart(Step):
    """The real parts of complex numbers."""

    def after(self, layout: Layout) -> Layout:
        return layout.with_dtype(real_dtype(layout.dtype))

    def transposed(self, layout: Layout) -> Widen:
        return Widen()

    def describe(self, layout: Layout) -> str:
        return "narrow    complex to its real part"


@dataclass(frozen=True)
class AsReal(Step):
    """Complex numbers, or their conjugates, as pairs along a new axis behind `axis`."""

    axis: int
    conjugate: bool = False

    def after(self, layout: Layout) -> Layout:
        return layout.with_dtype(real_dtype(layout.dtype)).insert_axis(self.axis + 1, 2)

    def transposed(self, layout: Layout) -> AsComplex:
        return AsComplex(self.axis, not self.conjugate)

    def describe(self, layout: Layout) -> str:
        return f"view      complex axis {self.axis} as pairs"


@dataclass(frozen=True)
class AsComplex(Step):
    """Pairs along ``axis + 1`` as complex numbers, or as their conjugates."""

    axis: int
    conjugate: bool = False

    def after(self, layout: Layout) -> Layout:
        if layout.shape[self.axis + 1] != 2 or layout.dtype.kind == "c":
            raise LayoutError(f"axis {self.axis + 1} of {layout} is not pairs of real numbers")
        return layout.with_dtype(complex_dtype(layout.dtype)).remove_axis(self.axis + 1)

    def transposed(self, layout: Layout) -> AsReal:
        return AsReal(self.axis, not self.conjugate)

    def describe(self, layout: Layout) -> str:
        return f"view      pairs along axis {self.axis + 1} as complex"
