"""How the product of two chunked arrays is chunked."""

from __future__ import annotations

from tpufft.layout import AxisNames, Layout, Spec
from tpufft.steps import Terms


def product_spec(terms: Terms, a: Layout, b: Layout) -> Spec:
    """The chunking of a product.

    Parameters
    ----------
    terms : Terms
        Which axes meet.
    a, b : Layout
        Of the operands.

    Returns
    -------
    tuple of tuples of str
        Batch axes stay as they are. A product of matrices is row-chunked, except column-chunked where the right operand
        is column-chunked and the left one is column-chunked or whole. Where an operand is chunked along both of its
        axes, so is the product.
    """
    in_a, in_b = dict(zip(terms.a, a.spec, strict=True)), dict(zip(terms.b, b.spec, strict=True))
    out: dict[str, AxisNames] = {letter: in_a[letter] or in_b[letter] for letter in terms.batch}
    used = {name for names in out.values() for name in names}

    def take(letter: str, names: AxisNames) -> None:
        free = tuple(name for name in names if name not in used)
        out[letter] = out.get(letter, ()) + free
        used.update(free)

    inner = [*(in_a[letter] for letter in terms.contracted), *(in_b[letter] for letter in terms.contracted)]
    in_blocks = any(_split(in_a, terms.left)) and any(_split(in_a, terms.contracted))
    in_blocks |= any(_split(in_b, terms.right)) and any(_split(in_b, terms.contracted))
    for letter in terms.left:
        take(letter, in_a[letter])
    rows_only = any(_split(in_a, terms.left)) and not any(inner)
    for letter in terms.right:
        take(terms.left[0] if rows_only else letter, in_b[letter])
    left, right = any(_split(out, terms.left)), any(_split(out, terms.right))
    # What split only the summed axis splits the product's rows; its columns where these alone are split, or rows are.
    to_columns = (left and not right) if in_blocks else (right and not left)
    homes = terms.right if terms.right and to_columns else terms.left or terms.right
    for names in inner:
        if homes:
            take(homes[0], names)
    return tuple(out.get(letter, ()) for letter in terms.c)


def _split(names: dict[str, AxisNames], letters: str) -> list[AxisNames]:
    return [names.get(letter, ()) for letter in letters]
