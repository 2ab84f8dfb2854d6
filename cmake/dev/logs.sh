# SPDX-License-Identifier: MIT
#
# logs.sh - following the logs, and what they say about one query.

logs_there() {
    local files
    files=$(find var/log -name '*.log' -printf '%f\n' | sed 's/\.log$//' | sort | paste -s -d ' ')
    printf '%s' "${files:-there is none yet}"
}

logs() {
    local pattern=var/log/${1:-*}.log
    # shellcheck disable=SC2086
    set -- $pattern
    [ -f "$1" ] || die "no log of that name in $PWD/var/log/ ($(logs_there))"
    exec tail -n 20 -F "$@"
}

trace_help() {
    cat <<'TEXT'
usage: ./dev trace TOPIC [SEQ]

What happened to a query, from the logs in var/log: the lines that name its topic and those of the same
requests, of all nodes and the engine, in the order of their times. Without SEQ all queries of the topic.
An engine and an operator see a topic of a namespace as NAMESPACE~TOPIC: write it like that.

  PARLEY_LOG_LEVEL=debug ./dev up
               starts the nodes and the engine again so that they log all of it (or: cluster 2);
               ./dev up alone goes back
  ./dev trace first-steps-1a2b3c 1
               after a request to add-query for that topic

Logs in JSON (PARLEY_LOG_FORMAT=json) are read as well. For logs elsewhere:

  deploy/trace.pl TOPIC [SEQ] FILE...

TEXT
}

trace() {
    local topic=${1:-} seq=${2:-} files status=0
    case " $* " in *' -h '* | *' --help '*)
        trace_help
        return
        ;;
    esac
    if [ -z "$topic" ] || [ $# -gt 2 ]; then
        die "trace takes a topic, and perhaps a Seq (see $DEV trace --help)"
    fi
    case $seq in *[!0-9]*) die "a Seq is a whole number, not '$seq' (see $DEV trace --help)" ;; esac
    shopt -s nullglob
    files=(var/log/node*.log var/log/node*.log.1 var/log/engine*.log var/log/engine*.log.1)
    [ ${#files[@]} -gt 0 ] || die "there are no logs yet: PARLEY_LOG_LEVEL=debug $DEV up starts what writes them"
    deploy/trace.pl "$topic" ${seq:+"$seq"} "${files[@]}" || status=$?
    case $status in
    0) ;;
    1) die "no log has a line about that. PARLEY_LOG_LEVEL=debug $DEV up makes the logs name topics: then send the query again" ;;
    3) warn "that is little: PARLEY_LOG_LEVEL=debug $DEV up makes the logs tell more of later queries" ;;
    *) exit 1 ;;
    esac
}
