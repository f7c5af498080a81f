#!/bin/sh
# Names the tasks that this agent holds when a session starts, so that a
# restarted one continues them. Without taskyard, token or server it is silent.
[ -n "${TASKYARD_TOKEN:-}" ] && command -v taskyard >/dev/null 2>&1 || exit 0
agent=$(taskyard whoami 2>/dev/null | sed -n 's/^ *agent  *//p')
[ -n "$agent" ] || exit 0
held=$(taskyard task list --owner "$agent" --work-status working -q 2>/dev/null | tr '\n' ' ')
[ -n "$held" ] && echo "In Taskyard you hold task ${held}from an earlier session: read it with get_task, and continue or release it."
exit 0
