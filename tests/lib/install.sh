# shellcheck shell=bash
# install.sh - install_packages [--yes] PACKAGE...: installs the Debian packages that are missing, after asking
# Asks only on a terminal and without --yes. Uses sudo when not root.

install_packages() {
    local yes=no missing='' package answer as_root=''
    if [ "${1:-}" = --yes ]; then
        yes=yes
        shift
    fi
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "These Debian packages are needed and will be installed:$missing"
    if [ "$yes" = no ] && [ -t 0 ]; then
        printf 'Install them now? [Y/n] '
        read -r answer || answer=n
        case $answer in
        '' | y | Y | yes) ;;
        *)
            echo "Nothing was installed. Install them yourself and run this again." >&2
            return 1
            ;;
        esac
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Installing needs root: run as root, or install sudo." >&2
            return 1
        fi
        as_root=sudo
    fi
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
        >"${TMPDIR:-/tmp}/edl-install.$$" 2>&1; then
        cat "${TMPDIR:-/tmp}/edl-install.$$" >&2
        rm -f "${TMPDIR:-/tmp}/edl-install.$$"
        echo "apt-get could not install them; its messages are above." >&2
        return 1
    fi
    rm -f "${TMPDIR:-/tmp}/edl-install.$$"
}
