#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# servers.sh NAME - prints the path of a redis-server that tests run against besides the installed one:
# redis8 (vector sets) or valkey8; or that of kustomize, which builds k8s/. Debian's packages of it are
# fetched with apt into build/servers/NAME once, together with the libraries that they were built for,
# and run from there: the system stays as it is. Exits 3, with a line that says why, where apt knows no
# Debian (Ubuntu, for one).
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

name=${1:-}
case $name in
redis8)
    suite=trixie program=redis-check-rdb
    packages="redis-tools libc6 libstdc++6 libgcc-s1 libatomic1 libjemalloc2 liblzf1 libssl3t64
        libsystemd0 libzstd1 zlib1g libcap2"
    ;;
valkey8)
    suite=bookworm-backports program=valkey-check-rdb
    packages="valkey-tools libc6 libstdc++6 libgcc-s1 libatomic1 libjemalloc2 liblzf1 libssl3 libsystemd0
        libcap2 libgcrypt20 libgpg-error0 liblzma5 libzstd1 liblz4-1"
    ;;
kustomize) suite=trixie program=kustomize packages=kustomize ;;
*)
    echo "usage: tests/servers.sh redis8|valkey8|kustomize" >&2
    exit 2
    ;;
esac

dir=$PWD/build/servers/$name
result=$dir/redis-server
[ "$name" != kustomize ] || result=$dir/root/usr/bin/kustomize
mkdir -p build/servers
exec 9>"$dir.lock" # files of tests may run side by side
flock 9
if [ -x "$result" ]; then
    echo "$result"
    exit
fi

# The mirror that this machine uses, if it is one of Debian.
# shellcheck disable=SC2016
mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 2>/dev/null |
    sed -nE 's/^Debian [a-z]+ (.*)$/\1/p' | head -n 1)
if [ -z "$mirror" ] || [ ! -f $KEYRING ]; then
    echo "servers: $name comes from Debian's packages, which apt does not know here" >&2
    exit 3
fi

rm -rf "$dir"
mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/root"
for each in bookworm "$suite"; do
    [ "$each" = bookworm ] && [ "$suite" = trixie ] && continue
    echo "deb [signed-by=$KEYRING] $mirror $each main"
done >"$dir/sources.list"
# With a list of installed packages of its own, an empty one: what the system has from elsewhere (a
# security update, say) would be the version to fetch, and these sources have it not.
: >"$dir/status"
fetch() {
    (cd "$dir" && apt-get -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- \
        -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir" -o "Dir::Cache::archives=$dir/archives" \
        -o "Dir::State::status=$dir/status" -o APT::Sandbox::User= "$@" >>"$dir/apt.log" 2>&1) || {
        tail -n 5 "$dir/apt.log" >&2
        echo "servers: apt-get $1 failed; all it said is in $dir/apt.log" >&2
        exit 1
    }
}
fetch update
# shellcheck disable=SC2086
fetch -t "$suite" download $packages
for package in "$dir"/*.deb; do dpkg-deb -x "$package" "$dir/root"; done
rm -rf "$dir"/*.deb "$dir/lists" "$dir/archives" "$dir"/*.bin
if [ "$name" = kustomize ]; then # it needs no library that Debian 12 has not
    echo "$result"
    exit
fi

# Started by its own loader, so that it finds its own C library, wherever this folder is moved. It takes its role
# from its name.
loader=$(cd "$dir" && find root -name 'ld-linux*.so*' | head -n 1)
libraries=$(cd "$dir" && dirname "$(find root -name 'libjemalloc.so*' | head -n 1)")
ln -sf "$program" "$dir/root/usr/bin/redis-server"
cat >"$dir/redis-server.new" <<TEXT
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")
exec "\$here/$loader" --library-path "\$here/$libraries:\$here/$(dirname "$loader")" "\$here/root/usr/bin/redis-server" "\$@"
TEXT
chmod +x "$dir/redis-server.new"
"$dir/redis-server.new" --version >>"$dir/apt.log"
mv "$dir/redis-server.new" "$result"
echo "$result"
