"""Takes messages to where people are: stdout, a file, a GitHub issue through `gh`, any URL that apprise knows."""

import hashlib
import json
import pathlib
import re
import sys
import time

from asv.util import UserError

from bumps import files
from bumps.alert import Message
from bumps.gh import gh

ATTEMPTS = 3
PAUSE_SECONDS = 2.0
NOT_SETTLED = "nothing new: what was told before is neither confirmed nor cleared"
# GitHub's search finds an issue of any age, but a new one only after a while; the newest are listed at once.
OUR_ISSUES = """
query($owner: String!, $name: String!, $search: String!) {
  repository(owner: $owner, name: $name) { issues(last: 100) { nodes { number body state viewerDidAuthor } } }
  search(query: $search, type: ISSUE, first: 100) { nodes { ... on Issue { number body state viewerDidAuthor } } }
}
"""


class Sent:
    """What was sent last, by target and bump, in a file beside the results; GitHub's issues are their own memory."""

    def __init__(self, path: pathlib.Path):
        self._path = path
        try:
            self._states = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self._states = {}
        except (ValueError, RecursionError):
            self._states = None
        if not isinstance(self._states, dict):
            raise UserError(f"{path} is damaged; remove it, and alerts that were sent are sent once more")

    def before(self, target: str, message: Message) -> str | None:
        """Return the state that was sent last of this bump to this target."""
        return self._states.get(f"{target} {message.bump}")

    def remember(self, target: str, message: Message) -> None:
        self._states[f"{target} {message.bump}"] = message.state
        self._path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(self._path, json.dumps(self._states, indent=1, sort_keys=True).encode())


def deliver(message: Message, target: str, sent: Sent) -> str:
    """Deliver one message; return what was done in one line. Raises UserError when it could not be delivered.

    Targets: `stdout`, `file:PATH`, `github`, or a notification URL of apprise.
    """
    if target == "github":
        return GitHub().deliver(message)
    key = _key(target)
    before = sent.before(key, message)
    if message.repeats(before) or (before is None and not message.alarming):
        return "nothing new"
    if not message.alarming and not message.clears(before):
        return NOT_SETTLED
    if target == "stdout":
        sys.stdout.write(f"{message.title}\n\n{message.plain}\n")
    elif target.startswith("file:"):
        path = pathlib.Path(target.removeprefix("file:"))
        if path == pathlib.Path():
            raise UserError("file: lacks a path; use file:PATH")
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, f"# {message.title}\n\n{message.markdown}".encode())
    else:
        _notify(message, target)
    sent.remember(key, message)
    return "sent"


def _key(target: str) -> str:
    """Return what tells a target from all others. A URL's tokens do not belong in a file beside the results."""
    if target == "stdout" or target.startswith("file:"):
        return target
    return f"{_scheme(target)} {hashlib.blake2b(target.encode(), digest_size=8).hexdigest()}"


def _scheme(url: str) -> str:
    return url.split("://", 1)[0]


def _notify(message: Message, url: str) -> None:
    import apprise

    service = apprise.Apprise()
    if not service.add(url):
        raise UserError(f"{_scheme(url)}://… is no notification URL that apprise knows; see its list of services")
    for attempt in range(ATTEMPTS):
        if service.notify(title=message.title, body=message.markdown, body_format=apprise.NotifyFormat.MARKDOWN):
            return
        if attempt + 1 < ATTEMPTS:
            time.sleep(PAUSE_SECONDS)
    raise UserError(f"{_scheme(url)}://… could not be reached in {ATTEMPTS} attempts; nothing was sent")


class GitHub:
    """One issue a bump, found again by a marker in its body."""

    def deliver(self, message: Message) -> str:
        known = self._issues(message)
        if not known:
            if not message.alarming:
                return "nothing new"
            gh("issue", "create", "--title", message.title, "--body-file", "-", input=self._body(message))
            return self._settle_race(message)
        first = known[0]
        number = str(first["number"])
        # Also where somebody closed it by hand: the same verdict opens nothing again.
        told = self._told(first["body"])
        if message.repeats(told):
            return "nothing new"
        if not message.alarming and not message.clears(told):
            return NOT_SETTLED
        done = "updated"
        # The state that the body holds comes last: after a failure in between, the next alert carries on.
        if message.alarming and first["state"] != "OPEN":
            gh("issue", "reopen", number)
            done = "reopened"
        if not message.alarming and first["state"] == "OPEN":
            gh("issue", "close", number, "--comment", "A later measurement finds nothing regressed or broken.")
            done = "closed"
        gh("issue", "edit", number, "--title", message.title, "--body-file", "-", input=self._body(message))
        return f"{done} issue {number}"

    def _settle_race(self, message: Message) -> str:
        """Keep the oldest where two alerts opened an issue of the same bump at the same time."""
        known = self._issues(message)
        for duplicate in known[1:]:
            if duplicate["state"] == "OPEN":
                comment = f"The same bump as #{known[0]['number']}."
                gh("issue", "close", str(duplicate["number"]), "--comment", comment)
        return f"opened issue {known[0]['number']}" if known else "opened an issue"

    def _issues(self, message: Message) -> list[dict]:
        """Return our issues of the bump, oldest first: anybody may write the marker into an issue of their own."""
        search = f"repo:{{owner}}/{{repo}} is:issue in:body {message.bump}"
        answer = gh(
            *("api", "graphql", "-f", f"query={OUR_ISSUES}"),
            *("-F", "owner={owner}", "-F", "name={repo}", "-F", f"search={search}"),
        )
        try:
            found = json.loads(answer)["data"]
            listed = [*found["repository"]["issues"]["nodes"], *found["search"]["nodes"]]
            issues = {each["number"]: each for each in listed if each}
            ours = [each for each in issues.values() if each["viewerDidAuthor"] and message.marker in each["body"]]
            return sorted(ours, key=lambda each: each["number"])
        except (ValueError, KeyError, TypeError):
            raise UserError("gh did not list issues as JSON; update it") from None

    def _body(self, message: Message) -> str:
        return f"{message.markdown}\n{message.marker}\n{self._state(message)}\n"

    @staticmethod
    def _told(body: str) -> str:
        found = re.search(r"<!-- state:(\S*) -->", body)
        return found[1] if found else ""

    @staticmethod
    def _state(message: Message) -> str:
        return f"<!-- state:{message.state} -->"
