#!/bin/sh
# Make sure that the environment DIR exists, works and belongs to this checkout: make_venv.sh DIR
#
# One that works is kept. One that does not run, is too old or was moved here from another checkout (its scripts and
# editable installs would point there) is built afresh.

set -eu

dir=${1:?usage: make_venv.sh DIR}
here=$(dirname "$0")
checkout=$(pwd -P)

if [ -x "$dir/bin/python" ] && sh "$here/find_python.sh" --check "$dir/bin/python" \
    && "$dir/bin/python" -c "import pip" 2>/dev/null \
    && [ "$(cat "$dir/.checkout" 2>/dev/null || echo "$checkout")" = "$checkout" ]; then
    exit 0
fi

python=$(sh "$here/find_python.sh")
echo "Creating $dir with $python ($("$python" --version))"
"$python" -m venv --clear "$dir"
printf '%s\n' "$checkout" >"$dir/.checkout"
