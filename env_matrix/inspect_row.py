"""Run by a row's own interpreter, alone: says as JSON what is installed and what the frameworks see.

Usage: python inspect_row.py RESULT_FILE FRAMEWORK…

The file is written again before each import, so that it names the framework whose import hangs or crashes.
"""

import os
import sys

# Python puts a script's folder first: our own modules would shadow the row's.
if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
    del sys.path[0]

import importlib
import importlib.metadata
import json
import platform


def torch_facts(torch):
    cuda = torch.version.cuda
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "cuda_major": int(cuda.split(".")[0]) if cuda else None,
        "devices": names or ["cpu"],
        "sees_gpu": torch.cuda.is_available(),
    }


def jax_facts(jax):
    names = {name.lower().replace("_", "-") for name in packages()}
    majors = [major for major in (13, 12) if f"jax-cuda{major}-plugin" in names]
    devices = jax.devices()
    return {
        "cuda_major": majors[0] if majors else None,
        "devices": [device.device_kind for device in devices],
        "sees_gpu": any(device.platform == "gpu" for device in devices),
        "jaxlib": importlib.import_module("jaxlib").__version__,
    }


FACTS = {"torch": torch_facts, "jax": jax_facts}


def packages():
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        # The first on the path is the one that is imported.
        if name and name not in found:
            found[name] = distribution.version
    return found


def main():
    result_file, frameworks = sys.argv[1], sys.argv[2:]
    found = {"python": platform.python_version(), "packages": packages(), "frameworks": {}}
    for name in frameworks:
        found["importing"] = name
        write(result_file, found)
        try:
            module = importlib.import_module(name)
            found["frameworks"][name] = dict(FACTS[name](module), version=module.__version__)
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            found["frameworks"][name] = {"error": f"{type(error).__name__}: {text}"}
    found["importing"] = None
    write(result_file, found)


def write(path, content):
    with open(path, "w") as stream:
        json.dump(content, stream)


main()
