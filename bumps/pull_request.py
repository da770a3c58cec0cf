"""The comment on the pull request that proposes releases: one, replaced by the next measurement's. Through `gh`."""

import json
import re

from asv.util import UserError

from bumps.gh import gh

LISTED = 500


def find(head: str) -> int | None:
    """Return the number of the open pull request whose newest commit is `head`, None when there is none.

    Raises UserError for what is no commit hash, and when gh fails.
    """
    if not re.fullmatch(r"[0-9a-f]{40}", head):
        raise UserError(f"--head is the 40 hexadecimal digits of a commit, not {head!r}")
    listed = gh("pr", "list", "--state", "open", "--limit", str(LISTED), "--json", "number,headRefOid")
    try:
        return next((int(each["number"]) for each in json.loads(listed) if each["headRefOid"] == head), None)
    except (ValueError, KeyError, TypeError):
        raise UserError("gh did not list pull requests as JSON; update it") from None


def changed_paths(number: int) -> list[str]:
    """Return the paths that a pull request changes."""
    return gh("pr", "diff", str(number), "--name-only").splitlines()


def comment(number: int, text: str) -> None:
    """Post the comment, in place of the one that was posted before."""
    gh("pr", "comment", str(number), "--edit-last", "--create-if-none", "--body-file", "-", input=text)
