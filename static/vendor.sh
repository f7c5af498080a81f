#!/bin/sh
# Re-creates vendor/, vendor-test/ and icons.svg from vendor.lock and icons.txt.
# Lines of vendor.lock: package version integrity path-in-package destination sha256
# With --record the sha256 column is written anew; without it a difference ends the script.
# "@icons" as the destination makes one symbol file of the names in icons.txt.
set -eu
cd "$(dirname "$0")"
record=${1:-}
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT

symbols() { # symbols TARBALL: one symbol an icon, ids "i-" plus the name
  echo '<!-- Lucide, ISC License, see vendor/lucide.LICENSE. Made by vendor.sh of icons.txt. -->'
  echo '<svg xmlns="http://www.w3.org/2000/svg">'
  while read -r name; do
    printf '<symbol id="i-%s" viewBox="0 0 24 24">' "$name"
    tar -xzOf "$1" "package/icons/$name.svg" | sed -e '1,/^>$/d' -e '/<\/svg>/d' -e 's/^ *//' | tr -d '\n'
    echo '</symbol>'
  done < icons.txt
  echo '</svg>'
}

while read -r pkg ver sri src dst sum; do
  case "$pkg" in ''|\#*) echo "$pkg $ver $sri $src $dst $sum" | sed 's/ *$//' >> "$t/lock"; continue;; esac
  f="$t/$(printf %s "$pkg-$ver" | tr '/@' '__').tgz"
  if [ ! -f "$f" ]; then
    mkdir -p "$t/p" && (cd "$t/p" && npm pack --silent --ignore-scripts "$pkg@$ver" >/dev/null) && mv "$t"/p/*.tgz "$f"
    got="sha512-$(openssl dgst -sha512 -binary "$f" | base64 | tr -d '\n')"
    [ "$got" = "$sri" ] || { echo "integrity mismatch: $pkg@$ver $got" >&2; exit 1; }
  fi
  mkdir -p "$(dirname "$dst")"
  if [ "$src" = @icons ]; then symbols "$f" > "$t/out"; else tar -xzOf "$f" "package/$src" > "$t/out"; fi
  now=$(sha256sum < "$t/out" | cut -d' ' -f1)
  if [ "$record" != --record ] && [ "$now" != "$sum" ]; then echo "sha256 mismatch: $dst $now" >&2; exit 1; fi
  cp "$t/out" "$dst"
  echo "$pkg $ver $sri $src $dst $now" >> "$t/lock"
done < vendor.lock
if [ "$record" = --record ]; then cp "$t/lock" vendor.lock; fi
