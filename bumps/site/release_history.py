"""A git history in which every release is one commit, made at the release's date and tagged with its name."""

import datetime
import os
import pathlib
import subprocess

from asv.util import UserError

from bumps.site.release_results import Release

BRANCH = "releases"
NOON = datetime.time(12, tzinfo=datetime.UTC)


def times(dates: dict[Release, datetime.date]) -> dict[Release, int]:
    """Return when each release's commit is made, in seconds since the epoch, oldest first.

    Releases of one day follow each other by minutes: asv's pages find a commit by its date.
    """
    found: dict[Release, int] = {}
    ordered = sorted(dates, key=lambda each: (dates[each], each.framework != "torch", each.framework, each.version))
    for release in ordered:
        noon = int(datetime.datetime.combine(dates[release], NOON).timestamp())
        found[release] = max(noon, max(found.values(), default=0) + 60)
    return found


def environment() -> dict[str, str]:
    """Return the environment for git: settings of whoever publishes (signing, hooks, a repository) have no say."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return own | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def write(folder: pathlib.Path, dates: dict[Release, datetime.date]) -> dict[Release, str]:
    """Create the repository in `folder`; return each release's commit. The same releases give the same commits.

    Raises UserError with git's last line where git fails.
    """

    def git(*arguments: str, text: str | None = None) -> str:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, env=environment(), input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UserError(f"git {arguments[0]} failed: {done.stderr.strip().rpartition(chr(10))[2]}")
        return done.stdout

    folder.mkdir(parents=True)
    git("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", ".")
    made = times(dates)
    git("fast-import", "--quiet", text="".join(_commit(number, *each) for number, each in enumerate(made.items(), 1)))
    commits = dict(line.split() for line in git("for-each-ref", "--format=%(refname:short) %(objectname)").splitlines())
    return {release: commits[release.name] for release in made}


def _commit(number: int, release: Release, seconds: int) -> str:
    parent = f"from :{number - 1}\n" if number > 1 else ""
    name = release.name
    return (
        f"commit refs/heads/{BRANCH}\nmark :{number}\ncommitter releases <> {seconds} +0000\n"
        f"data {len(name.encode())}\n{name}\n{parent}\nreset refs/tags/{name}\nfrom :{number}\n\n"
    )
