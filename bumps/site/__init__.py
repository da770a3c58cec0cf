"""The pages that `asv publish` writes beside asv's own."""
