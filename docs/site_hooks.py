"""What the site does to pages: it includes the benchmark's report, and formulas become MathML, without any script."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

RESULTS = "benchmarks/results/README.md"

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the benchmark's report where its path stands as a comment."""
    report = Path(__file__).parent.parent / RESULTS
    text = report.read_text(encoding="utf-8") if report.exists() else "No results are kept yet: run `make bench`."
    # The report has a title of its own; the page has one already.
    return markdown.replace(f"<!-- {RESULTS} -->", re.sub(r"^# .*\n+", "", text))


def on_page_content(content: str, **_: Any) -> str:
    """Replace what arithmatex marked as a formula."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    return convert(html.unescape(match[3]).strip(), display="block" if match[2] == "[" else "inline")
