# SPDX-License-Identifier: MIT
#
# packages.sh - what `./dev` installs (lists in cmake/deps, and tests/package.json), and as which user it does the rest.

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing packages needs root: run this as root, or install sudo"
    fi
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

has_node18() {
    command -v node >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ]
}

# Prints those packages of the lists named that are not installed. All are asked for with one dpkg-query: it takes
# longer to start than to look.
missing_packages() {
    local list package rest wanted=()
    local -A is_there=()
    for list in "$@"; do
        while read -r package rest; do
            case $package in '' | '#'*) continue ;; esac
            if [ "$package" = nodejs ] && has_node18; then continue; fi
            if [ "$package" = npm ] && command -v npm >/dev/null; then continue; fi
            if [ "$package" = chromium ] && command -v google-chrome >/dev/null; then continue; fi
            wanted+=("$package")
        done <"cmake/deps/$list.txt"
    done
    while read -r package rest; do
        [ "$rest" != installed ] || is_there[$package]=yes
    done < <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null)
    for package in "${wanted[@]}"; do
        [ -n "${is_there[$package]:-}" ] || printf '%s ' "$package"
    done
}

# Quietly: what apt-get says goes to var/log/apt.log. What sudo says goes to the terminal.
apt_get() {
    # shellcheck disable=SC2016
    as_root sh -c 'exec "$@" >>var/log/apt.log 2>&1' sh \
        env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -o DPkg::Lock::Timeout=300 -q -y "$@"
}

# Shows the errors of apt-get, each once, and ends with what they come from.
die_of_apt() {
    local log=var/log/apt.log
    awk '/^[EW]: / && !/unsandboxed/ && !seen[$0]++' $log | tail -n 25 >&2
    warn "apt-get could not install what is missing; all it said is in $PWD/$log"
    if grep -qE 'resolv|Could not connect|Unable to connect|Connection (failed|timed out)|unreachable' $log; then
        die "its servers cannot be reached: is there a network? (behind a proxy: Acquire::http::Proxy of apt)"
    elif grep -qE 'Unable to locate package|has no installation candidate' $log; then
        die "its sources lack a package. The names are those of Debian 12 and of Ubuntu 24.04 with universe"
    elif grep -qE '^E: .*(Permission denied|are you root)' $log; then
        die "it may not write: run this as root, or as a user who may use sudo"
    fi
    exit 1
}

# The Redis of this project is a private one, so Debian's own service, which comes with the package
# and would start with it, is kept from starting now (policy-rc.d) and at boot (disable).
install_packages() {
    local policy=/usr/sbin/policy-rc.d fresh_redis=no held=no
    is_installed redis-server || fresh_redis=yes
    if [ $fresh_redis = yes ] && [ ! -e $policy ]; then
        held=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
        # shellcheck disable=SC2064
        trap "as_root rm -f $policy" EXIT
    fi
    : >var/log/apt.log
    # Without an update there may be lists that suffice.
    apt_get update || true
    apt_get install --no-install-recommends "$@" || die_of_apt
    if [ $held = yes ]; then
        as_root rm -f $policy
        trap - EXIT
    fi
    if [ $fresh_redis = yes ] && [ -d /run/systemd/system ]; then
        as_root systemctl disable --now redis-server >/dev/null 2>&1 || true
    fi
}

deps() {
    local missing
    if ! command -v apt-get >/dev/null; then
        warn "no apt-get here: install by hand what cmake/deps/*.txt names; continuing without"
        return
    fi
    missing=$(missing_packages build "$@")
    [ -n "$missing" ] || return 0
    say "Installing with apt-get: ${missing% }"
    # shellcheck disable=SC2086
    install_packages $missing
}

readonly APP=services/web/app

# node_modules FOLDER...: what tests import from npm (tests), and what the build of the web app takes, into node_modules
# there, again only when the lock file has changed. Without it the tests that import from there fail and say so; the others run.
node_modules() {
    local folder
    for folder; do install_node_modules "$folder"; done
}

install_node_modules() {
    local folder=$1 lock=$1/package-lock.json stamp=$1/node_modules/.installed-lock
    ! cmp -s "$lock" "$stamp" || return 0
    say "Installing with npm: what $folder/package.json names"
    if (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >var/log/npm.log 2>&1; then
        cp "$lock" "$stamp"
    else
        tail -n 15 var/log/npm.log >&2
        warn "npm ci failed; all it said is in var/log/npm.log; continuing without"
    fi
}

# Run by sudo, in a checkout that belongs to the one who called it.
is_under_sudo() { [ "$EUID" -eq 0 ] && [ "${SUDO_UID:-0}" -ne 0 ] && [ "$(stat -c %u .)" = "$SUDO_UID" ]; }

# What was made as root, except the images of tests of containers, whose files belong to many users.
give_back() {
    local dir
    for dir in var build tests/node_modules tests/clients/node_modules $APP/node_modules $APP/dist; do
        [ ! -d "$dir" ] || find "$dir" -path build/containers -prune -o -exec chown -h "$SUDO_UID:$SUDO_GID" {} +
    done
}

# Under sudo only the packages need root. The rest is done as the user who owns this checkout, so
# that what one run leaves behind does not lock out the next.
leave_sudo() {
    local home
    is_under_sudo || return 0
    give_back
    home=$(getent passwd "$SUDO_UID" | cut -d: -f6)
    exec setpriv --reuid="$SUDO_UID" --regid="$SUDO_GID" --init-groups \
        env -u SUDO_UID HOME="$home" USER="$SUDO_USER" DEV_CALLER="$CALLER" PARLEY_PORT="$node_port" \
        PARLEY_REDIS_PORT="$redis_port" PARLEY_LOG_LEVEL="$log_level" PARLEY_LOG_FORMAT="$log_format" ./dev "$@"
}

prepare_folders() {
    local dir
    for dir in build var; do
        [ ! -e $dir ] || [ -w $dir ] ||
            die "$dir/ belongs to $(stat -c %U $dir): run this as $(stat -c %U $dir), or change its owner"
    done
    (umask 077 && mkdir -p var/run var/log $SECRETS)
}
