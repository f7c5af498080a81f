#!/bin/sh
# A removal keeps data, configuration and user; only a purge (deb) removes the
# first two. The user stays, so that its number is never given to another one.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
if [ "$1" = purge ]; then
	rm -rf /var/lib/taskyard /etc/taskyard
fi
