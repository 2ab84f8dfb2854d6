#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# nginx.sh - prints the path of an nginx: the installed one, or Debian's package, fetched once with apt into build/nginx
# and run from there, so that no service is installed. Exits 3, with a line that says why, where there is neither.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if command -v nginx; then exit; fi
dir=$PWD/build/nginx
mkdir -p build
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if [ ! -x "$dir/usr/sbin/nginx" ]; then
    rm -rf "$dir.new"
    mkdir -p "$dir.new"
    (cd "$dir.new" && apt-get -q -o APT::Sandbox::User= download nginx >apt.log 2>&1 && dpkg-deb -x nginx_*.deb .) || {
        echo "nginx: apt cannot fetch the package nginx here; what it said is in $dir.new/apt.log" >&2
        exit 3
    }
    rm -rf "$dir" "$dir.new"/*.deb
    mv "$dir.new" "$dir"
fi
echo "$dir/usr/sbin/nginx"
