"""asv's scripts from npm: what its real index.html becomes, and when its links stay."""

import json
import pathlib
import shutil

import asv
import pytest
from asv.util import UserError

from bumps.site import node, vendor

ASV_PAGES = pathlib.Path(asv.__file__).parent / "www"
ASV_INDEX = (ASV_PAGES / "index.html").read_text(encoding="utf-8")
# `alert(1)` hashed: openssl dgst -sha256 -binary | base64.
TEXT, DIGEST = b"alert(1)", "bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI="


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of packages that has every file, with contents that no hash of asv's matches."""
    for inside in (vendor.SAME | vendor.OTHER).values():
        path = tmp_path / "node_modules" / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TEXT)
    monkeypatch.setattr(node, "ensure", lambda: tmp_path / "node_modules")
    return tmp_path / "node_modules"


def site(tmp_path, page=ASV_INDEX):
    html = tmp_path / "html"
    html.mkdir()
    (html / "index.html").write_text(page, encoding="utf-8")
    return html


def test_every_script_and_style_of_this_asv_is_known():
    assert {link.address for link in vendor.links(ASV_INDEX)} == set(vendor.SAME) | set(vendor.OTHER)
    assert all(link.digest for link in vendor.links(ASV_INDEX))


def test_rewritten_page_takes_nothing_from_the_network():
    page = vendor.rewritten(ASV_INDEX, "../vendor")
    assert list(vendor.links(page)) == []
    assert page.count('src="../vendor/') == 9
    assert page.count('href="../vendor/bootstrap.min.css"') == 1
    assert "js_load_failure" not in page
    assert page.count("Content-Security-Policy") == 1
    # asv's own files are still there, and in the same order: flot's plugins need flot.
    names = ["jquery.min.js", "jquery.flot.js", "jquery.flot.axislabels.js", "asv.js", "graphdisplay"]
    assert sorted(names, key=page.index) == names


def test_hash_that_is_not_asvs_keeps_the_links(tmp_path, packages, capsys):
    html = site(tmp_path)
    assert vendor.serve(html) is False
    assert (html / "index.html").read_text() == ASV_INDEX
    assert not (html / vendor.FOLDER).exists()


def test_hash_is_computed_as_browsers_do(tmp_path, packages):
    address = "https://code.jquery.com/jquery-3.3.1.min.js"
    tag = f'<script src="{address}" integrity="sha256-{DIGEST}" crossorigin="anonymous"></script>'
    html = site(tmp_path, f"<html><head>{tag}</head></html>")
    assert vendor.serve(html) is True
    assert (html / "vendor" / "jquery.min.js").read_bytes() == TEXT
    assert '<script src="vendor/jquery.min.js"></script>' in (html / "index.html").read_text()


def test_address_of_a_later_asv_keeps_the_links(tmp_path, packages):
    page = '<html><head><script src="https://cdn.example.org/new.js"></script></head></html>'
    html = site(tmp_path, page)
    assert vendor.serve(html) is False
    assert (html / "index.html").read_text() == page


def test_without_npm_the_links_stay_and_the_site_is_published(tmp_path, monkeypatch):
    def fail():
        raise UserError("Node's npm is not installed")

    monkeypatch.setattr(node, "ensure", fail)
    html = site(tmp_path)
    assert vendor.serve(html) is False
    assert (html / "index.html").read_text() == ASV_INDEX


def test_without_npm_one_line_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "package-lock.json").write_text(
        json.dumps({"packages": {"": {}, "node_modules/a": {"integrity": "x"}}})
    )
    monkeypatch.setattr(node, "ROOT", tmp_path)
    monkeypatch.setattr(node, "MODULES", tmp_path / "node_modules")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="npm is not installed"):
        node.ensure()


def test_installed_packages_need_no_npm(tmp_path, monkeypatch):
    lock = {"packages": {"": {}, "node_modules/a": {"integrity": "x"}}}
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / ".package-lock.json").write_text(json.dumps(lock))
    monkeypatch.setattr(node, "ROOT", tmp_path)
    monkeypatch.setattr(node, "MODULES", tmp_path / "node_modules")
    monkeypatch.setenv("PATH", "")
    assert node.ensure() == tmp_path / "node_modules"
    lock["packages"]["node_modules/a"]["integrity"] = "y"
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    with pytest.raises(UserError, match="npm is not installed"):
        node.ensure()


def test_lock_file_names_no_registry():
    lock = json.loads((node.ROOT / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all(package["integrity"].startswith("sha512-") for name, package in lock["packages"].items() if name)


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_real_packages_have_the_hashes_that_asv_names(tmp_path):
    html = site(tmp_path)
    assert vendor.serve(html) is True
    assert len(list((html / vendor.FOLDER).iterdir())) == 10
