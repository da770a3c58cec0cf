"""Process medians as dots in a small SVG: old above, new below, on one scale."""

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN, RADIUS = 160, 30, 8, 3


def svg(old: list[float], new: list[float]) -> Markup:
    """Return an inline SVG of two rows of dots; empty without figures."""
    values = [*old, *new]
    if not values:
        return Markup("")
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0

    def dots(medians, y, name):
        return Markup("").join(
            Markup('<circle class="{}" cx="{:.1f}" cy="{}" r="{}"/>').format(
                name, MARGIN + (WIDTH - 2 * MARGIN) * (median - low) / span, y, RADIUS
            )
            for median in medians
        )

    return Markup('<svg class="dots" width="{}" height="{}" role="img" aria-label="{}">{}{}</svg>').format(
        WIDTH,
        HEIGHT,
        f"{len(old)} processes before, {len(new)} after",
        dots(old, 9, "before"),
        dots(new, 21, "after"),
    )
