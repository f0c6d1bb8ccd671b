# shellcheck shell=bash
# install.sh - install_packages [--yes] PACKAGE...: installs the Debian packages that are missing, after asking
# Asks only on a terminal and without --yes. Uses sudo when not root. Two calls at once wait for each other, and for others' dpkg.
install_lock_s=900

install_missing() { # PACKAGE...: those that are not installed
    local package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || printf ' %s' "$package"
    done
}

install_packages() {
    local yes=no missing answer as_root='' log status=0
    if [ "${1:-}" = --yes ]; then
        yes=yes
        shift
    fi
    missing=$(install_missing "$@")
    [ -n "$missing" ] || return 0
    echo "These Debian packages are needed and will be installed:$missing"
    if [ "$yes" = no ] && [ -t 0 ]; then
        printf 'Install them now? [Y/n] '
        read -r answer || answer=n
        case $answer in
        '' | y | Y | yes) ;;
        *)
            echo "Nothing was installed. Install them and run this again: apt-get install$missing" >&2
            return 1
            ;;
        esac
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Installing needs root. As root: apt-get install$missing" >&2
            return 1
        fi
        as_root=sudo
    fi
    log=$(mktemp)
    # a lock of ours: apt waits for that of dpkg, and not for that of its lists. What is known already can be installed although one of many
    # mirrors does not answer
    # shellcheck disable=SC2016,SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive sh -c 'mkdir -p /run/lock && exec flock -E 75 -w "$0" /run/lock/edl-install sh -c '\''
        apt-get -o "DPkg::Lock::Timeout=$0" update -qq
        exec apt-get -o "DPkg::Lock::Timeout=$0" install -y -qq --no-install-recommends "$@"'\'' "$0" "$@"' $install_lock_s $missing >"$log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        cat "$log" >&2
        [ $status != 75 ] || echo "E: Could not get lock /run/lock/edl-install" | tee -a "$log" >&2
        # shellcheck disable=SC2046
        install_tell_why "$log" $(install_missing "$@") >&2
    fi
    rm -f "$log"
    return $((status != 0))
}

install_tell_why() { # LOG PACKAGE...: why apt-get could not, by its own messages, and what to do
    local log=$1 unknown lock mirrors
    shift
    lock=$(sed -n 's/^[EW]: .*\(Could not get lock\|Unable to lock\|Unable to acquire the dpkg frontend lock\)[^/]*\(\/[^ ).]*\).*/\2/p' "$log" | head -n 1)
    mirrors=$(grep -aoE '(Failed to fetch|^(Err|Fehl):[0-9]+) +[a-z]+://[^ /]+' "$log" | sed 's|.* ||' | sort -u | tr '\n' ' ')
    unknown=$(sed -nE "s/^E: (Unable to locate package|Couldn't find any package by [a-z]+) ([^ ]+).*/\2/p; s/^E: Package '([^']+)' has no installation candidate.*/\1/p" "$log" | sort -u | tr '\n' ' ')
    if [ -n "$lock" ]; then
        echo "Another program holds $lock, and did not let go of it within $install_lock_s s. See who: fuser -v $lock"
    elif [ -n "$mirrors" ] && grep -qE '^E: (Failed to fetch|Unable to (fetch|locate)|Package )' "$log"; then
        echo "apt cannot reach ${mirrors% }. Look at the network, at a proxy (/etc/apt/apt.conf.d) and at /etc/apt/sources.list"
    elif [ -n "$unknown" ]; then
        echo "apt knows no package ${unknown% }. A Debian 12 with its main archive has them: look at /etc/apt/sources.list"
    fi
    echo "apt-get could not install all packages; its messages are above. Install them and run this again: apt-get install $*"
}
