"""numpy's and scipy's own tests of their Fourier transforms, run on this package."""
