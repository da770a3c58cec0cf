"""A stand-in for the `gh` command: keeps issues and pull requests in a file, as the real one keeps them on a server.

What it was called with is in `calls`, a line each. Pull requests are branches of the checkout's `origin`.
"""

import json
import os
import pathlib
import sys

SCRIPT = """#!{python} -I
import json, pathlib, subprocess, sys

FOLDER = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
with open(FOLDER / "calls", "a") as calls:
    calls.write(" ".join(arguments) + "\\n")
state = json.loads((FOLDER / "state.json").read_text())
issues, pulls = state["issues"], state["pulls"]


def option(name):
    return arguments[arguments.index(name) + 1] if name in arguments else None


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def fields(entries):
    return json.dumps([{{name: each[name] for name in option("--json").split(",")}} for each in entries])


def chosen(entries):
    return next(each for each in entries if str(each["number"]) == arguments[2])


what, verb = arguments[:2]
if what == "issue":
    if verb == "create":
        opened = {{"number": len(issues) + 1, "state": "OPEN", "title": option("--title"), "comments": []}}
        opened["viewerDidAuthor"] = True
        issues.append({{**opened, "body": sys.stdin.read()}})
    elif verb == "edit":
        chosen(issues).update(title=option("--title"), body=sys.stdin.read())
    else:
        chosen(issues)["state"] = {{"close": "CLOSED", "reopen": "OPEN"}}[verb]
        if option("--comment"):
            chosen(issues)["comments"].append(option("--comment"))
elif what == "pr":
    if verb == "list":
        found = [each for each in pulls if option("--head") in (None, each["branch"])]
        found = [each for each in found if option("--state") in ("all", each["state"].lower())]
        for each in found:
            each["headRefOid"] = git("ls-remote", "origin", "refs/heads/" + each["branch"]).split()[0]
        print(fields(found))
    elif verb == "create":
        if any((each["branch"], each["state"]) == (option("--head"), "OPEN") for each in pulls):
            sys.exit("a pull request for this branch already exists")
        opened = {{"number": 100 + len(pulls), "branch": option("--head"), "title": option("--title")}}
        pulls.append({{**opened, "state": "OPEN", "comment": None}})
    elif verb == "edit":
        next(each for each in pulls if each["branch"] == arguments[2])["title"] = option("--title")
    elif verb == "diff":
        git("fetch", "--quiet", "origin")
        print(git("diff", "--name-only", "origin/main...origin/" + chosen(pulls)["branch"]), end="")
    elif verb == "comment":
        assert "--edit-last" in arguments and "--create-if-none" in arguments
        chosen(pulls)["comment"] = sys.stdin.read()
elif arguments[:2] == ["api", "graphql"]:
    names = ("number", "body", "state", "viewerDidAuthor")
    newest = [{{name: each[name] for name in names}} for each in issues[-100:]]
    # The search lags behind, and has nothing of what is no issue.
    print(json.dumps({{"data": {{"repository": {{"issues": {{"nodes": newest}}}}, "search": {{"nodes": [{{}}]}}}}}}))
elif arguments[:2] == ["run", "list"]:
    known = [each for each in state["runs"] if each["workflow"] == option("--workflow")]
    assert option("--event") == "workflow_dispatch"
    print(fields([each for each in known if each["commit"] == option("--commit")]))
elif arguments[:2] == ["workflow", "run"]:
    if (FOLDER / "unreachable").exists():
        sys.exit("HTTP 502")
    ref = option("--ref") or "main"
    started = {{"databaseId": 1 + len(state["runs"]), "workflow": arguments[2]}}
    state["runs"].append({{**started, "commit": git("ls-remote", "origin", "refs/heads/" + ref).split()[0]}})
else:
    sys.exit("unknown command")
(FOLDER / "state.json").write_text(json.dumps(state))
"""


class RecordingGh:
    """The command `gh` in a folder of its own, to go first on PATH."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir()
        self.command = folder / "gh"
        self.write(SCRIPT.format(python=sys.executable))
        (folder / "state.json").write_text(json.dumps({"issues": [], "pulls": [], "runs": []}))

    def write(self, script: str) -> None:
        self.command.write_text(script)
        self.command.chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"

    def reach(self, is_reachable: bool) -> None:
        """Let starting a workflow fail, or work again."""
        if is_reachable:
            (self.folder / "unreachable").unlink()
        else:
            (self.folder / "unreachable").touch()

    @property
    def issues(self) -> list[dict]:
        return self._state["issues"]

    @property
    def pulls(self) -> list[dict]:
        return self._state["pulls"]

    @property
    def runs(self) -> list[dict]:
        return self._state["runs"]

    def calls(self, start: str) -> list[str]:
        """Return the calls that begin with these words."""
        return [line for line in (self.folder / "calls").read_text().splitlines() if line.startswith(start)]

    def put(self, **entries: list[dict]) -> None:
        """Add issues or pull requests of others."""
        (self.folder / "state.json").write_text(json.dumps({**self._state, **entries}))

    @property
    def _state(self) -> dict:
        return json.loads((self.folder / "state.json").read_text())
