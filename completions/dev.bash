# SPDX-License-Identifier: MIT
# Completion for `./dev`: source this file from ~/.bashrc. In zsh say first:
#   autoload -U compinit bashcompinit && compinit && bashcompinit
# The words of `parley` come from the program itself: source <(parley completion bash), or zsh, or fish.

_parley_dev() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    case ${COMP_WORDS[1]} in
    test) words="$(sed -nE 's/^readonly GROUPS_ALL="(.*)"/\1/p' tests/run.sh) $(find tests -name '*.test.mjs')" ;;
    build) words=$(sed -nE 's/.*"name": "([a-z]+)", "inherits".*/\1/p' CMakePresets.json) ;;
    engine) words=$(build/release/parley engine --help 2>/dev/null | grep -oE '^ +--[a-z0-9-]+') ;;
    lint) words=$(sed -nE 's/^readonly (ALWAYS|WITH_TOOL)="(.*)"/\2/p' tests/lint/run.sh) ;;
    *) words= ;;
    esac
    [ "$COMP_CWORD" -gt 1 ] || words=$(./dev help | sed -nE 's/^  ([a-z]+) .*/\1/p')
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -o default -F _parley_dev ./dev
