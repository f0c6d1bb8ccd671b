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
    local yes=no missing package answer as_root='' log
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
    # a lock of ours: apt waits for that of dpkg, and not for that of its lists
    # shellcheck disable=SC2016,SC2086
    if ! $as_root env DEBIAN_FRONTEND=noninteractive flock -w $install_lock_s /run/lock/edl-install sh -c '
        apt-get -o "DPkg::Lock::Timeout=$0" update -qq &&
            apt-get -o "DPkg::Lock::Timeout=$0" install -y -qq --no-install-recommends "$@"' $install_lock_s $missing >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        missing=$(install_missing "$@")
        for package in $missing; do
            apt-get install -s -qq --no-install-recommends "$package" >/dev/null 2>&1 || echo "apt cannot install $package here." >&2
        done
        echo "apt-get could not install all packages; its messages are above. Install them and run this again: apt-get install$missing" >&2
        return 1
    fi
    rm -f "$log"
}
