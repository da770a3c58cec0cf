"""A project with results of many releases, published by real asv: what the browser tests look at."""

import datetime
import json
import pathlib
import random
import subprocess
import sys

import archive as stored

from bumps.site import release_dates

# Releases that come later do not change what the tests see.
LAST = datetime.date(2026, 10, 31)
REPOSITORY = pathlib.Path(__file__).parent.parent
FRAMEWORKS = ("torch", "jax")
PRECISIONS, SIZES = ("bf16", "fp32"), ("small", "article")
# As long as the name of a probe, which has no workload's.
LONG_NAME = "AttentionOfGroupedQueriesWithASlidingWindow"
WORKLOADS = (
    ("matmul_chain.MatmulChain", 0.004),
    (f"attention.{LONG_NAME}", 0.012),
    ("article_chain.ArticleChain", 0.07),
)
CELLS = (("eager", "forward"), ("compiled", "forward"), ("eager", "grad"), ("compiled", "grad"))
# The releases that brought a change: framework, release, workload, factor from there on.
STEPS = (
    ("torch", "2.10.0", "matmul_chain.MatmulChain", 1.4),
    ("jax", "0.8.3", f"attention.{LONG_NAME}", 0.7),
    ("jax", "0.10.2", "matmul_chain.MatmulChain", 1.25),
)


def benchmarks(sizes=SIZES):
    """Return benchmarks as this suite's are: framework × precision × size of three workloads in four cells."""
    return [
        stored.benchmark(
            f"{name}.time_{mode}_{pass_}",
            params=[[repr(value) for value in values] for values in (FRAMEWORKS, PRECISIONS, sizes)],
            param_names=["framework", "precision", "size"],
            workload=name.partition(".")[2],
            mode=mode,
            clock="wall",
            code="def step(self):\n    return self.a < self.b",
            **{"pass": pass_},
        )
        for name, _ in WORKLOADS
        for mode, pass_ in CELLS
    ]


class SiteProject:
    """A project in a folder of its own whose only plugin is the publisher."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.results = folder / "results"
        self.html = folder / "html"
        folder.mkdir(parents=True)
        (folder / "bumps").symlink_to(REPOSITORY / "bumps")
        (folder / "asv.conf.json").write_text(
            json.dumps(
                {
                    "version": 1,
                    "project": "JAX and PyTorch",
                    "repo": ".",
                    "branches": ["HEAD"],
                    "environment_type": "virtualenv",
                    "plugins": [".bumps.publisher"],
                    "results_dir": "results",
                    "html_dir": "html",
                }
            )
        )
        git = ["git", "-c", "user.name=tester", "-c", "user.email=tester@example.org"]
        for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "suite"]):
            subprocess.run([*git, *arguments], cwd=folder, check=True)
        log = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
        self.commit = log.stdout.strip()

    def publish(self) -> str:
        """Run `asv publish`; return what it said."""
        command = [sys.executable, "-m", "asv", "publish", "--no-pull"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write_releases(self, machine=stored.MACHINE, suite=None, seed=0) -> None:
        """Write five processes of every dated release, and the control of each framework's newest."""
        chance = random.Random(seed)
        suite = suite or benchmarks()
        stored.write_suite(self.results, suite)
        for framework in FRAMEWORKS:
            releases = sorted(
                version for (name, version), date in release_dates.read().items() if name == framework and date <= LAST
            )
            factors = dict.fromkeys((name for name, _ in WORKLOADS), 1.0)
            for number, version in enumerate(releases):
                for name, release, workload, factor in STEPS:
                    if (name, release) == (framework, str(version)):
                        factors[workload] *= factor
                is_newest = version == releases[-1]
                for replica in (None, "control") if is_newest else (None,):
                    variables = {"BENCH_ACCELERATOR": "cpu"} | ({"REPLICA": replica} if replica else {})
                    stored.write_row(
                        self.results,
                        {framework: str(version)},
                        [(each, self._values(each, framework, factors, chance)) for each in suite],
                        machine=machine,
                        commit=self.commit,
                        env_vars=variables,
                        started=stored.EPOCH + 1000 * number,
                    )

    @staticmethod
    def _values(benchmark, framework, factors, chance):
        name = benchmark["name"].rpartition(".")[0]
        seconds = dict(WORKLOADS)[name] * factors[name] * (1.0 if framework == "torch" else 1.3)
        values = []
        for own in benchmark["params"][0]:
            for precision in benchmark["params"][1]:
                for size in range(len(benchmark["params"][2])):
                    if own != repr(framework):
                        values.append(stored.NAN)
                        continue
                    typical = seconds * (1 + size) * (2 if precision == "'fp32'" else 1)
                    values.append(stored.samples_of([typical * chance.gauss(1, 0.01) for _ in range(5)]))
        return values
