#!/bin/sh
# Argument of deb: "remove" or "upgrade"; of rpm: 0 for a removal, 1 for an upgrade.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now taskyard.service taskyard.socket || true
	fi
	;;
esac
