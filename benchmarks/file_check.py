"""Checks and audits of the workloads and probes of one file, in the running environment.

`python -m benchmarks.file_check MODULE` prints one line a check and audit at the smallest size. Exit status: 0 all fine
(flags are no failure: they say what a figure means), 1 something failed, 3 nothing could be run here.
"""

import argparse
import importlib
import inspect
import itertools
import json
import os
import sys
import tempfile

from . import correctness, frameworks, probe, workload

FAILED = 1
NOTHING_RAN = 3


class Tally:
    """Prints the lines and counts them by outcome."""

    def __init__(self):
        self.counts = dict.fromkeys(("ok", "flagged", "FAILED", "skipped"), 0)

    def line(self, outcome, what, text):
        self.counts[outcome] += 1
        print(f"{outcome:<8} {what}: {text}", flush=True)

    def tried(self, what, run):
        """Return what `run()` returns; where it raises, print why and return None."""
        try:
            return run()
        except frameworks.Unsupported as reason:
            self.line("skipped", what, reason)
        except Exception as problem:
            first_line = (str(problem).strip().splitlines() or [""])[0]
            self.line("FAILED", what, f"{type(problem).__name__}: {first_line}")
        return None

    def status(self):
        if self.counts["FAILED"]:
            return FAILED
        return 0 if self.counts["ok"] or self.counts["flagged"] else NOTHING_RAN


def measured_of(module):
    """Return (complete, incomplete): the workload and probe classes of a module, and those that nothing completes."""
    members = [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__ == module.__name__ and issubclass(member, (workload.Workload, probe.Probe))
    ]
    complete = [member for member in members if not inspect.isabstract(member)]
    return complete, [
        member for member in members if inspect.isabstract(member) and not any(issubclass(c, member) for c in complete)
    ]


def installed():
    """Return the frameworks of this row."""
    return [name for name in frameworks.FRAMEWORKS if importlib.util.find_spec(name)]


def check_probe(made, tally):
    """Check every figure of a probe."""
    for label, run in correctness.checks(made):
        if label.split()[1] in installed():
            found = tally.tried(label, run)
            if found:
                tally.line("ok", label, "error {:.1e}, tolerance {:.1e}".format(*found))


def check_workload(made, tally, sidecar_path):
    """Make every step of a workload ready, as a measurement does: checks, warm-up, audits."""
    smallest = next(iter(made.sizes))
    axes = itertools.product(*made.params, made.modes, made.passes)
    for *params, mode, pass_ in axes:
        if params[0] not in installed() or params[2] != smallest:
            continue
        what = " ".join([type(made).__name__, params[0], mode, pass_, *map(str, params[1:])])
        written = os.path.getsize(sidecar_path)
        if tally.tried(what, lambda: made.prepare("wall", mode, pass_, *params) or True):  # noqa: B023 (called at once)
            for entry in _audits(sidecar_path, written):
                detail = ", ".join(f"{name} {_short(value)}" for name, value in entry["detail"].items())
                if entry["outcome"] == "ok":
                    tally.line("ok", f"{what}, {entry['audit']}", detail)
                else:
                    tally.line("flagged", f"{what}, {entry['audit']}", f"{entry['outcome']} ({detail})")
        made.release()


def _audits(path, offset):
    with open(path, encoding="utf-8") as stream:
        stream.seek(offset)
        entries = [json.loads(line) for line in stream]
    return [entry for entry in entries if entry["record"] == "audit"]


def _short(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.file_check", description=__doc__.split("\n\n")[0])
    parser.add_argument("module", help="name of a module of this package: normalise")
    arguments = parser.parse_args(argv)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        sidecar_path = os.environ["BENCH_SIDECAR"] = os.path.join(folder, "row.jsonl")
        open(sidecar_path, "w", encoding="utf-8").close()
        module = tally.tried(arguments.module, lambda: importlib.import_module(f"{__package__}.{arguments.module}"))
        complete, incomplete = measured_of(module) if module else ([], [])
        if module and not complete and not incomplete:
            tally.line("FAILED", arguments.module, "defines no workload and no probe")
        for measured in incomplete:
            # asv leaves it out without a word.
            tally.line("FAILED", measured.__name__, f"lacks {', '.join(sorted(measured.__abstractmethods__))}")
        for measured in complete:
            made = tally.tried(measured.__name__, measured)
            if isinstance(made, probe.Probe):
                check_probe(made, tally)
            elif made:
                check_workload(made, tally, sidecar_path)
    print(", ".join(f"{count} {outcome.lower()}" for outcome, count in tally.counts.items()))
    return tally.status()


if __name__ == "__main__":
    sys.exit(main())
