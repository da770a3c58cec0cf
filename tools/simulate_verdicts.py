#!/usr/bin/env python
"""Simulate bumps with known truth and write the error rates of the judgement into docs/verdicts.md.

.venv/bin/python tools/simulate_verdicts.py --write   about half an hour on one core
.venv/bin/python tools/simulate_verdicts.py --quick   a hundredth of the benchmarks, printed only
"""

import argparse
import itertools
import math
import pathlib
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from asv._stats import is_different  # noqa: E402  (the project is no installed package)

from bumps import noise, verdict  # noqa: E402
from bumps.simulation import Outcome, Truth, judge_alone, simulate  # noqa: E402
from bumps.verdict import Case, Judgement, Next, Side, Verdict  # noqa: E402

DOCUMENT = ROOT / "docs" / "verdicts.md"
BEGIN, END = "<!-- measured by tools/simulate_verdicts.py -->", "<!-- end -->"
SEED = 20250
UNCHANGED = 100_000
CHANGED = 2_000
NEVER = 20_000
PAIRS = 1_000
LEVELS = (0.0014, 0.005, 0.01, 0.02, 0.035, 0.08, 0.24)
MODELS = tuple(noise.MODELS)

# One-sided level of the plain t interval at each look: half of the judgement's own, since it has two looks.
PLAIN_LEVEL = verdict.FALSE_ALARM / 2


def plain_t(cases: Sequence[Case]) -> list[Judgement]:
    """Judge by the baseline: a t interval of the difference of mean log medians, its variance pooled over old, new and
    control, with the same margins, confirmation and largest number of processes."""
    by_size = defaultdict(list)
    for case in cases:
        by_size[len(case.old.medians)].append(case)
    found = {}
    for size, members in by_size.items():
        old, new, control = (
            np.log([side(case).medians for case in members])
            for side in (lambda case: case.old, lambda case: case.new, lambda case: case.controls[0][1])
        )
        freedom = 3 * (size - 1)
        variance = sum(side.var(axis=1) for side in (old, new, control)) * size / freedom
        halves = np.sqrt(2 * variance / size) * stats.t.isf(PLAIN_LEVEL, freedom)
        for case, shift, half in zip(members, new.mean(axis=1) - old.mean(axis=1), halves, strict=True):
            margin, following = math.log1p(case.margin), Next.NOTHING
            if abs(shift) > max(margin, half):
                outcome = Verdict.REGRESSED if shift > 0 else Verdict.IMPROVED
                if len(case.new.batches) < 2:
                    outcome, following = Verdict.AMBIGUOUS, Next.CONFIRM
            elif abs(shift) + half < margin:
                outcome = Verdict.SAME
            else:
                outcome = Verdict.AMBIGUOUS
                following = Next.MEASURE_MORE if size < verdict.MOST_PROCESSES else Next.NOTHING
            found[case.key] = Judgement(case.key, outcome, None, None, None, case.margin, None, "", following)
    return [found[case.key] for case in cases]


def asv_false_alarms(model: str, level: float, pairs: int) -> float:
    """Return the share of unchanged pairs that asv's own test calls slower or faster: 5 processes of 20 samples a side,
    samples within a process spread as much as processes do."""
    generator = np.random.default_rng(SEED)
    different = 0
    for _ in range(pairs):
        old, new = (
            noise.medians(generator, noise.MODELS[model], (5, 1), level, 1.0)
            * np.exp(generator.standard_normal((5, 20)) * level)
            for _ in range(2)
        )
        different += is_different(list(old.ravel()), list(new.ravel()), None, None)
    return different / pairs


def percent(fraction: float, digits: int = 1) -> str:
    return f"{100 * fraction:.{digits}f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def alarms(outcome: Outcome) -> str:
    return f"{1000 * outcome.share(Verdict.REGRESSED):.2f} (≤ {1000 * outcome.upper_bound(Verdict.REGRESSED):.2f})"


def unchanged(scale: float) -> Iterator[str]:
    yield f"### Identical releases, {int(UNCHANGED * scale):,} benchmarks a line, multiplicity control off"
    yield ""
    yield (
        "False `regressed` per 1,000 benchmarks, its 95 % upper bound in brackets. *measured levels*: the 300 "
        "benchmarks of a bump have the noise levels measured on the H200, mixed; otherwise all have the one named."
    )
    yield ""
    rows = []
    for model in MODELS:
        for name, levels, count in (
            ("measured levels", noise.MEASURED_LEVELS, UNCHANGED),
            *((percent(level, 2), (level,), UNCHANGED // 4) for level in LEVELS),
        ):
            report(f"unchanged, {model}, {name}")
            truth = Truth(model, levels)
            ours = simulate(SEED, truth, int(count * scale), judge_alone)
            plain = simulate(SEED, truth, int(count * scale), plain_t)
            asv = "" if len(levels) > 1 else percent(asv_false_alarms(model, levels[0], int(PAIRS * scale) + 1), 0)
            rows.append(
                [
                    model,
                    f"{name} ({ours.total:,})",
                    alarms(ours),
                    percent(ours.share(Verdict.SAME)),
                    f"{ours.processes_a_side:.1f}",
                    alarms(plain),
                    percent(plain.share(Verdict.SAME)),
                    f"{plain.processes_a_side:.1f}",
                    asv,
                ]
            )
    yield from table(
        [
            "noise",
            "sd (benchmarks)",
            "false alarms",
            "`same`",
            "processes a side",
            "plain t: false alarms",
            "`same`",
            "processes",
            "asv's test: different",
        ],
        rows,
    )


CHANGES = (
    ("normal", 0.005, 0.02),
    ("normal", 0.005, 0.065),
    ("normal", 0.01, 0.10),
    ("normal", 0.035, 0.08),
    ("normal", 0.035, 0.15),
    ("normal", 0.08, 0.20),
    ("normal", 0.08, 0.30),
    ("normal", 0.24, 0.50),
    ("heavy-tailed", 0.005, 0.065),
    ("heavy-tailed", 0.01, 0.10),
    ("heavy-tailed", 0.035, 0.15),
    ("heavy-tailed", 0.08, 0.20),
    ("heavy-tailed", 0.08, 0.30),
    ("bimodal", 0.0014, 0.10),
    ("bimodal", 0.005, 0.10),
    ("bimodal", 0.01, 0.10),
    ("bimodal", 0.02, 0.10),
    ("bimodal", 0.035, 0.15),
    ("bimodal", 0.08, 0.30),
    ("disturbed", 0.005, 0.065),
    ("disturbed", 0.01, 0.10),
    ("disturbed", 0.035, 0.15),
    ("disturbed", 0.08, 0.30),
)


def changed(scale: float) -> Iterator[str]:
    yield f"### Real changes in one benchmark of ten, {int(CHANGED * scale):,} changed benchmarks a line, everything on"
    yield ""
    rows = []
    for model, level, change in CHANGES:
        report(f"changed, {model}, {percent(level, 2)}, {percent(change)}")
        truth = Truth(model, (level,), change, changed=0.1)
        count = int(CHANGED * scale)
        ours, plain = (simulate(SEED, truth, count, judging) for judging in (verdict.judge, plain_t))
        rows.append([model, percent(level, 2), f"+{percent(change)}", *shares(ours), *shares(plain)])
    columns = ["`regressed`", "`same`", "`ambiguous`", "processes"]
    yield from table(
        ["noise", "sd", "true change", *columns, *(f"plain t: {column}" for column in columns)],
        rows,
    )


def shares(outcome: Outcome) -> list[str]:
    wanted = (Verdict.REGRESSED, Verdict.SAME, Verdict.AMBIGUOUS)
    return [*(percent(outcome.share(each), 2) for each in wanted), f"{outcome.processes_a_side:.1f}"]


def never_same(scale: float) -> Iterator[str]:
    yield f"### +10 % in every benchmark, bimodal, {int(NEVER * scale):,} benchmarks a line"
    yield ""
    rows = []
    for level in (0.0014, 0.005, 0.01):
        report(f"never same, {percent(level, 2)}")
        outcome = simulate(SEED, Truth("bimodal", (level,), 0.10), int(NEVER * scale), judge_alone)
        rows.append([percent(level, 2), f"{outcome.verdicts[Verdict.SAME]}", *shares(outcome)])
    columns = ["called `same`", "`regressed`", "`same`", "`ambiguous`", "processes"]
    yield from table(["sd around each level", *columns], rows)


def stored_batch(scale: float) -> Iterator[str]:
    yield "### One stored batch of 5 processes a side that nothing can confirm, identical releases"
    yield ""
    yield (
        "With a control (5 processes of the new row under its second name), as a plain `asv run` leaves it for the "
        "newest release, and without one."
    )
    yield ""
    rows = []
    for model in MODELS:
        for controlled in (True, False):
            report(f"one stored batch, {model}")
            outcome = simulate_stored(model, controlled, int(UNCHANGED * scale))
            name = "with" if controlled else "without"
            rows.append([model, name, alarms(outcome), percent(outcome.share(Verdict.SAME))])
    yield from table(["noise", "control", "false alarms per 1,000", "`same`"], rows)


def simulate_stored(model: str, controlled: bool, count: int) -> Outcome:
    generator = np.random.default_rng(SEED)
    outcome = Outcome(Counter(), 0)
    while outcome.total < count:
        sds = generator.choice(noise.MEASURED_LEVELS, 300)[:, None]
        sides = [
            [Side((tuple(row),)) for row in noise.medians(generator, noise.MODELS[model], (300, 5), sds, 1.0).tolist()]
            for _ in range(3)
        ]
        cases = [
            Case(key, old, new, ((new, control),) if controlled else (), stored_only=True)
            for key, (old, new, control) in enumerate(zip(*sides, strict=True))
        ]
        outcome += Outcome(Counter(judgement.verdict for judgement in judge_alone(cases)), 5 * len(cases))
    return outcome


def speed(scale: float) -> Iterator[str]:
    yield "### Speed"
    yield ""
    releases, benchmarks = max(2, int(50 * min(1, 10 * scale))), 2000
    report(f"speed, {releases} releases")
    generator = np.random.default_rng(SEED)
    sds = generator.choice(noise.MEASURED_LEVELS, benchmarks)[:, None]
    model = noise.heavy_tailed
    series = [
        [Side((tuple(row),)) for row in noise.medians(generator, model, (benchmarks, 5), sds, 1e-3).tolist()]
        for _ in range(releases)
    ]
    began = time.process_time()
    for old, new in itertools.pairwise(series):
        verdict.judge([Case(key, a, b, stored_only=True) for key, (a, b) in enumerate(zip(old, new, strict=True))])
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield (
        f"Judging {releases} releases × {benchmarks:,} benchmarks × 5 processes, each release against the next, takes "
        f"{took:.1f} s on one core; the whole simulation's largest memory is {peak:.2f} GiB."
    )


def report(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/verdicts.md")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the benchmarks")
    args = parser.parse_args()
    scale = 0.01 if args.quick else 1.0
    parts = [list(part(scale)) for part in (unchanged, changed, never_same, stored_batch, speed)]
    text = "\n\n".join("\n".join(part) for part in parts)
    print(text)
    if args.write:
        document = DOCUMENT.read_text(encoding="utf-8")
        head, rest = document.split(BEGIN)
        tail = rest.split(END)[1]
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
