#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# podman.sh - podman for tests of containers, and what they begin with, out of Debian's packages: nothing is pulled from a
# registry. Images, containers and networks live in a folder of their own, build/containers or PARLEY_TEST_CONTAINERS (so
# that several checkouts share one), and the system's podman knows nothing of them.
#
#   eval "$(tests/cluster/containers/podman.sh env)"      from now on podman and podman-compose use that folder
#   tests/cluster/containers/podman.sh images             makes the base images that are missing:
#       docker.io/library/debian:bookworm-slim, and those of redis and nginx that docker-compose.yml names
#   tests/cluster/containers/podman.sh remove             removes what runs, and the folder
#
# It takes root, for debootstrap makes its folders as root. Exits 3, with a line that says why, where this cannot run.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../.." && pwd)
readonly here
dir=$(readlink -m "${PARLEY_TEST_CONTAINERS:-$here/build/containers}")
readonly dir
# Of the images of redis and nginx: Debian's first release whose nginx resolves the names of upstreams again (1.27.3).
readonly SERVERS_SUITE=forky
# As all images say it: `podman kube play` knows none by itself.
readonly IMAGE_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

skip() {
    echo "containers: $*" >&2
    exit 3
}

[ "$EUID" -eq 0 ] || skip "base images are made by debootstrap, which takes root: sudo ./dev test containers"
for program in podman podman-compose debootstrap runc iptables; do
    PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null ||
        skip "there is no $program: ./dev deps containers installs what is missing"
done

# Locks and the folder of what runs are their own, too: two stores that share them block each other. What runs is noted in
# /run, so that nothing is taken for running after the machine has started again.
configure() {
    local run
    run=/run/parley-containers/$(printf '%s' "$dir" | cksum | cut -d' ' -f1)
    mkdir -p "$dir" "$run"
    cat >"$dir/containers.conf" <<TEXT
[containers]
# As many as the tests may: a service that systemd starts has fewer files than that, and runc cannot raise the bound.
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "$run/libpod"
[network]
network_backend = "netavark"
network_config_dir = "$dir/networks"
# Not the addresses that podman gives by itself: another store on this machine may use these.
default_subnet = "10.213.0.0/24"
default_subnet_pools = [{"base" = "10.213.0.0/16", "size" = 24}]
TEXT
    cat >"$dir/storage.conf" <<TEXT
[storage]
driver = "overlay"
graphroot = "$dir/storage"
runroot = "$run/storage"
TEXT
    # Which images may run is for /etc/containers/policy.json to say; without one, podman refuses all.
    [ -e /etc/containers/policy.json ] || skip "there is no /etc/containers/policy.json: install golang-github-containers-common"
    export CONTAINERS_CONF=$dir/containers.conf CONTAINERS_STORAGE_CONF=$dir/storage.conf
}

# The mirror that this machine uses, if it is one of Debian.
mirror() {
    local found
    # shellcheck disable=SC2016
    found=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 2>/dev/null |
        sed -nE 's/^Debian [a-z]+ (.*)$/\1/p' | head -n 1)
    [ -n "$found" ] || skip "base images are made of Debian's packages, which apt does not know here"
    echo "$found"
}

# bootstrap SUITE PACKAGES ROOT: what Debian's slim images hold, and packages.
bootstrap() {
    local suite=$1 packages=$2 root=$3 script=
    rm -rf "$root"
    # A release that is newer than debootstrap is made as Debian's newest one.
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/sid
    debootstrap --variant=minbase ${packages:+--include="$packages"} "$suite" "$root" "$(mirror)" $script \
        >"$dir/debootstrap-$suite.log" 2>&1 || {
        tail -n 5 "$dir/debootstrap-$suite.log" >&2
        echo "containers: debootstrap of $suite failed; all it said is in $dir/debootstrap-$suite.log" >&2
        exit 1
    }
    # As the slim images leave it out.
    find "$root/usr/share/doc" -type f ! -name copyright -delete
    rm -rf "$root"/usr/share/{man,info,locale,groff,lintian,linda}/* "$root"/var/cache/apt/*.bin \
        "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log
    mkdir -p "$root/etc/dpkg/dpkg.cfg.d" "$root/etc/apt/apt.conf.d"
    printf 'path-exclude /usr/share/%s\n' 'doc/*' 'man/*' 'info/*' 'locale/*' >"$root/etc/dpkg/dpkg.cfg.d/slim"
    echo 'path-include /usr/share/doc/*/copyright' >>"$root/etc/dpkg/dpkg.cfg.d/slim"
    echo 'DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true";};' >"$root/etc/apt/apt.conf.d/clean"
}

has_image() { podman image exists "$1"; }

# Names of images as docker-compose.yml writes them.
image_of() { sed -nE "s|^ *image: (docker.io/library/$1:[^ ]+)$|\1|p" "$here/docker-compose.yml" | sort -u; }

images() {
    local root=$dir/root redis nginx name
    redis=$(image_of redis) nginx=$(image_of nginx)
    [ -n "$redis" ] && [ -n "$nginx" ]
    # One at a time, if several ask.
    exec 9>"$dir/images.lock"
    flock 9
    if ! has_image docker.io/library/debian:bookworm-slim; then
        bootstrap bookworm '' "$root"
        tar -C "$root" -c . | podman import -q --change "ENV PATH=$IMAGE_PATH" - docker.io/library/debian:bookworm-slim >/dev/null
        rm -rf "$root"
    fi
    for name in $redis $nginx; do
        has_image "$name" && continue
        if [ ! -d "$dir/servers" ]; then
            bootstrap $SERVERS_SUITE curl,nginx-light,redis-server "$dir/servers.new"
            # As in the images of these names: the users' numbers, and a folder for data.
            install -d -o 999 -g 999 "$dir/servers.new/data"
            rm -f "$dir"/servers.new/etc/nginx/sites-enabled/default
            mv "$dir/servers.new" "$dir/servers"
        fi
        tar -C "$dir/servers" -c . | podman import -q --change "ENV PATH=$IMAGE_PATH" - "$name" >/dev/null
    done
    rm -rf "$dir/servers"
}

remove() {
    podman pod rm -fa -t 0 >/dev/null 2>&1 || true
    podman rm -fa -t 0 >/dev/null 2>&1 || true
    podman network prune -f >/dev/null 2>&1 || true
    podman volume prune -f >/dev/null 2>&1 || true
    podman rmi -fa >/dev/null 2>&1 || true
    rm -rf "$dir"
}

case ${1:-} in
env)
    configure
    printf 'export CONTAINERS_CONF=%q CONTAINERS_STORAGE_CONF=%q\n' "$CONTAINERS_CONF" "$CONTAINERS_STORAGE_CONF"
    ;;
images)
    configure
    images
    ;;
remove)
    configure
    remove
    ;;
*)
    echo "usage: tests/cluster/containers/podman.sh env|images|remove" >&2
    exit 2
    ;;
esac
