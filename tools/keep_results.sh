#!/usr/bin/env bash
# Copies result files of an artifact onto the results branch, prunes what is there and pushes it. What was left out
# stands on the job's page.
# Usage: tools/keep_results.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
incoming=$(realpath "${1:?usage: tools/keep_results.sh FOLDER}")
summary=${GITHUB_STEP_SUMMARY:-/dev/null}

# Status 1 says that something was left out or left as it was: the rest is kept all the same. A Python that falls over
# ends with 1 as well, and says nothing.
results() {
    local status=0 said
    said=$(.venv/bin/python -m bumps results "$@") || status=$?
    printf '%s\n' "$said"
    case $status:$said in
        0:*) ;;
        1:?*) printf 'Not all was kept:\n\n%s\n\n' "$(sed 's/^/    /' <<< "$said")" >> "$summary" ;;
        *) exit "$status" ;;
    esac
}

kept=$(mktemp -d)
trap 'git worktree remove --force "$kept" 2>/dev/null || rm -rf "$kept"' EXIT
if git fetch --quiet origin results 2>/dev/null; then
    git worktree add --quiet --force -B results "$kept" FETCH_HEAD
else
    git worktree add --quiet --force --detach --no-checkout "$kept"
    git -C "$kept" switch --quiet --orphan results
fi
results merge --replace "$incoming" --results "$kept/results"
results prune --results "$kept/results"
rm -f "$kept/results/.writing.lock"
git -C "$kept" add results
if git -C "$kept" diff --cached --quiet; then
    echo "nothing new to keep"
else
    git -C "$kept" -c user.name="results" -c user.email="results@users.noreply.github.com" \
        commit --quiet --message "Results"
    git -C "$kept" push --quiet origin results
fi
