"""Docstrings for the site: the few Sphinx roles and directives that they use, as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|class|meth|attr|mod|data|exc):`(?:~)?([^`]+)`")
_INLINE_MATH = re.compile(r":math:`([^`]+)`")
_MATH = re.compile(
    r"^(?P<indent> *)\.\. math::(?: |\n\n(?P=indent) +)(?P<formula>.*(?:\n(?P=indent) +\S.*)*)$", re.MULTILINE
)
_REFERENCE = re.compile(r"^( *)\.\. \[(\d+)\] ", re.MULTILINE)


class Roles(griffe.Extension):
    """Rewrites every docstring as soon as it is found."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one object's docstring."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """The docstring's text with Markdown in the place of Sphinx's markup."""
    text = _MATH.sub(_formula, text)
    text = _INLINE_MATH.sub(r"$\1$", text)
    text = _REFERENCE.sub(r"\1\2. ", text)
    return _ROLE.sub(r"`\1`", text)


def _formula(match: re.Match[str]) -> str:
    formula = " ".join(match["formula"].split())
    # Sphinx aligns lines by itself.
    lines = rf"\begin{{split}} {formula} \end{{split}}" if r"\\" in formula else formula
    return f"{match['indent']}$$ {lines} $$"
