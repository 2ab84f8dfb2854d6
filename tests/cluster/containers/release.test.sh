#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# release.test.sh - the container image of a release: `./dev release` makes it of a commit, and the file alone brings an image that
# runs. What else a release has, tests/cluster/release.test.mjs shows. Run by `./dev test containers`.
set -euo pipefail

# shellcheck source=tests/cluster/containers/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

what="base images are made of Debian's packages"
tests/cluster/containers/podman.sh images
ok

what="a release of this commit has an image"
version=$(perl tests/lint/versions.pl --print)
git -c safe.directory='*' clone -q . "$work/checkout"
(
    cd "$work/checkout"
    sed -i "s/^## $version (.*)/## $version (2026-01-02)/" CHANGELOG.md
    git -c user.name=Test -c user.email=test@example.com commit -q --allow-empty -am 'changes: a date'
    ./dev release --without package
) >"$work/out" 2>&1
image=$work/checkout/build/release-$version/parley-$version-image.tar.gz
ok "$(($(stat -c %s "$image") / 1000000)) MB"

what="its file has the checksum that is written down"
(cd "$(dirname "$image")" && sha256sum --check --strict SHA256SUMS) >"$work/out"
grep -q "^parley-$version-image.tar.gz: OK$" "$work/out"
ok

what="an image that is loaded from that file alone runs"
podman rmi -f "parley:$version" >"$work/out" 2>&1
podman load -q -i "$image" >"$work/out" 2>&1
podman run --rm "parley:$version" version >"$work/out" 2>&1
grep -q "^parley $version" "$work/out"
ok "$(<"$work/out")"
