"""The chart library: plotly's one file out of its Python package, for the pages that draw a chart when asked."""

import importlib.util
import pathlib
import shutil

from asv.console import log

FILE = "plotly.min.js"


def serve(folder: pathlib.Path) -> bool:
    """Copy the library into the site; return whether it is there. Without plotly the pages say everything in tables."""
    found = importlib.util.find_spec("plotly")
    source = pathlib.Path(found.submodule_search_locations[0], "package_data", FILE) if found else None
    if source is None or not source.is_file():
        log.warning("the pages have no charts: plotly is not installed; make setup installs it")
        return False
    shutil.copyfile(source, folder / FILE)
    return True
