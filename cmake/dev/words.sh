# SPDX-License-Identifier: MIT
#
# words.sh - the words and variables that `./dev` was called with.

# The names of all commands, as `help` lists them.
command_names() { help | sed -nE 's/^  ([a-z]+) .*/\1/p'; }

# nearest NAME NAMES...: ": did you mean X?", or nothing.
nearest() {
    local found
    found=$(perl -Icmake -MNearest=nearest -e 'print nearest(@ARGV)' -- "$@" 2>/dev/null) || return 0
    printf '%s' "${found:+: did you mean $found?}"
}

# read_ports COMMAND ARGS...: --port N and --redis-port N, wherever they are. What else was given is in `words`.
read_ports() {
    local command=$1 flag
    shift
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
        --port=* | --redis-port=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        esac
        flag=$1
        case $flag in
        -h | --help)
            help
            exit
            ;;
        --port) node_port=${2:-} ;;
        --redis-port) redis_port=${2:-} ;;
        -*) die "$command has no flag $flag$(nearest "$flag" --port --redis-port) (see $DEV help)" ;;
        *)
            words+=("$flag")
            shift
            continue
            ;;
        esac
        [ $# -gt 1 ] || die "$flag needs a port"
        shift 2
    done
    check_port --port "$node_port"
    check_port --redis-port "$redis_port"
    [ -z "$node_port" ] || [ "$node_port" != "$redis_port" ] || die "--port and --redis-port are both $node_port"
}

check_port() {
    case $2 in *[!0-9]* | ??????* | 0*) ;; *) [ "${2:-1}" -gt 65535 ] || return 0 ;; esac
    die "$1 takes a port from 1 to 65535, not '$2'"
}

# Before anything is installed, built or stopped: a word that a command would not look at is a mistake.
check_words() {
    local command=$1 n names
    shift
    case $command in
    up)
        read_ports up "$@"
        case ${words[0]:-} in
        '') ;;
        *[!0-9]*) die "up takes --port N and --redis-port N, not '${words[0]}' (see $DEV help)" ;;
        *) die "up starts one node and takes no number of them: $DEV cluster ${words[0]} starts ${words[0]}" ;;
        esac
        ;;
    cluster)
        read_ports cluster "$@"
        n=${words[0]:-2}
        case $n in *[!0-9]* | 0* | ????*) die "cluster takes a number of nodes from 1 to 999, not '$n'" ;; esac
        [ ${#words[@]} -le 1 ] || die "cluster takes one number of nodes, not also '${words[1]}'"
        ;;
    down) [ $# -eq 0 ] || die "down stops everything, and takes no '$1'" ;;
    release) read_release "$@" ;;
    backup | restore) [ $# -gt 0 ] || die "$command takes a file: $DEV $command FILE" ;;
    package | docs | web) [ $# -eq 0 ] || die "$command takes no '$1'" ;;
    logs) [ $# -le 1 ] || die "logs takes one name, or none for all of them" ;;
    build) [ $# -eq 0 ] || is_preset "$1" || die "no such preset: $1 (CMakePresets.json has: $(presets))" ;;
    fmt) [ "$*" = '' ] || [ "$*" = --check ] || die "fmt takes --check or nothing, not '$*'" ;;
    deps) [ "$*" = '' ] || [ "$*" = test ] || [ "$*" = containers ] || die "deps takes test, containers or nothing, not '$*'" ;;
    engine | trace | bench | test | fuzz | lint) ;;
    *)
        mapfile -t names < <(command_names)
        die "no such command: $command$(nearest "$command" "${names[@]}") (see $DEV help)"
        ;;
    esac
}

# A misspelt variable would do nothing without a word.
check_variables() {
    local name nearest is_good=yes
    # shellcheck disable=SC2086
    while read -r name nearest; do
        warn "the environment variable $name is not a setting: ${nearest:+did you mean $nearest? If not, }unset it"
        is_good=no
    done < <(perl cmake/settings.pl $VARIABLES 2>/dev/null)
    [ $is_good = yes ] || exit 1
}

# Prints the words of `test`, each on a line: files as they are named from here.
test_words() {
    local word
    for word; do
        if [ ! -e "$word" ] && [ -e "$CALLER/$word" ]; then word=$CALLER/$word; fi
        if [[ $word == /* ]]; then word=$(realpath --relative-to=. "$word"); fi
        printf '%s\n' "$word"
    done
}

# Only what is run by Node's test runner imports something from npm.
needs_npm() {
    local what
    [ $# -gt 0 ] || return 0
    for what; do
        case $what in unit | lint | fuzz | fuzz_* | test_* | *.c) ;; *) return 0 ;; esac
    done
    return 1
}

needs_containers() {
    local what
    for what; do
        case $what in containers | *.test.sh) return 0 ;; esac
    done
    return 1
}
