"""Tabs for our pages in asv's own index.html."""

import pathlib

PAGES = (("frameworks.html", "JAX beside PyTorch"), ("bumps.html", "Bumps"), ("method.html", "Method"))
OVER_TIME = ("releases/index.html", "Over releases")
BY_COMMIT = ("index.html", "By commit")
RELEASE_LIST = "release-list.html"
STYLE = "bumps-static/asv.css"
ANCHOR = '<li id="nav-li-regressions">'


def over_time(html_dir: str | pathlib.Path) -> str | None:
    """Return the address of the site over releases, None where it was not written."""
    return OVER_TIME[0] if (pathlib.Path(html_dir) / OVER_TIME[0]).is_file() else None


def tabs(html_dir: str | pathlib.Path) -> tuple[tuple[str, str], ...]:
    """Return (file, label) of every page of ours that the site has."""
    releases = (OVER_TIME,) if over_time(html_dir) else ()
    return (PAGES[0], *releases, *PAGES[1:])


def add_tabs(html_dir: str | pathlib.Path) -> None:
    """Insert the tabs into the site's own index.html."""
    _insert(pathlib.Path(html_dir) / "index.html", tabs(html_dir), "")


def add_tabs_over_time(html_dir: str | pathlib.Path) -> None:
    """Insert the tabs that lead back into the index.html of the site over releases."""
    _insert(pathlib.Path(html_dir) / OVER_TIME[0], (BY_COMMIT, *PAGES, (RELEASE_LIST, "Releases")), "../")


def _insert(path: pathlib.Path, pages: tuple[tuple[str, str], ...], root: str) -> None:
    """Insert tabs before asv's last one; an index.html that asv changed is left as it is."""
    text = path.read_text(encoding="utf-8")
    items = "".join(f'<li><a href="{root}{file}">{label}</a></li>\n\t' for file, label in pages)
    if ANCHOR in text and PAGES[0][0] not in text:
        text = text.replace(ANCHOR, items + ANCHOR, 1)
        text = text.replace("</head>", f'  <link href="{root}{STYLE}" rel="stylesheet">\n  </head>', 1)
        path.write_text(text, encoding="utf-8")
