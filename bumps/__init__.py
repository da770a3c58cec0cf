"""What changed: results into verdicts, pages and alerts; the driver of asv."""
