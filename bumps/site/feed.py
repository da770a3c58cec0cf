"""The Atom feed of bumps (RFC 4287): one entry a bump, with an id that stays."""

import hashlib
import xml.etree.ElementTree as ElementTree

NAMESPACE = "http://www.w3.org/2005/Atom"


def bump_id(report: dict) -> str:
    """Return an id that depends on what the bump is, not on what was found."""
    names = ("framework", "old", "new", "machine", "python", "accelerator")
    text = "\n".join(str(report.get(name)) for name in names)
    return _digest(text)


def row_id(report: dict, row: dict) -> str:
    """Return an id of one benchmark of a bump that depends on neither what was found nor what else was measured."""
    return f"{bump_id(report)}-{_digest(chr(10).join((row['name'], *map(str, row['params'].values()))))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def atom(title: str, reports: list[dict], now: str) -> str:
    """Return the feed; `now` is used where a bump has no time of its own."""
    ElementTree.register_namespace("", NAMESPACE)

    def add(parent, name, text=None, **attributes):
        element = ElementTree.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
        element.text = text
        return element

    root = ElementTree.Element(f"{{{NAMESPACE}}}feed")
    add(root, "title", f"{title}: library bumps")
    add(root, "id", "urn:bumps:" + _digest(title))
    add(root, "updated", max((report["measured"] or now for report in reports), default=now))
    add(add(root, "author"), "name", title)
    for report in reports:
        entry = add(root, "entry")
        add(entry, "title", _printable(report["summary"]["sentence"]))
        add(entry, "id", f"urn:bump:{bump_id(report)}")
        add(entry, "updated", report["measured"] or now)
        add(entry, "link", href=f"bumps.html#{bump_id(report)}")
        add(entry, "summary", _printable(f"{report['summary']['sentence']} Machine: {report['machine']}."))
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _printable(text: str) -> str:
    # XML 1.0 has no way to write most control characters.
    return "".join(character if character.isprintable() else " " for character in text)
