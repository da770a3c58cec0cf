"""Tabs for our pages in asv's own index.html."""

import pathlib

PAGES = (("frameworks.html", "JAX beside PyTorch"), ("bumps.html", "Bumps"), ("method.html", "Method"))
ANCHOR = '<li id="nav-li-regressions">'


def add_tabs(html_dir: str) -> None:
    """Insert the tabs before asv's last one; an index.html that asv changed is left as it is."""
    path = pathlib.Path(html_dir) / "index.html"
    text = path.read_text(encoding="utf-8")
    tabs = "".join(f'<li><a href="{file}">{label}</a></li>\n\t' for file, label in PAGES)
    if ANCHOR in text and PAGES[0][0] not in text:
        path.write_text(text.replace(ANCHOR, tabs + ANCHOR, 1), encoding="utf-8")
