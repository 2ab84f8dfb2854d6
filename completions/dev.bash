# SPDX-License-Identifier: MIT
# Completion for `./dev`: source this file from ~/.bashrc. In zsh say first:
#   autoload -U compinit bashcompinit && compinit && bashcompinit
# The words come from the checkout whose `dev` is called, from any folder; file names complete everywhere.
# The words of `parley` come from the program itself: source <(parley completion bash), or zsh, or fish.

_parley_dev() {
    local word=${COMP_WORDS[COMP_CWORD]} words='' dir
    dir=$(dirname -- "${COMP_WORDS[0]/#\~/$HOME}")
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$("$dir/dev" help | sed -nE 's/^  ([a-z]+) .*/\1/p') help"
    else
        case ${COMP_WORDS[1]} in
        up | cluster) words='--port --redis-port' ;;
        engine) words="$("$dir/build/release/parley" engine --help 2>/dev/null | sed -nE 's/^ +(--[a-z0-9-]+).*/\1/p') --help" ;;
        bench) words="$("$dir/build/release/parley" bench --help 2>/dev/null | sed -nE 's/^ +(--[a-z0-9-]+).*/\1/p') --help" ;;
        trace) words=--help ;;
        logs) words=$(find "$dir/var/log" -name '*.log' 2>/dev/null | sed -E 's|.*/||; s|\.log$||') ;;
        build)
            words=$(sed -nE 's/.*\{"name": "([a-z]+)", "inherits".*/\1/p' "$dir/CMakePresets.json")
            [ "$COMP_CWORD" -eq 2 ] || words="parley $(cd "$dir" && find tests -name 'test_*.c' -o -name 'bench_*.c' -o -name 'fuzz_*.c' | sed -E 's|.*/||; s|\.c$||')"
            ;;
        test)
            words="--name $(sed -nE "s/^export const GROUPS = '(.*)'.*/\1/p" "$dir/tests/run/plan.mjs") nightly containers $(cd "$dir" &&
                find tests \( -name node_modules -prune -false \) -o -name '*.test.mjs' -o -name 'test_*.c' -o -name 'fuzz_*.c' -o -name '*.test.sh')"
            ;;
        fuzz) words=$(find "$dir/tests/fuzz" -name 'fuzz_*.c' | sed -E 's|.*/fuzz_||; s|\.c$||')' --keep' ;;
        release) words='--dry-run --without package image' ;;
        fmt) words=--check ;;
        lint) words=$(sed -nE 's/^readonly (ALWAYS|WITH_TOOL)="(.*)"/\2/p' "$dir/tests/lint/run.sh") ;;
        deps) words='test containers' ;;
        esac
    fi
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -o default -F _parley_dev ./dev dev
