"""Run by a row's own interpreter, alone: says as JSON what is installed and what the frameworks see.

Usage: python inspect_row.py FRAMEWORK…
"""

import importlib
import importlib.metadata
import json
import platform
import sys


def torch_facts(torch):
    cuda = torch.version.cuda
    return {
        "cuda_major": int(cuda.split(".")[0]) if cuda else None,
        "devices": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "sees_gpu": torch.cuda.is_available(),
    }


def jax_facts(jax):
    names = {name.lower() for name in packages()}
    majors = [major for major in (13, 12) if f"jax-cuda{major}-plugin" in names]
    devices = jax.devices()
    return {
        "cuda_major": majors[0] if majors else None,
        "devices": [device.device_kind for device in devices],
        "sees_gpu": any(device.platform == "gpu" for device in devices),
        "jaxlib": importlib.import_module("jaxlib").__version__,
    }


def packages():
    return {
        distribution.metadata["Name"]: distribution.version
        for distribution in importlib.metadata.distributions()
        if distribution.metadata["Name"]
    }


def main():
    found = {"python": platform.python_version(), "packages": packages(), "frameworks": {}}
    for name, facts in (("torch", torch_facts), ("jax", jax_facts)):
        if name not in sys.argv[1:]:
            continue
        try:
            module = importlib.import_module(name)
            found["frameworks"][name] = {"version": module.__version__, **facts(module)}
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            found["frameworks"][name] = {"error": f"{type(error).__name__}: {text}"}
    print("\n" + json.dumps(found))


main()
