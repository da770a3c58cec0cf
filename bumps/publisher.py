"""asv's plugin for the pages: asv.conf.json names this module, and `asv publish` finds the class."""

from asv.console import log
from asv.publishing import OutputPublisher
from asv.util import UserError


class BumpPages(OutputPublisher):
    name = "bumps"
    button_label = "Bumps"
    description = "What each library bump changed"
    order = 100

    @classmethod
    def publish(cls, conf, repo, benchmarks, graphs, revisions):
        """Write the pages; what goes wrong with some of them must not cost the others, nor asv's own site."""
        from bumps.results import Archive
        from bumps.site import grid, pages, releases, vendor

        is_vendored = False
        try:
            grid.fill(conf.html_dir, benchmarks)
            is_vendored = vendor.serve(conf.html_dir)
        except OSError as error:
            log.error(f"asv's own pages are not complete: {error}")
        try:
            archive = Archive(conf.results_dir)
        except (UserError, OSError) as error:
            log.error(f"our pages were not written: {error}")
            return
        try:
            releases.write(conf, archive, is_vendored)
        except (UserError, OSError) as error:
            log.error(f"the pages over releases were not written: {error}")
        try:
            pages.write(conf, archive)
        except (UserError, OSError) as error:
            log.error(f"the pages of bumps were not written: {error}")
