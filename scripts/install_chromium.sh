#!/bin/sh
# Installs the browser of the page's tests where it is missing and can be installed: by root, with apt-get. Elsewhere it
# says so and succeeds, since the tests that need a browser are skipped without one.
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium (large)"
    export DEBIAN_FRONTEND=noninteractive
    if { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null; then
        exit 0
    fi
fi
echo "There is no Chromium, so the browser tests are skipped; install it to run them." >&2
