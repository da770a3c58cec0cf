#!/usr/bin/env bash
# Copies result files of an artifact onto the results branch, prunes what is there and pushes it.
# Usage: tools/keep_results.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
incoming=$(realpath "${1:?usage: tools/keep_results.sh FOLDER}")

kept=$(mktemp -d)
if git fetch --quiet origin results 2>/dev/null; then
    git worktree add --quiet --force -B results "$kept" FETCH_HEAD
else
    git worktree add --quiet --force --detach --no-checkout "$kept"
    git -C "$kept" switch --quiet --orphan results
fi
# Status 1 says that something was left out or left as it was: the rest is kept all the same.
.venv/bin/python -m bumps results merge --replace "$incoming" --results "$kept/results" || [ $? = 1 ]
.venv/bin/python -m bumps results prune --results "$kept/results" || [ $? = 1 ]
rm -f "$kept/results/.writing.lock"
git -C "$kept" add results
if git -C "$kept" diff --cached --quiet; then
    echo "nothing new to keep"
else
    git -C "$kept" -c user.name="results" -c user.email="results@users.noreply.github.com" \
        commit --quiet --message "Results"
    git -C "$kept" push --quiet origin results
fi
git worktree remove --force "$kept"
