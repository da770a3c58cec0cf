"""Which component of an environment carries a change: the old row with one component at a time taken from the new."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from bumps.verdict import Judgement, Verdict

# A component carries a change when, swapped alone, it brings at least this share of it (in logarithms).
CARRIES = 0.5
CHANGES = (Verdict.REGRESSED, Verdict.IMPROVED)
# What can change a figure by itself: compiled code. The rest of what differs is swapped when it is named.
NATIVE_PREFIXES = ("nvidia-", "jax-cuda", "intel-", "mkl", "onednn")
NATIVE = ("jaxlib", "triton", "pytorch-triton", "numpy", "scipy", "ml-dtypes", "opt-einsum", "tbb")
# What measures is the same on both sides by construction; what differs of the rest is the framework.
HARNESS = ("asv-runner", "pip", "setuptools", "wheel", "nvidia-ml-py", "cupti-python")


@dataclass(frozen=True)
class Swap:
    """One component of the old row replaced by the new row's version."""

    component: str
    old: str
    new: str

    @property
    def override(self) -> str:
        """The value of BENCH_OVERRIDE that makes the row."""
        return f"{self.component}=={self.new}"


@dataclass(frozen=True)
class Carried:
    """How much of a change one swap brings: `share` of it in logarithms (1 is all), None where it was not decided."""

    swap: Swap
    judgement: Judgement
    share: float | None


@dataclass(frozen=True)
class Attribution:
    """What carries the change of one benchmark: `carriers` alone bring at least half of it, `undecided` may."""

    change: Judgement
    carriers: tuple[Carried, ...]
    undecided: tuple[Carried, ...]
    sentence: str


def swaps(components: Sequence[dict], framework: str, names: Sequence[str] = ()) -> tuple[list[Swap], list[str]]:
    """Return the swaps to try and, one line each, the components that differ and are not among them.

    `components` are the report's; `names` picks components, without it every one with compiled code. A component that
    only one side has cannot be swapped.
    """
    chosen, left_out = [], []
    wanted = {canonicalize_name(name) for name in names}
    for each in components:
        name = canonicalize_name(each["name"])
        if name in HARNESS or name == canonicalize_name(framework) or not _are_versions(each["old"], each["new"]):
            continue
        native = name in NATIVE or name.startswith(NATIVE_PREFIXES)
        if each["old"] is None or each["new"] is None:
            left_out.append(f"{each['name']}: only one of the two environments has it")
        elif name in wanted or (native and not wanted):
            chosen.append(Swap(each["name"], each["old"], each["new"]))
        else:
            left_out.append(f"{each['name']} {each['old']} → {each['new']}: not asked for")
    return chosen, left_out


def _are_versions(*texts: str | None) -> bool:
    try:
        return all(text is None or Version(text) for text in texts)
    except InvalidVersion:
        return False


def attribute(change: Judgement, swapped: Sequence[tuple[Swap, Judgement]]) -> Attribution:
    """Say which swaps carry a change.

    `change` is old → new, `swapped` are the judgements old → old with one component of the new row. A swap carries the
    change when it is called changed in the same direction and brings at least half of it; it is undecided when it is
    ambiguous, was not measured, or does not work with the rest of the old row.
    """
    carriers, undecided = [], []
    for swap, judgement in swapped:
        share = None
        if change.ratio and judgement.ratio and change.ratio != 1:
            share = math.log(judgement.ratio) / math.log(change.ratio)
        carried = Carried(swap, judgement, share)
        fails_alone = judgement.verdict is Verdict.BROKEN and change.verdict is not Verdict.BROKEN
        if fails_alone or judgement.verdict in (Verdict.AMBIGUOUS, Verdict.UNMEASURED):
            undecided.append(carried)
        elif judgement.verdict is change.verdict and (
            change.verdict is Verdict.BROKEN or (change.verdict in CHANGES and share is not None and share >= CARRIES)
        ):
            carriers.append(carried)
    sentence = _sentence(change, carriers, undecided, len(swapped))
    return Attribution(change, tuple(carriers), tuple(undecided), sentence)


def _sentence(change: Judgement, carriers: Sequence[Carried], undecided: Sequence[Carried], tried: int) -> str:
    if change.verdict not in (*CHANGES, Verdict.BROKEN):
        return f"nothing to attribute: the bump is {change.verdict}"
    if carriers:
        return " and ".join(map(_carrier, carriers)) + (
            " carry the change, each alone" if len(carriers) > 1 else " carries the change"
        )
    if undecided:
        names = ", ".join(f"{each.swap.component} ({each.judgement.verdict})" for each in undecided)
        return f"undecided: {names}; no other component carries the change alone"
    return f"none of the {tried} components carries the change alone: the framework itself does, or several together"


def _carrier(carried: Carried) -> str:
    swap, share = carried.swap, carried.share
    part = "" if share is None else f" ({100 * share:.0f} % of it)"
    return f"{swap.component} {swap.old} → {swap.new}{part}"
