#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools.sh - installs the programs of others that tests run in front of Parley or behind it (tests/tools/package.json), and prints their folder.
# Exits 3, with a line that says why, where npm cannot fetch them.
#
#   PARLEY_TEST_TOOLS=$(tests/tools.sh) ./dev test tests/http/openai_opencode.test.mjs
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly STAMP=node_modules/.installed-lock
mkdir -p build/test
log=$PWD/build/test/tools.log
cd tests/tools
exec 9>"$log" # files of tests may run side by side
flock 9

if [ "$(uname -sm)" != 'Linux x86_64' ]; then
    echo "tools: they run on Linux on x86-64 only" >&2
    exit 3
fi
if ! cmp -s package-lock.json $STAMP; then
    # Not `npm ci`, which wants the lock to have what is for other systems, too, and registries do not have all of it.
    npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund >&9 2>&1 || {
        echo "tools: npm cannot install tests/tools/package.json here; what it said is in $log" >&2
        exit 3
    }
    cp package-lock.json $STAMP
fi
echo "$PWD"
