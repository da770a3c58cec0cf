"""Process medians as dots in a small SVG: old above, new below, on one scale."""

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 160, 30, 8


def svg(old: list[float], new: list[float]) -> Markup:
    """Return an inline SVG of two rows of dots; empty without figures.

    A row is one path of strokes without length, whose round ends are the dots: a page has thousands of them.
    """
    values = [*old, *new]
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0

    def path(medians, y, name):
        places = (MARGIN + (WIDTH - 2 * MARGIN) * (median - low) / span for median in medians)
        return f'<path class="{name}" d="{"".join(f"M{x:.0f} {y}h0" for x in places)}"/>'

    label = f"{len(old)} processes before, {len(new)} after"
    # Nothing in it comes from the results but numbers.
    return Markup(
        f'<svg class="dots" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}">'
        f"{path(old, 9, 'before')}{path(new, 21, 'after')}</svg>"
    )
