#!/bin/sh
# Builds the libraries the page of `molrec view` uses into packages/molrec/src/molrec/viewer/page/vendor, from the exact
# versions of scripts/viewer/package-lock.json. The result is committed, so that neither an installation nor the tests
# need npm; run this after changing a version. Needs node and npm.
set -eu
cd "$(dirname "$0")/.."
sources=$PWD/scripts/viewer
vendor=$PWD/packages/molrec/src/molrec/viewer/page/vendor
work=$PWD/build/viewer
rm -rf "$work"
mkdir -p "$work" "$vendor"
cp "$sources"/* "$work"
cd "$work"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

bundle() { # entry, name of the output
    node_modules/.bin/esbuild "$1" --bundle --format=esm --minify --legal-comments=none --target=es2022 \
        --alias:numcodecs/blosc=./no_codec.js --alias:numcodecs/lz4=./no_codec.js \
        --alias:numcodecs/zstd=./no_codec.js --log-level=warning --outfile="$vendor/$2"
}
bundle zarrita.entry.js zarrita.js
bundle node_modules/fzstd/esm/index.mjs fzstd.js
# 3Dmol comes minified; the reference to a map that is not shipped goes
sed 's|^//# sourceMappingURL=.*$||' node_modules/3dmol/build/3Dmol.es6-min.js >"$vendor/3dmol.js"

# Each licence stands beside the code, those of what is bundled within included.
cp node_modules/zarrita/LICENSE "$vendor/zarrita.LICENSE"
cp node_modules/fzstd/LICENSE "$vendor/fzstd.LICENSE"
{
    cat node_modules/3dmol/LICENSE
    for inner in iobuffer netcdfjs pako upng-js; do
        printf '\n--- %s, within 3dmol.js ---\n\n' "$inner"
        cat "node_modules/$inner/LICENSE"
    done
} >"$vendor/3dmol.LICENSE"
node -e '
const versions = {};
for (const name of Object.keys(require("./package.json").dependencies))
    versions[name] = require("./package-lock.json").packages["node_modules/" + name].version;
require("fs").writeFileSync(process.argv[1], JSON.stringify(versions, null, 2) + "\n");
' "$vendor/versions.json"
ls -l "$vendor"
