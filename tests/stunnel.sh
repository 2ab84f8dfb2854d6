#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# stunnel.sh - prints the path of an stunnel: the installed one, or Debian's package, fetched once with apt into
# build/stunnel and run from there. Exits 3, with a line that says why, where there is neither.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if command -v stunnel4; then exit; fi
dir=$PWD/build/stunnel
mkdir -p build
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if [ ! -x "$dir/stunnel" ]; then
    rm -rf "$dir.new"
    mkdir -p "$dir.new"
    (cd "$dir.new" && apt-get -q -o APT::Sandbox::User= download stunnel4 libwrap0 >apt.log 2>&1) || {
        echo "stunnel: apt cannot fetch the package stunnel4 here; what it said is in $dir.new/apt.log" >&2
        exit 3
    }
    for package in "$dir.new"/*.deb; do dpkg-deb -x "$package" "$dir.new"; done
    libraries=$(cd "$dir.new" && dirname "$(find . -name 'libwrap.so*' | head -n 1)")
    cat >"$dir.new/stunnel" <<TEXT
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
LD_LIBRARY_PATH=\$here/$libraries exec "\$here/usr/bin/stunnel4" "\$@"
TEXT
    chmod +x "$dir.new/stunnel"
    rm -rf "$dir" "$dir.new"/*.deb
    mv "$dir.new" "$dir"
fi
echo "$dir/stunnel"
