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
# Result files, sidecars and journals; nothing else of an artifact is kept. Each night's records are of a checkout of its
# own, so those of the nights before stay with them.
while IFS= read -r -d '' file; do
    target=$kept/results/$file
    mkdir -p "$(dirname "$target")"
    if [[ $file == */sessions/* && -f $target ]] && grep -q '"record": *"finished"' "$target"; then
        # Nothing comes after that, and a prune may have packed it.
        continue
    elif [[ $file == *.jsonl && -f $target ]]; then
        awk '!seen[$0]++' "$target" "$incoming/$file" > "$target.part"
        mv "$target.part" "$target"
    else
        cp "$incoming/$file" "$target"
    fi
done < <(find "$incoming" -type f \( -name '*.json' -o -name '*.jsonl' \) -printf '%P\0')
# Its status is 1 where a file was left as it is: such a file is kept all the same.
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
