"""Which components differ between two rows. Pure."""

import dataclasses
import re

from asv.util import UserError

from env_matrix.constraints import Constraints

NAMES = {
    "nvidia-cublas": "cuBLAS",
    "nvidia-cuda-cupti": "CUPTI",
    "nvidia-cuda-nvcc": "NVCC",
    "nvidia-cuda-nvrtc": "NVRTC",
    "nvidia-cuda-runtime": "CUDA runtime",
    "nvidia-cudnn": "cuDNN",
    "nvidia-cufft": "cuFFT",
    "nvidia-cufile": "cuFile",
    "nvidia-curand": "cuRAND",
    "nvidia-cusolver": "cuSOLVER",
    "nvidia-cusparse": "cuSPARSE",
    "nvidia-cusparselt": "cuSPARSELt",
    "nvidia-nccl": "NCCL",
    "nvidia-nvjitlink": "nvJitLink",
    "nvidia-nvshmem": "NVSHMEM",
    "nvidia-nvtx": "NVTX",
}


@dataclasses.dataclass(frozen=True)
class Difference:
    """One component of two rows; the version is None where a row has none of it."""

    component: str
    old: str | None
    new: str | None

    @property
    def change(self) -> str:
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "same" if self.old == self.new else "changed"


def accelerator_of(package: str, version: str) -> str | None:
    """Return for which accelerator alone a package is installed, None for one that every build has."""
    match = re.search(r"-cu(?:da)?(\d+)(?:-|$)", package)
    if match:
        return f"cuda{match.group(1)}"
    if package in ("cuda-bindings", "cuda-toolkit"):
        return f"cuda{version.split('.')[0]}"
    # From CUDA 13 on NVIDIA's packages have no major in their names; libraries have versions of their own.
    return "cuda13" if package.startswith("nvidia-") else None


def is_part_of(package: str, version: str, accelerator: str) -> bool:
    """Whether a build for an accelerator installs a package of its constraints."""
    if accelerator == "cpu" and package.startswith("cuda-"):
        return False
    return accelerator_of(package, version) in (None, accelerator)


def components(pins: dict[str, str], accelerator: str) -> dict[str, str]:
    """Return component -> version of what a build for an accelerator installs.

    A component has one name whatever the CUDA major: `nvidia-cudnn-cu12` and `nvidia-cudnn-cu13` are both cuDNN.
    """
    found = {}
    for package, version in pins.items():
        if not is_part_of(package, version, accelerator):
            continue
        stem = re.sub(r"-cu(?:da)?\d+(?=-|$)", "", package)
        found[NAMES.get(stem, stem)] = version
    return found


def differences(old: Constraints, new: Constraints, python: str, accelerators: tuple[str, str]) -> list[Difference]:
    """Return every component of two rows, changed ones and same ones; the frameworks themselves come first."""
    before = components(old.pinned(python), accelerators[0])
    after = components(new.pinned(python), accelerators[1])
    framework = {old.release.framework, new.release.framework}
    names = sorted({*before, *after}, key=lambda name: (name not in framework, name.lower()))
    return [Difference(name, before.get(name), after.get(name)) for name in names]


def choose_accelerator(found: Constraints, wanted: str | None) -> str:
    """Return for which build a row is looked at: the wanted one, else the lowest CUDA major there is.

    Raises UserError for a build that the release does not have.
    """
    if wanted is None:
        return next((name for name in found.accelerators if name != "cpu"), "cpu")
    if wanted not in found.accelerators:
        raise UserError(f"{found.release} has no build for {wanted}, only for {', '.join(found.accelerators)}")
    return wanted


def choose_python(old: Constraints, new: Constraints, wanted: str | None, candidates: list[str]) -> str:
    """Return on which Python two rows are looked at; raises UserError where none holds both."""
    both = [python for python in candidates if all(found.supports(f"{python}.0") for found in (old, new))]
    if wanted is not None:
        for found in (old, new):
            if not found.supports(f"{wanted}.0"):
                raise UserError(f"{found.release} does not install on Python {wanted}; choose another --python")
        return wanted
    if not both:
        raise UserError(f"no Python holds both {old.release} and {new.release}; look at each with its own --python")
    return both[0]
