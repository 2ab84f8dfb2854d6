#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# former.sh - prints the path of a `parley` as it was at the commit in tests/former.txt: the last release, against which
# tests/cluster/former.test.mjs holds this one. Built once, into build/former/COMMIT. Exits 3, with a line that says why,
# where there is no history (a tarball, a shallow clone).
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

commit=$(sed -nE '1s/^([0-9a-f]{40}) .*/\1/p' tests/former.txt)
dir=$PWD/build/former/$commit
program=$dir/build/release/parley
mkdir -p build/former
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if [ ! -x "$program" ]; then
    if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
        echo "former: this checkout has no commit $commit" >&2
        exit 3
    fi
    rm -rf "$dir"
    mkdir -p "$dir"
    git archive "$commit" | tar -x -C "$dir"
    (cd "$dir" && cmake --preset release && cmake --build --preset release --target parley) >"$dir/build.log" 2>&1 || {
        tail -n 20 "$dir/build.log" >&2
        exit 1
    }
fi
echo "$program"
