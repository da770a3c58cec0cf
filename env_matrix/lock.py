"""Resolves a release as its first users got it: `uv pip compile` as of the release's date."""

import concurrent.futures
import datetime
import os
import re
import subprocess
import sys

from asv.util import UserError
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from env_matrix import index
from env_matrix.constraints import Constraints
from env_matrix.releases import Release

# Dependencies are sometimes uploaded a few days after the release that needs them.
DAYS_AFTER_RELEASE = 4
PYTHONS = ("3.11", "3.12", "3.13")
JAX_EXTRAS = ("cpu", "cuda12", "cuda13")
PLATFORM = "x86_64-manylinux_2_28"
# A user's own pins and strategies would make the same command write another file elsewhere.
FOREIGN_SETTINGS = (
    *("UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE", "UV_RESOLUTION", "UV_PRERELEASE", "UV_FORK_STRATEGY"),
    *("UV_TORCH_BACKEND", "UV_EXCLUDE_NEWER", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_FIND_LINKS"),
    "UV_CONFIG_FILE",
)

Pins = dict[str, str]


def about(release: Release, listed: dict) -> index.Published:
    """Return what the index says of a release; raises UserError for one that is unknown, yanked or without a wheel."""
    found = listed.get(release.public.version)
    if found is None:
        usable = [item.version for item in listed.values() if not item.yanked and item.wheel]
        same_series = [str(version) for version in usable if version.release[:2] == release.version.release[:2]]
        final = [str(version) for version in usable if not version.is_prerelease]
        raise UserError(f"the index has no {release}; it has {', '.join(same_series or final[-5:]) or 'no release'}")
    if found.yanked:
        raise UserError(f"{release} was yanked from the index; choose another release")
    if not found.wheel:
        raise UserError(f"the index has no wheel of {release}; choose another release")
    if found.date is None:
        raise UserError(f"the index gives no upload time for {release}, so nobody can say what belonged to it")
    return found


def lock(release: Release, listed: dict, chosen: index.Settings) -> Constraints:
    """Resolve one release for every supported Python and accelerator into one set of pins.

    `listed` is what the index has of the framework (`index.published`). Raises UserError when the release does not
    exist, was yanked, or resolves on no supported Python.
    """
    release = release.public
    found = about(release, listed)
    exclude_newer = found.date + datetime.timedelta(days=DAYS_AFTER_RELEASE)
    requires = found.requires_python or SpecifierSet()
    extras = JAX_EXTRAS if release.framework == "jax" else (None,)
    wanted = [(python, extra) for python in PYTHONS if requires.contains(f"{python}.0") for extra in extras]
    uv = find_uv()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as pool:
        outcomes = list(pool.map(lambda pair: compile_pins(uv, release, *pair, exclude_newer, chosen), wanted))

    resolved: dict[str, Pins] = {}
    accelerators, problems = {"cpu"}, []
    for (python, extra), (pins, problem) in zip(wanted, outcomes, strict=True):
        if problem:
            problems.append(problem)
        elif pins is not None:
            accelerators.add(extra or cuda_of(pins) or "cpu")
            _merge(resolved.setdefault(python, {}), pins, f"{release} on Python {python}")
    if not resolved:
        reason = problems[0] if problems else f"it needs Python {requires}"
        raise UserError(f"{release} resolves on none of Python {', '.join(PYTHONS)}: {reason}")
    return Constraints(
        release=release,
        released=found.date,
        exclude_newer=exclude_newer,
        requires_python=python_range(requires, list(resolved)),
        accelerators=tuple(sorted(accelerators)),
        pins=tuple(pin_lines(resolved)),
    )


def find_uv() -> str:
    """Return the path of our uv; raises UserError without one."""
    import uv

    try:
        return uv.find_uv_bin()
    except FileNotFoundError:
        raise UserError("uv is missing from the tools; install them again: make setup") from None


def compile_pins(
    uv: str, release: Release, python: str, extra: str | None, exclude_newer: datetime.date, chosen: index.Settings
) -> tuple[Pins | None, str | None]:
    """Resolve with uv; return (pins, None), (None, None) for an extra the release lacks, or (None, why not)."""
    name = f"{release.framework}[{extra}]" if extra else release.framework
    command = [
        *(uv, "pip", "compile", "-", "--no-header", "--no-annotate", "--only-binary", ":all:"),
        *("--python-version", python, "--python-platform", PLATFORM),
        # Only wheels are looked at, so any Python will do, and none has to be downloaded.
        *("--python", sys.executable, "--no-python-downloads"),
        # Its indexes are given below; the rest of a user's uv.toml would make other files elsewhere.
        "--no-config",
    ]
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN_SETTINGS}
    environment["UV_DEFAULT_INDEX"] = chosen.default
    if chosen.certificates:
        environment["SSL_CERT_FILE"] = chosen.certificates
    if release.version.is_prerelease:
        # A nightly's companions (jaxlib, triton) are pre-releases too, on an index that often gives no upload times:
        # it is resolved as of now, which is its date while it is one.
        command += ["--prerelease", "allow", "--index-strategy", "unsafe-best-match"]
        environment["UV_INDEX"] = " ".join(chosen.extra)
    else:
        # The end of that day, whatever the time zone.
        command += ["--exclude-newer", f"{exclude_newer}T23:59:59Z"]
    requirements = f"{name}=={release.version}\nnumpy\n"
    run = subprocess.run(
        command,
        input=requirements,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    # A dependency may lack an extra too, which is no matter of this release's.
    if extra and re.search(rf"`{release.framework}(==[^`]*)?` does not have an extra named `{extra}`", run.stderr):
        return None, None
    if run.returncode:
        return None, _reason(run.stderr)
    return parse_pins(run.stdout), None


def parse_pins(text: str) -> Pins:
    """Return name -> version of a resolution's `name==version` lines. Local tags stay out of a constraints file."""
    pins = {}
    for line in text.splitlines():
        if "==" in line:
            requirement = Requirement(line)
            version = next(iter(requirement.specifier)).version
            pins[canonicalize_name(requirement.name)] = version.partition("+")[0]
    return pins


def _reason(stderr: str) -> str:
    """Return the line of uv's error that says why."""
    lines = [line.strip(" ×╰─▶") for line in stderr.splitlines() if line.strip()]
    causes = [line.removeprefix("cause:").strip() for line in lines if line.startswith("cause:") or "ecause" in line]
    return (causes or lines or ["uv failed and said nothing"])[0][:300]


def cuda_of(pins: Pins) -> str | None:
    """Return `cuda12` or `cuda13` by the CUDA libraries among a torch release's pins, None for a build without."""
    for name, version in pins.items():
        match = re.fullmatch(r"nvidia-[a-z-]+-cu(\d+)", name)
        if match:
            return f"cuda{match.group(1)}"
        if name in ("nvidia-cublas", "nvidia-cuda-runtime", "cuda-toolkit"):
            return f"cuda{version.split('.')[0]}"
    return None


def _merge(known: Pins, pins: Pins, where: str) -> None:
    for name, version in pins.items():
        if known.setdefault(name, version) != version:
            raise UserError(f"{where} needs {name} {known[name]} for one accelerator and {version} for another")


def pin_lines(resolved: dict[str, Pins]) -> list[str]:
    """Return requirement lines for pins per Python (ascending): with a marker where Pythons differ.

    The lowest Python's pin also holds below it and the highest one's above it, so that no Python is left unpinned.
    """
    lines = []
    for name in sorted({name for pins in resolved.values() for name in pins}):
        versions: list[tuple[str | None, list[str]]] = []
        for python, pins in resolved.items():
            version = pins.get(name)
            if versions and versions[-1][0] == version:
                versions[-1][1].append(python)
            else:
                versions.append((version, [python]))
        for place, (version, pythons) in enumerate(versions):
            if version is None:
                continue
            bounds = []
            if place > 0:
                bounds.append(f'python_version >= "{pythons[0]}"')
            if place < len(versions) - 1:
                bounds.append(f'python_version < "{versions[place + 1][1][0]}"')
            lines.append(f"{name}=={version}" + (f" ; {' and '.join(bounds)}" if bounds else ""))
    return lines


def python_range(requires: SpecifierSet, pythons: list[str]) -> SpecifierSet:
    """Return on which Pythons a release installs: its own floor, narrowed to where it resolved among PYTHONS."""
    floor = next((f">={spec.version}" for spec in requires if spec.operator == ">="), f">={pythons[0]}")
    lowest, highest = PYTHONS.index(pythons[0]), PYTHONS.index(pythons[-1])
    if lowest > 0 and SpecifierSet(floor).contains(f"{PYTHONS[lowest - 1]}.0"):
        floor = f">={pythons[0]}"
    gaps = [f"!={python}.*" for python in PYTHONS[lowest:highest] if python not in pythons]
    ceiling = [f"<{PYTHONS[highest + 1]}"] if highest < len(PYTHONS) - 1 else []
    return SpecifierSet(",".join([floor, *gaps, *ceiling]))


def differences(old: Constraints | None, new: Constraints) -> list[str]:
    """Return what a re-resolution says otherwise, one line each; empty when the constraints reproduce."""
    if old is None:
        return ["there is no constraints file"]
    found = [
        f"{field.replace('_', '-')}: {getattr(old, field)} is now {getattr(new, field)}"
        for field in ("released", "exclude_newer", "requires_python", "accelerators")
        if getattr(old, field) != getattr(new, field)
    ]
    found += [f"only in the file: {pin}" for pin in old.pins if pin not in new.pins]
    return found + [f"only resolved now: {pin}" for pin in new.pins if pin not in old.pins]
