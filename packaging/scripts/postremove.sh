#!/bin/sh
# Removing the package keeps data, configuration and user. Purging it (deb) deletes
# data and configuration; the user stays, so that its UID is never reused.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
if [ "$1" = purge ]; then
	rm -rf /var/lib/taskyard /etc/taskyard
fi
