#!/usr/bin/env bash
# Checks that systemd accepts every line of the service unit, and that its exposure
# level is at most 3.0. systemd need not be running.
set -euo pipefail
unit=${1:?specify the unit file}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The programs in the unit need not be installed here.
sed -E 's,^(ExecStart|ExecReload)=[^ ]+,\1=/bin/true,; /^Documentation=/d' "$unit" >"$folder/taskyard.service"
systemd-analyze verify "$folder/taskyard.service"
systemd-analyze security --offline=yes --threshold=30 "$folder/taskyard.service" | tail -1
