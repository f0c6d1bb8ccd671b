# shellcheck shell=bash
# edl.bash - completion of edl(1) for bash: verbs and options as the command itself tells them, jobs and nodes that there are
_edl_words() { # VERB: its options; without: the verbs
    if [ $# = 0 ]; then
        edl --help 2>/dev/null | sed -n '/^Every verb/q; s/^  \([a-z][a-z-]*\)  .*/\1/p'
    else
        edl "$1" --help 2>/dev/null | sed -n 's/^  *\(-[a-z0-9], \)\?\(--[a-z_-]*\).*/\2/p'
    fi
}

_edl() {
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-} words=''
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        words=$(_edl_words)
    elif [[ $word == -* ]]; then
        words=$(_edl_words "$verb")
    else
        case $verb in
        help) words=$(_edl_words) ;;
        exec | shell | attach | port-forward | show | why | hosts | logs | fetch | wait | kill | scale) words=$(timeout 1 edl ps --json 2>/dev/null | sed -n 's/^ *"name": *"\([A-Za-z0-9._-]*\)".*/\1/p') ;;
        model) [ "$COMP_CWORD" = 2 ] && words="show nearest csv" ;;
        recordio)
            if [ "$COMP_CWORD" = 2 ]; then words="cat index check convert split"; else mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; fi
            ;;
        search)
            case $COMP_CWORD-${COMP_WORDS[2]-} in
            2-*) words='run show resume stop best list' ;;
            *-show | *-resume | *-stop | *-best) words=$(timeout 1 edl search list --json 2>/dev/null | sed -n 's/^ *"search": *"\([A-Za-z0-9._-]*\)".*/\1/p') ;;
            *-run) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
            esac
            ;;
        node) words='add tokens revoke cordon uncordon drain remove' ;;
        submit | plan | simulate | replay)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            compopt -o filenames 2>/dev/null
            return
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _edl edl
