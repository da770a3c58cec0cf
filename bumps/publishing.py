"""Publishes the site: asv writes it beside the one that is there, then the two change places."""

import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

from bumps import process

NEW, OLD = ".new", ".old"


def publish(config_file: str, html_dir: str) -> str | None:
    """Run `asv publish`; return None when the site is there, else why it is not (the old one then stays).

    Works in the current directory, as asv does.
    """
    site = pathlib.Path(html_dir)
    new, old = (site.with_name(site.name + suffix) for suffix in (NEW, OLD))
    _recover(site, new, old)
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "asv", "publish", "--config", config_file, "--no-pull", "--html-dir", str(new)]
        with process.guarded(command, dict(os.environ), os.getcwd(), output) as guard:
            status = process.status_of(guard)
        output.seek(0)
        said = [line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    if status != 0:
        shutil.rmtree(new, ignore_errors=True)
        return said[-1] if said else f"asv publish ended with status {status}"
    with contextlib.suppress(FileNotFoundError):
        os.replace(site, old)
    os.replace(new, site)
    shutil.rmtree(old, ignore_errors=True)
    return None


def _recover(site: pathlib.Path, new: pathlib.Path, old: pathlib.Path) -> None:
    """Clear what a killed publish left; where it died between its two renames, the old site comes back."""
    if old.exists() and not site.exists():
        os.replace(old, site)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
