"""asv's pages without a content delivery network: their scripts and styles come from npm and lie in the site."""

import base64
import hashlib
import pathlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from asv.console import log
from asv.util import UserError

from bumps.site import node

FOLDER = "vendor"
# What stands behind each address that asv 0.6 names, as a file of an npm package. asv's hash of these is checked.
SAME = {
    "https://code.jquery.com/jquery-3.3.1.min.js": "jquery/dist/jquery.min.js",
    "https://cdn.jsdelivr.net/npm/flot-orderbars@1.0.0/js/jquery.flot.orderBars.js": (
        "flot-orderbars/js/jquery.flot.orderBars.js"
    ),
    "https://cdnjs.cloudflare.com/ajax/libs/blueimp-md5/2.19.0/js/md5.min.js": "blueimp-md5/js/md5.min.js",
    "https://cdn.jsdelivr.net/npm/bootstrap@3.1.1/dist/js/bootstrap.min.js": "bootstrap/dist/js/bootstrap.min.js",
    "https://cdn.jsdelivr.net/npm/bootstrap@3.1.1/dist/css/bootstrap.min.css": "bootstrap/dist/css/bootstrap.min.css",
}
# The files of npm that are not those of the network, so asv's hashes cannot match; package-lock.json holds theirs.
# flot 0.8.3 is published to npm as its sources, not minified. stupidtable 1.0.1 is not on npm at all: 1.1.3 is the
# only release there, with the same calls, events and attributes.
OTHER = {
    "https://cdnjs.cloudflare.com/ajax/libs/flot/0.8.3/jquery.flot.min.js": "flot/jquery.flot.js",
    "https://cdnjs.cloudflare.com/ajax/libs/flot/0.8.3/jquery.flot.time.min.js": "flot/jquery.flot.time.js",
    "https://cdnjs.cloudflare.com/ajax/libs/flot/0.8.3/jquery.flot.selection.min.js": "flot/jquery.flot.selection.js",
    "https://cdnjs.cloudflare.com/ajax/libs/flot/0.8.3/jquery.flot.categories.min.js": "flot/jquery.flot.categories.js",
    "https://cdnjs.cloudflare.com/ajax/libs/stupidtable/1.0.1/stupidtable.min.js": (
        "stupid-table-plugin/stupidtable.min.js"
    ),
}
TAG = re.compile(r'<(?:script|link)\b[^>]*?\b(?:src|href)="(?P<address>(?:https?:)?//[^"]+)"[^>]*>')
INTEGRITY = re.compile(r'\bintegrity="(?P<algorithm>sha256|sha384|sha512)-(?P<digest>[^"]+)"')
# asv's answer to a script that does not load is a page about the internet connection.
FAILURE = re.compile(r'\s*<script type="text/javascript">\s*function js_load_failure\(\).*?</script>', re.DOTALL)
# asv's scripts put names from results into the page as HTML: with this no script of theirs runs, and nothing is loaded
# from elsewhere.
POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'\">"
)


@dataclass(frozen=True)
class Link:
    """One script or style that a page takes from the network: its whole tag, its address, the hash asv expects."""

    tag: str
    address: str
    algorithm: str | None
    digest: str | None


def links(page: str) -> Iterator[Link]:
    """Yield what an HTML page takes from the network, in order."""
    for match in TAG.finditer(page):
        integrity = INTEGRITY.search(match.group(0))
        yield Link(match.group(0), match["address"], *(integrity.groups() if integrity else (None, None)))


def serve(html_dir: str | pathlib.Path) -> bool:
    """Copy the scripts and styles into the site and let its index.html load them from there; return whether it does.

    All or none: where npm is missing or one file is not what asv expects, one line says so and the links stay.
    """
    try:
        modules = node.ensure()
        page = (pathlib.Path(html_dir) / "index.html").read_text(encoding="utf-8")
        files = {link.address: _file(modules, link) for link in links(page)}
    except UserError as error:
        log.warning(f"asv's pages keep loading their scripts from the internet: {error}")
        return False
    folder = pathlib.Path(html_dir) / FOLDER
    folder.mkdir(exist_ok=True)
    for file in files.values():
        shutil.copyfile(file, folder / file.name)
    rewrite(html_dir, FOLDER)
    return True


def rewrite(html_dir: str | pathlib.Path, folder: str) -> None:
    """Let an index.html of asv load its scripts and styles from `folder`, a path relative to it."""
    path = pathlib.Path(html_dir) / "index.html"
    path.write_text(rewritten(path.read_text(encoding="utf-8"), folder), encoding="utf-8")


def rewritten(page: str, folder: str) -> str:
    """Return the page with every known script and style taken from `folder`, and nothing else from the network."""
    for link in list(links(page)):
        name = (SAME | OTHER)[link.address].rpartition("/")[2]
        if name.endswith(".css"):
            tag = f'<link rel="stylesheet" href="{folder}/{name}">'
        else:
            tag = f'<script src="{folder}/{name}">'
        page = page.replace(link.tag, tag)
    page = FAILURE.sub("", page)
    return page.replace("<head>", f"<head>\n    {POLICY}", 1)


def _file(modules: pathlib.Path, link: Link) -> pathlib.Path:
    """Return the installed file behind a link; raises UserError where there is none or its hash is not asv's."""
    inside = SAME.get(link.address) or OTHER.get(link.address)
    if inside is None:
        raise UserError(f"no npm package is known for {link.address}, which this version of asv names")
    file = modules / inside
    if not file.is_file():
        raise UserError(f"{inside} is missing in node_modules; remove that folder and publish again")
    if link.address in SAME and link.algorithm:
        digest = base64.b64encode(hashlib.new(link.algorithm, file.read_bytes()).digest()).decode()
        if digest != link.digest:
            raise UserError(f"{inside} does not have the hash that asv names for {link.address}")
    return file
