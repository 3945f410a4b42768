#!/bin/sh
# Print the path of a CPython that can build the workspace's environment: 3.12 or newer, with venv and ensurepip.
#
# Every candidate is run, because a name on PATH proves nothing: a version manager's shim may answer "command not
# found", and a distribution may ship Python without venv. 3.13 is preferred, then 3.12 (the oldest supported), then
# newer ones; free-threaded builds are passed over, since few wheels exist for them. $PYTHON, when set, is the only
# candidate.
#
#   find_python.sh              print the first candidate that fits
#   find_python.sh --check EXE  succeed when EXE fits, print nothing

set -u

probe='
import sys, sysconfig
if sys.implementation.name != "cpython" or sys.version_info < (3, 12) or sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(3)
try:
    import ensurepip, venv
except ImportError:
    sys.exit(4)
print(getattr(sys, "_base_executable", None) or sys.executable)
'

incomplete=

# Run one candidate; print its real path and succeed when it fits.
try() {
    found=$("$1" -I -c "$probe" 2>/dev/null </dev/null)
    case $? in
        0) return 0 ;;
        4) incomplete="$incomplete $1" ;;
    esac
    return 1
}

if [ "${1:-}" = "--check" ]; then
    try "${2:?usage: find_python.sh --check EXE}"
    exit
fi

if [ -n "${PYTHON:-}" ]; then
    if try "$PYTHON"; then
        printf '%s\n' "$found"
        exit 0
    fi
    echo "find_python: PYTHON=$PYTHON is not a CPython >= 3.12 with venv and ensurepip" >&2
    exit 1
fi

home=${HOME:-/nonexistent}
for version in 3.13 3.12 3.14 3.15; do
    for candidate in \
        "python$version" \
        "$home/.pyenv/versions/$version"*"/bin/python$version" \
        "${PYENV_ROOT:-$home/.pyenv}/versions/$version"*"/bin/python$version" \
        "$home/.local/share/uv/python/cpython-$version"*"/bin/python$version" \
        "/usr/bin/python$version" \
        "/usr/local/bin/python$version" \
        "/opt/homebrew/bin/python$version" \
        "/Library/Frameworks/Python.framework/Versions/$version/bin/python$version"; do
        if try "$candidate"; then
            printf '%s\n' "$found"
            exit 0
        fi
    done
done
for candidate in python3 python; do
    if try "$candidate"; then
        printf '%s\n' "$found"
        exit 0
    fi
done

{
    echo "find_python: no usable Python found."
    echo "  Needed: CPython 3.12 or newer (3.13 preferred) with the standard modules venv and ensurepip."
    if [ -n "$incomplete" ]; then
        echo "  Recent enough but without venv or ensurepip:$incomplete"
        echo "  (on Debian and Ubuntu install the matching package, such as python3.13-venv)"
    fi
    echo "  Looked for python3.13, 3.12, 3.14 and 3.15 on PATH, below ~/.pyenv/versions and ~/.local/share/uv/python, in"
    echo "  /usr/bin, /usr/local/bin and /opt/homebrew/bin, then at python3 and python."
    echo "  To name one yourself: make PYTHON=/path/to/python3.13 ..."
} >&2
exit 1
