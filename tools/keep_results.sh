#!/usr/bin/env bash
# Copies result files of an artifact onto the results branch and pushes it. Usage: tools/keep_results.sh FOLDER
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
# Result files, sidecars and journals; nothing else of an artifact is kept.
(cd "$incoming" && find . -type f \( -name '*.json' -o -name '*.jsonl' \) -print0 | tar --null --files-from - -cf -) |
    (mkdir -p "$kept/results" && tar -xf - -C "$kept/results")
git -C "$kept" add results
if git -C "$kept" diff --cached --quiet; then
    echo "nothing new to keep"
else
    git -C "$kept" -c user.name="results" -c user.email="results@users.noreply.github.com" \
        commit --quiet --message "Results"
    git -C "$kept" push --quiet origin results
fi
git worktree remove --force "$kept"
