"""How to compute JAX primitives with NumPy: one table per theme, primitive name -> rule (see `site.Rule`)."""

from __future__ import annotations

from gluonjax._engine._numpy_rules import (
    contraction,
    control,
    draws,
    elementwise,
    indexing,
    linalg,
    random,
    reduce,
    shape,
    sliding,
)
from gluonjax._engine._numpy_rules.site import Rule, Site

THEMES = (elementwise, shape, reduce, indexing, contraction, sliding, control, linalg, random, draws)

RULES: dict[str, Rule] = {name: rule for theme in THEMES for name, rule in theme.RULES.items()}

#: Primitives that work on each element by itself: their results are fresh arrays, and they run on any shape.
ELEMENTWISE = frozenset(elementwise.RULES)

_WORK = {name: theme.work for theme in (contraction, control, linalg, random, draws) for name in theme.RULES}


def work(site: Site) -> float:
    """Estimated elementary operations of one equation."""
    count = _WORK.get(site.name)
    if count is not None:
        return count(site)
    written = float(sum(out.size for out in site.outs))
    if site.name.startswith(("reduce_", "arg", "select_and")):
        written = float(sum(operand.size for operand in site.ins))
        window = site.params.get("window_dimensions")
        if window is not None:
            extent = 1
            for size in window:
                extent *= size
            written = (
                float(site.outs[0].size) * extent if not site.name.startswith("select") else written * extent
            )
    return written
