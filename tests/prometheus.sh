#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# prometheus.sh - prints the folder with `prometheus` and `promtool`, which tests/cluster/monitoring.test.mjs runs. They
# are those of the distribution's package, fetched with apt into build/servers/prometheus once and run from there: nothing
# is installed, and no service starts. Exits 3, with a line that says why, where apt has no such package.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

dir=$PWD/build/servers/prometheus
mkdir -p build/servers
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if [ ! -x "$dir/bin/promtool" ]; then
    new=$dir.new
    trap 'rm -rf "$new"' EXIT
    rm -rf "$new"
    mkdir -p "$new"
    if ! (cd "$new" && apt-get -q -o APT::Sandbox::User= download prometheus >apt.log 2>&1); then
        tail -n 3 "$new/apt.log" >&2
        echo "prometheus: apt-get download prometheus failed" >&2
        exit 3
    fi
    dpkg-deb -x "$new"/prometheus_*.deb "$new/root"
    mkdir -p "$new/bin"
    mv "$new/root/usr/bin/prometheus" "$new/root/usr/bin/promtool" "$new/bin"
    rm -rf "$new/root" "$new"/*.deb
    "$new/bin/promtool" --version >>"$new/apt.log"
    rm -rf "$dir"
    mv "$new" "$dir"
fi
echo "$dir/bin"
