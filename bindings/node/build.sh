#!/usr/bin/env bash
# Builds the add-on for this machine and puts it beside index.js. FENCEHOLD_PROFILE: release (default) or dev.
set -eu
cd "$(dirname "$0")"
profile=${FENCEHOLD_PROFILE:-release}
cargo build --quiet --profile "$profile" --package fencehold-node
folder=$(cargo metadata --format-version 1 --no-deps | node -e '
  let text = ""; process.stdin.on("data", (part) => { text += part }).on("end", () => console.log(JSON.parse(text).target_directory))')
case $profile in dev) folder=$folder/debug ;; *) folder=$folder/$profile ;; esac
name=$(node -p 'require("./lib/artefact.js")()')
library=libfencehold_node.so
[ "$(uname)" != Darwin ] || library=libfencehold_node.dylib
cp -f "$folder/$library" "$name.new"
if [ "$profile" = release ] && [ "$(uname)" = Linux ]; then strip "$name.new"; fi
mv -f "$name.new" "$name"
echo "built bindings/node/$name ($profile)"
