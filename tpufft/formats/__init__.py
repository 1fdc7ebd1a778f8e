"""Files as bytes and slices: what a format stores where. These modules know no layout and no device."""

from tpufft.formats.atomic import AtomicFile
from tpufft.formats.npy import NpyReader, NpyWriter
from tpufft.formats.registry import FORMATS, Format, Reader, Slices, Writer, format_of

__all__ = ["FORMATS", "AtomicFile", "Format", "NpyReader", "NpyWriter", "Reader", "Slices", "Writer", "format_of"]
