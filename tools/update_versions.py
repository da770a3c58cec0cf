#!/usr/bin/env python
"""Raise the asv version of every workload and probe whose computation, adapters or timing policy changed.

.venv/bin/python tools/update_versions.py          write benchmarks/versions.json
.venv/bin/python tools/update_versions.py --keep   write it, but keep the versions of what was known: for a change after
                                                   which every step is the same, so that stored figures stay comparable
.venv/bin/python tools/update_versions.py --check  only say what would change; exit status 1 if anything would
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import correctness, versions  # noqa: E402  (the project is no installed package)


def updated(stored: dict, fingerprints: dict[str, str], keep: bool = False) -> dict:
    """Return the versions to store: raised by one where the fingerprint differs, 1 for a new workload.

    With `keep` a known workload's version stays what it is.
    """
    result = {}
    for name, fingerprint in sorted(fingerprints.items()):
        old = stored.get(name, {"version": 0, "fingerprint": None})
        raised = old["fingerprint"] != fingerprint and not (keep and name in stored)
        result[name] = {"version": old["version"] + raised, "fingerprint": fingerprint}
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="change nothing; exit status 1 if something would change")
    choice.add_argument("--keep", action="store_true", help="raise no known version: every step is what it was")
    arguments = parser.parse_args()
    path = pathlib.Path(versions.PATH)
    measured = {**correctness.workloads(), **correctness.probes()}
    stored = json.loads(path.read_text())
    found = updated(stored, {name: versions.fingerprint(cls) for name, cls in measured.items()}, arguments.keep)
    changed = sorted(name for name in {*found, *stored} if found.get(name) != stored.get(name))
    for name in changed:
        old, new = stored.get(name, {}).get("version"), found.get(name, {}).get("version")
        print(f"{name}: version {old} -> {new}")
    if arguments.check:
        if changed:
            print("run tools/update_versions.py and commit benchmarks/versions.json")
        return bool(changed)
    path.write_text(json.dumps(found, indent=4) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
