# SPDX-License-Identifier: MIT
#
# backup.sh - what the Redis of this checkout holds, into a file and back: `parley backup` and `parley restore` with its address.

# parley_there COMMAND ARGS...: on this Redis, with files named from where the caller is.
parley_there() {
    local parley url
    parley=$(readlink -f "$PARLEY") url=redis://127.0.0.1:$(port_of redis)/0
    (cd "$CALLER" && "$parley" "$1" --redis "$url" "${@:2}")
}

backup() {
    pid_of redis >/dev/null || die "Redis does not run: $DEV up starts it"
    parley_there backup "$@"
}

# Ends a restore that failed or was interrupted: Redis gets the folder again that it had.
put_back() {
    stop redis >/dev/null
    rm -rf var/redis
    [ ! -d "$1" ] || mv "$1" var/redis
    die "nothing was restored: $DEV up starts what was there before"
}

# Into a Redis of its own, beside which what it held before stays. Nothing runs meanwhile, for nodes write as soon as they run.
restore() {
    local kept
    kept=var/redis-$(date +%Y%m%dT%H%M%S)
    build_ours
    if pid_of redis >/dev/null; then redis_port=$(port_of redis); fi
    down
    [ ! -d var/redis ] || mv var/redis "$kept"
    # shellcheck disable=SC2064
    trap "put_back $kept" EXIT
    start_redis redis var/redis "$redis_port"
    parley_there restore "$@" || exit
    trap - EXIT
    [ ! -d "$kept" ] || say "what Redis held before is in $PWD/$kept"
    say "restored: $DEV up starts a node on it"
}
