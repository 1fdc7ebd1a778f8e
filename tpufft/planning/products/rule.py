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
        axes, so is the product, as the first such operand is.
    """
    in_a, in_b = dict(zip(terms.a, a.spec, strict=True)), dict(zip(terms.b, b.spec, strict=True))
    out: dict[str, AxisNames] = {letter: in_a[letter] or in_b[letter] for letter in terms.batch}
    used = {name for names in out.values() for name in names}

    def take(letter: str, names: AxisNames) -> None:
        free = tuple(name for name in names if name not in used)
        out[letter] = out.get(letter, ()) + free
        used.update(free)

    inner = [*(in_a[letter] for letter in terms.contracted), *(in_b[letter] for letter in terms.contracted)]
    # Rows and columns are the last axes that one operand alone has; those before them broadcast, and stay as they are.
    rows, columns = terms.left[-1:], terms.right[-1:]
    a_blocks = bool(in_a.get(rows) and any(in_a[letter] for letter in terms.contracted))
    b_blocks = bool(in_b.get(columns) and any(in_b[letter] for letter in terms.contracted))
    for letter in (letter for letter in terms.left + terms.right if letter not in rows + columns):
        take(letter, in_a.get(letter) or in_b.get(letter, ()))
    if b_blocks and not a_blocks:
        take(columns, in_b[columns])
    if rows:
        take(rows, in_a[rows])
    if columns:
        rows_only = bool(rows and in_a[rows] and not any(inner))
        take(rows if rows_only else columns, in_b[columns])
    left, right = bool(out.get(rows)), bool(out.get(columns))
    # What split only the summed axis splits the product's rows; its columns where these alone are split, or rows are.
    to_columns = (left and not right) if a_blocks or b_blocks else (right and not left)
    home = columns if columns and to_columns else rows or columns
    for names in inner:
        if home:
            take(home, names)
    return tuple(out.get(letter, ()) for letter in terms.c)
