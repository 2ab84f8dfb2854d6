# SPDX-License-Identifier: MIT
#
# processes.sh - what `./dev` starts and stops: a process has a name, a pid file var/run/NAME.pid, a port in
# var/run/NAME.port if it listens, and a log var/log/NAME.log.
#
# A pid file holds the pid and the start time of the process (field 22 of /proc/PID/stat), so that
# a pid that the kernel gave to somebody else since is never taken for ours.

start_time() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    # The second field is a name in parentheses that may hold anything.
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" != Z ] && printf '%s' "${20}"
}

# Whether it works in this folder: a copy of a checkout has the pid files of the other one's processes.
is_here() {
    local folder
    readlink "/proc/$1/cwd" >/dev/null || return 0 # of another user, who says nothing
    for folder in . var/redis var/bench-redis; do
        [ ! "/proc/$1/cwd" -ef $folder ] || return 0
    done
    return 1
}

# Prints the pid of the process of that name, if it runs.
pid_of() {
    local pid started
    [ -f "var/run/$1.pid" ] || return 1
    read -r pid started <"var/run/$1.pid" || return 1
    [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] && is_here "$pid" && printf '%s' "$pid"
}

# The settings of `parley COMMAND` among variables on standard input, each ended by a NUL: sorted lines NAME=VALUE.
settings_of() {
    local names
    names=$("$PARLEY" "$1" --help | sed -n 's/^ *Environment: \(PARLEY_[A-Z0-9_]*\)\..*/\1/p' | paste -s -d '|')
    tr '\n\0' ' \n' | grep -E "^($names)=." | sort || true
}

# changed_settings PID COMMAND FLAGS...: the names of the variables that the process has otherwise than this shell,
# "A, B"; those that a flag outdoes do not count.
changed_settings() {
    local pid=$1 flags
    shift
    flags=$(printf '%s\n' "$@" | sed -n 's/^--\([a-z0-9-]*\).*/PARLEY_\1/p' | tr 'a-z-' 'A-Z_')
    comm -3 <(settings_of "$1" <"/proc/$pid/environ") <(env -0 | settings_of "$1") |
        sed 's/^\t//; s/=.*//' | sort -u | comm -23 - <(sort -u <<<"$flags") | paste -s -d ',' | sed 's/,/, /g'
}

# runs_as NAME COMMAND...: whether NAME runs, with that very command line, the same settings in its environment,
# and from the latest build. What runs otherwise is stopped, so that it can be started again.
runs_as() {
    local name=$1 pid changed
    shift
    pid=$(pid_of "$name") || return 1
    changed=$(changed_settings "$pid" "${@:2}")
    if [[ $(readlink "/proc/$pid/exe") == *' (deleted)' ]]; then
        changed="an older build"
    elif [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" != "$* " ]; then
        changed="other flags"
    elif [ -n "$changed" ]; then
        changed="other settings ($changed)"
    elif [ -n "${PARLEY_CONFIG:-}" ] && [ "$PARLEY_CONFIG" -nt "var/run/$name.pid" ]; then
        changed="an older $PARLEY_CONFIG"
    else
        return 0
    fi
    say "$name runs with $changed: it is replaced"
    stop "$name"
    return 1
}

is_port_taken() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

free_port() {
    local port=$1
    while is_port_taken "$port"; do port=$((port + 1)); done
    printf '%s' "$port"
}

# die_if_taken FLAG PORT NAMES...: a port that was asked for must be free, or that of one of ours which stays there or
# will be stopped.
die_if_taken() {
    local flag=$1 port=$2 name
    shift 2
    [ -n "$port" ] || return 0
    for name; do
        if pid_of "$name" >/dev/null && [ "$(port_of "$name")" = "$port" ]; then return 0; fi
    done
    ! is_port_taken "$port" || die "port $port is taken: $flag N takes another one"
}

# launch NAME COMMAND...: starts it in a session of its own, output to var/log/NAME.log.
launch() {
    local name=$1 log=var/log/$1.log pid
    shift
    [ ! -f "$log" ] || mv -f "$log" "$log.1"
    : >"$log" # before anybody looks into it
    setsid "$@" </dev/null >"$log" 2>&1 &
    pid=$!
    printf '%s %s\n' "$pid" "$(start_time "$pid")" >"var/run/$name.pid"
}

# wait_until NAME WHAT COMMAND...: until the command succeeds; shows the log if NAME fails before.
wait_until() {
    local name=$1 what=$2 tries=$((START_SECONDS * 10))
    shift 2
    while pid_of "$name" >/dev/null && [ $tries -gt 0 ]; do
        ! "$@" >/dev/null 2>&1 || return 0
        tries=$((tries - 1))
        sleep 0.1
    done
    warn "$name: $what did not happen; the end of var/log/$name.log:"
    tail -n 20 "var/log/$name.log" >&2
    stop "$name"
    exit 1
}

# Stops one process and waits for it: SIGTERM, and after a while SIGKILL.
stop() {
    local name=$1 pid tries=$((STOP_SECONDS * 10))
    if pid=$(pid_of "$name"); then
        kill -TERM "$pid" 2>/dev/null || true
        while pid_of "$name" >/dev/null; do
            tries=$((tries - 1))
            if [ $tries -eq 0 ]; then
                warn "$name did not stop within $STOP_SECONDS s: killing it"
                kill -KILL "$pid" 2>/dev/null || true
            fi
            sleep 0.1
        done
        say "stopped $name (pid $pid)"
    fi
    rm -f "var/run/$name.pid" "var/run/$name.port"
}

names_running() {
    local file
    for file in var/run/"${1:-}"*.pid; do
        [ -f "$file" ] || continue
        basename "$file" .pid
    done
}
