#!/usr/bin/env bash
# Prints the licenses of everything in the binary: the Go modules and the files
# in static/vendor. It fails if a license is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "Taskyard contains the following third-party software."
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' . | sort -u | while read -r path version dir; do
	found=
	for f in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/COPYING* "$dir"/NOTICE* "$dir"/License*; do
		[ -f "$f" ] || continue
		found=yes
		printf '\n\n=== %s %s (%s)\n\n' "$path" "$version" "${f##*/}"
		cat "$f"
	done
	[ -n "$found" ] || { echo "no license for $path in $dir" >&2; exit 1; }
done
for f in static/vendor/*.LICENSE; do
	printf '\n\n=== %s\n\n' "$(basename "$f" .LICENSE)"
	cat "$f"
done
printf '\n\n=== Go and its standard library\n\n'
cat "$(go env GOROOT)/LICENSE"
