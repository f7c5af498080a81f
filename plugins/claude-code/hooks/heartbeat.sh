#!/bin/sh
# Renews the claims of this agent while it works with other tools, at most once
# a minute. Without taskyard, token or server it is silent.
[ -n "${TASKYARD_TOKEN:-}" ] && command -v taskyard >/dev/null 2>&1 || exit 0
stamp="${XDG_CACHE_HOME:-$HOME/.cache}/taskyard/heartbeat"
[ -z "$(find "$stamp" -mmin -1 2>/dev/null)" ] || exit 0
mkdir -p "$(dirname "$stamp")" && : >"$stamp" || exit 0
agent=$(taskyard whoami 2>/dev/null | sed -n 's/^ *agent  *//p')
[ -n "$agent" ] || exit 0
taskyard task list --owner "$agent" --work-status working -q 2>/dev/null | while read -r id; do
	taskyard task heartbeat "$id" >/dev/null 2>&1 </dev/null
done
exit 0
