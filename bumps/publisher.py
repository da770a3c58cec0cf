"""asv's plugin for the pages: asv.conf.json names this module, and `asv publish` finds the class."""

from asv.console import log
from asv.publishing import OutputPublisher
from asv.util import UserError

from bumps.site import asv_input


def setup():
    """Called by asv when it loads the plugin, before it publishes."""
    BumpPages.reader = asv_input.install()


class BumpPages(OutputPublisher):
    name = "bumps"
    button_label = "Bumps"
    description = "What each library bump changed"
    order = 100
    reader: asv_input.Reader

    @classmethod
    def publish(cls, conf, repo, benchmarks, graphs, revisions):
        """Write the pages; what goes wrong with some of them must not cost the others, nor asv's own site."""
        from bumps.results import Archive
        from bumps.site import grid, pages, releases, vendor

        # asv's pages would ask for their files. Its index is written last, from the same dictionary.
        for name in cls.reader.too_long & benchmarks.keys():
            del benchmarks[name]
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
            pages.write(conf, archive, cls.reader.left_out)
        except (UserError, OSError) as error:
            log.error(f"the pages of bumps were not written: {error}")
