#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# hiredis.sh - builds parley with hiredis 1, which has what Redis over TLS takes and Debian 12 has not, into
# build/hiredis1, and prints the program's path. Debian 13's source package is fetched with apt once. The build is
# quick: AddressSanitizer, and nothing else that takes time. Exits 3, with a line that says why, where apt cannot fetch it.
#
#   PARLEY_BIN=$(tests/hiredis.sh) ./dev test tests/http/redis_tls.test.mjs
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
build=$PWD/build/hiredis1
dir=$build/hiredis

# Into $dir, as a static library.
fetch() {
    local mirror work=$build/fetch
    # The mirror that this machine uses, if it is one of Debian.
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 2>/dev/null |
        sed -nE 's/^Debian [a-z]+ (.*)$/\1/p' | head -n 1)
    if [ -z "$mirror" ] || [ ! -f $KEYRING ]; then
        echo "hiredis: it comes from Debian's packages, which apt does not know here" >&2
        exit 3
    fi
    rm -rf "$work" "$dir"
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    echo "deb-src [signed-by=$KEYRING] $mirror trixie main" >"$work/sources.list"
    : >"$work/status"
    local command
    for command in update 'source --download-only hiredis'; do
        # shellcheck disable=SC2086
        (cd "$work" && apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- \
            -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives" \
            -o "Dir::State::status=$work/status" -o APT::Sandbox::User= $command >>"$build/apt.log" 2>&1) || {
            echo "hiredis: apt cannot fetch Debian 13's source package here; what it said is in $build/apt.log" >&2
            exit 3
        }
    done
    mkdir "$work/source"
    tar -xf "$work"/hiredis_*.orig.tar.* -C "$work/source" --strip-components=1
    if ! make -C "$work/source" PREFIX="$work/root" LIBRARY_PATH=lib install >"$build/make.log" 2>&1; then
        tail -n 5 "$build/make.log" >&2
        exit 1
    fi
    rm "$work"/root/lib/*.so*
    # Its description names the folder that it is in at the end.
    sed -i "s|$work/root|$dir|" "$work"/root/lib/pkgconfig/*.pc
    mv "$work/root" "$dir"
    rm -rf "$work"
}

mkdir -p "$build"
exec 9>"$build/lock" # files of tests may run side by side
flock 9
if [ ! -d "$dir" ]; then fetch; fi
if ! {
    PKG_CONFIG_PATH=$dir/lib/pkgconfig cmake --preset dev -B "$build" -DPARLEY_TESTS=OFF \
        -DCMAKE_C_FLAGS="-O0 -fsanitize=address -fno-omit-frame-pointer" && cmake --build "$build" --target parley
} >"$build/build.log" 2>&1; then
    tail -n 30 "$build/build.log" >&2
    exit 1
fi
echo "$build/parley"
