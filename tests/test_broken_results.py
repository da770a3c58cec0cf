"""Results that were damaged at random places: whatever is read of them, reading and judging never fail."""

import copy
import json
import math
import random
import shutil
import types
import xml.etree.ElementTree as ElementTree

import pytest
from archive import EPOCH, iso, write_sidecar
from asv.util import UserError
from test_check import EAGER, Session, measured, two_releases

from bumps import check
from bumps.results import Archive
from bumps.site import navigation, pages

JUNK = [None, True, -1, 0, 1e308, math.nan, math.inf, 10**400, "x", "", "../..", [], {}, [[]], [None], {"a": 1}]
JUNK += ["\ud800", "\x00\x08", "ж" * 300]


def damage(value, generator):
    """Replace or remove something somewhere inside a JSON value."""
    place = None
    while isinstance(value, (dict, list)) and value and generator.random() < 0.85:
        key = generator.choice(list(value)) if isinstance(value, dict) else generator.randrange(len(value))
        place, value = (value, key), value[key]
    if place is None:
        return
    container, key = place
    if generator.random() < 0.2:
        del container[key]
    else:
        container[key] = copy.deepcopy(generator.choice(JUNK))


def damage_file(path, generator):
    if path.suffix == ".jsonl":
        lines = path.read_text().splitlines()
        number = generator.randrange(len(lines))
        record = json.loads(lines[number])
        damage(record, generator)
        lines[number] = json.dumps(record)
        path.write_text("\n".join(lines) + "\n")
    else:
        content = json.loads(path.read_text())
        damage(content, generator)
        path.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    two_releases(folder)
    Session(folder, "two", EPOCH + 90_000).row({"jax": "0.10.2"}, measured()).row({"jax": "0.11.2"}, measured()).write()
    stated = {"benchmark": EAGER["name"], "params": ["jax", "fp32"]}
    for release in ("0.9.2", "0.10.2"):
        write_sidecar(
            folder,
            f"pinned-py3.11-jax{release}-BENCH_ACCELERATORcpu",
            [
                {"record": "environment", "packages": {"jax": release, "numpy": "2.4"}, "devices": ["cpu"]},
                {"record": "audit", **stated, "version": "1", "audit": "work", "outcome": "elided", "detail": {}},
                {"record": "audit", **stated, "audit": "ceiling", "outcome": "ok", "detail": {"flops_analytic": 1e9}},
                {
                    "record": "audit",
                    **stated,
                    "audit": "device",
                    "outcome": "ok",
                    "detail": {"threads": 2, "cpus": [0]},
                },
                {"record": "status", **stated, "status": "failed", "reason": "x"},
                {"record": "telemetry", **stated, "time": iso(EPOCH + 12), "disturbed": ["slowdown"]},
                {"record": "cost", **stated},
            ],
        )
    return folder


def damaged(whole, folder, seed):
    """Copy the results, damage three files of the copy, and return it."""
    generator = random.Random(seed)
    shutil.copytree(whole, folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in generator.sample(paths, 3):
        damage_file(path, generator)
    return folder


@pytest.mark.parametrize("seed", range(150))
def test_damaged_results_are_read_and_judged(whole, tmp_path, seed):
    archive = Archive(damaged(whole, tmp_path / "results", seed))
    for bump in check.bumps(archive):
        try:
            report = check.report(archive, None, *bump, acknowledgements=())
        except UserError:
            continue
        json.dumps(report, allow_nan=False)


@pytest.mark.parametrize("seed", range(60))
def test_pages_of_damaged_results_are_written(whole, tmp_path, seed):
    archive = Archive(damaged(whole, tmp_path / "results", seed))
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("")
    conf = types.SimpleNamespace(html_dir=str(tmp_path / "html"), project="p", regressions_thresholds={})
    pages.write(conf, archive, {})
    ElementTree.parse(tmp_path / "html" / "bumps.xml")
    assert "</html>" in (tmp_path / "html" / navigation.RELEASE_LIST).read_text()
