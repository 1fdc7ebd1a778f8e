"""Take a real measurement, a magnetic resonance volume of a head, out of the installed nibabel package.

The volume is the first of two in ``example4d.nii.gz``, which nibabel ships among its test data. nibabel's licence file
says that the package, all examples included, is under the MIT licence, and names no other for this file.

Usage: python tools/demo_data.py demo/volume.npy
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SOURCE = Path("tests", "data", "example4d.nii.gz")
MULTIPLE = 8


def volume(path: Path) -> np.ndarray:
    """The first volume of a NIfTI file as float32, slices first, cropped to multiples of 8 around its middle."""
    import nibabel

    image = nibabel.load(path)
    data = np.asarray(image.dataobj[..., 0], np.float32).T
    middle = tuple(
        slice((size % MULTIPLE) // 2, (size % MULTIPLE) // 2 + size - size % MULTIPLE) for size in data.shape
    )
    return np.ascontiguousarray(data[middle])


def main(arguments: list[str]) -> int:
    """Write the volume; the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python tools/demo_data.py OUTPUT.npy", file=sys.stderr)
        return 2
    try:
        import nibabel
    except ModuleNotFoundError:
        print("error: the demo's data is in nibabel: pip install 'tpufft[demo]'", file=sys.stderr)
        return 1
    source = Path(nibabel.__file__).parent / SOURCE
    if not source.is_file():
        print(
            f"error: nibabel {nibabel.__version__} does not ship {SOURCE}; install nibabel 5.3 or 5.4", file=sys.stderr
        )
        return 1
    data = volume(source)
    target = Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    np.save(target, data)
    size = " x ".join(map(str, data.shape))
    print(f"{target}: {size} voxels, float32, a head by magnetic resonance (nibabel's {SOURCE.name}, MIT licence)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
