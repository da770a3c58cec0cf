"""Times what our pages add to `asv publish`: `python tools/time_publish.py [--releases 50] [--steps 500] …`.

Publishes a synthetic archive (tools/make_results.py) twice, without our publisher and with it, and prints seconds, peak
memory and the pages' weights; where Chromium and playwright are installed, also how long `bumps.html` takes to open.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import make_results

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("bumps.html", "frameworks.html", "method.html", "bumps.json", "bumps.xml")


def make_project(folder: pathlib.Path, args: argparse.Namespace) -> None:
    """Make a project with the archive. Our code is copied: releases have the dates of the folder beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "bumps", folder / "bumps", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / name, folder / name)
    if (ROOT / "node_modules").is_dir():
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
    make_results.write_dates(folder / "env_matrix" / "constraints", args.releases)
    git = ["git", "-c", "user.name=timer", "-c", "user.email=timer@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "suite"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    log = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    make_results.write(folder / "results", args.releases, args.steps, args.machines, log.stdout.strip())


def publish(folder: pathlib.Path, plugins: list[str]) -> tuple[float, float]:
    """Run `asv publish`; return its seconds and the peak memory of its largest process in GiB."""
    config = {
        "version": 1, "project": "timed", "repo": ".", "branches": ["HEAD"], "environment_type": "virtualenv",
        "plugins": plugins, "results_dir": "results", "html_dir": "html",
    }  # fmt: skip
    (folder / "asv.conf.json").write_text(json.dumps(config))
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "asv", "publish", "--no-pull"]
        asv = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(asv.pid, 0)
        if status != 0:
            output.seek(0)
            sys.exit(output.read().decode(errors="replace"))
    return time.perf_counter() - started, usage.ru_maxrss / 2**20


def weigh(html: pathlib.Path) -> None:
    for name in PAGES:
        print(f"{name}: {(html / name).stat().st_size / 2**20:.2f} MiB")
    for name in ("bumps-older", "frameworks-data", "releases"):
        sizes = [path.stat().st_size for path in (html / name).rglob("*") if path.is_file()]
        print(f"{name}/: {len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB, largest {max(sizes) / 2**20:.2f} MiB")


def open_pages(html: pathlib.Path) -> None:
    """Print how long pages take until they are loaded and painted, from the file system, in Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("not opened: playwright is not installed")
        return
    if not shutil.which("chromium"):
        print("not opened: chromium is not installed")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        browser.new_page().goto("about:blank")
        for name in ("bumps.html", "frameworks.html"):
            page = browser.new_page()
            started = time.perf_counter()
            page.goto((html / name).as_uri(), wait_until="load")
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            print(f"{name} opens in {time.perf_counter() - started:.2f} s")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    make_results.add_arguments(parser)
    parser.add_argument("--keep", type=pathlib.Path, help="make the project in this new folder and leave it there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.keep or pathlib.Path(temporary) / "project").absolute()
        make_project(folder, args)
        size = sum(path.stat().st_size for path in (folder / "results").rglob("*") if path.is_file()) / 2**20
        print(f"{args.releases} releases × {args.steps} steps × {args.machines} machines: {size:.0f} MiB", flush=True)
        alone, _ = publish(folder, [])
        print(f"asv publish alone: {alone:.1f} s", flush=True)
        both, peak = publish(folder, [".bumps.publisher"])
        print(f"with our pages: {both:.1f} s, {both - alone:.1f} s more, {peak:.2f} GiB at most", flush=True)
        weigh(folder / "html")
        open_pages(folder / "html")


if __name__ == "__main__":
    main()
