"""`doctor`: pre-flight checks of this machine."""

import os
import sys

import asv.config
from asv.util import UserError

from env_matrix import accelerator, constraints, cpu, doctor, index, lock, machine_facts, matrix, output
from env_matrix.releases import Release, parse_all, release_of


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "doctor",
        help="check this machine before a run",
        description="Checks Pythons, the driver against each row's CUDA build, disk, LD_LIBRARY_PATH, the package "
        "index, other users of the GPU, and what disturbs a CPU's figures.",
        epilog="Exit status: 0 nothing is in the way (warnings at most), 1 something is, 2 an error.",
    )
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help="rows to look at; default: the whole matrix")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args) -> int:
    checks = examine(_chosen_rows(args.releases))
    if args.json:
        output.as_json(
            [
                {"check": check.name, "status": check.status, "found": check.found, "advice": check.advice}
                for check in checks
            ]
        )
    else:
        output.table(
            ["check", "status", "found", "what to do"],
            [[check.name, check.status, check.found, check.advice] for check in checks],
        )
    return 1 if any(check.status == doctor.FAILURE for check in checks) else 0


def _chosen_rows(words: list[str]) -> list[Release]:
    known = matrix.load()
    wanted = []
    for release in (release_of(*pair) for pair in parse_all(words)):
        row = known.row_of(release)
        if row is None:
            raise UserError(f"the matrix has no {release}; add it: python -m env_matrix add {release.requirement}")
        wanted.append(row)
    return wanted or list(known.rows)


def examine(releases: list[Release]) -> list[doctor.Check]:
    """Return every check of this machine against rows of the matrix."""
    rows, without = [], []
    for row in releases:
        if constraints.path_of(row).exists():
            rows.append((row, constraints.load(row)))
        else:
            without.append(row)
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    chosen = accelerator.chosen()
    own = [(row, found) for row, found in rows if found.supports(f"{here}.0")]

    checks = [
        doctor.judge_python(machine_facts.find_python(version), rows, running=version == here)
        for version in sorted({here, *lock.PYTHONS}, key=lambda version: (version != here, version))
    ]
    checks.append(doctor.judge_constraints(without))
    checks += doctor.judge_driver(accelerator.driver_version(), chosen, own)
    checks += doctor.judge_gpus(machine_facts.gpus())
    checks += _index_and_disk(own, chosen, here)
    library_path = os.environ.get("LD_LIBRARY_PATH")
    checks.append(doctor.judge_library_path(library_path, machine_facts.shadowing_libraries(library_path)))
    checks.append(doctor.judge_compiler(machine_facts.compiler()))
    checks.append(doctor.judge_governors(machine_facts.governors()))
    checks.append(doctor.judge_smt(machine_facts.smt_active()))
    allowed = cpu.allowed()
    checks.append(doctor.judge_load(os.getloadavg()[0], allowed))
    checks.append(doctor.judge_affinity(allowed, os.cpu_count() or allowed, machine_facts.cpu_quota()))
    return checks


def _index_and_disk(rows, chosen: str, python: str) -> list[doctor.Check]:
    env_dir = matrix.PATH.parent / asv.config.Config.load(str(matrix.PATH)).env_dir
    built = machine_facts.built_rows(env_dir, python, chosen)
    missing = [(row, found) for row, found in rows if (row.framework, str(row.version)) not in built]
    problem = needed = None
    try:
        settings = index.settings()
        index.fetch("jax", settings)
    except UserError as error:
        problem = str(error)
    if missing and problem is None:
        output.progress("asking the package index for the sizes of what is not installed yet …")
        try:
            needed = doctor.disk_needed(machine_facts.wheels_of_rows(missing, chosen, python, settings))
        except UserError:
            needed = None
    releases = [row for row, _ in missing]
    return [
        doctor.judge_index(problem, releases),
        doctor.judge_disk(needed, machine_facts.free_disk(env_dir), releases),
    ]
