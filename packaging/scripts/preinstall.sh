#!/bin/sh
# Creates the user of the service. Safe to run again.
set -e
if ! getent group taskyard >/dev/null; then
	groupadd --system taskyard
fi
if ! getent passwd taskyard >/dev/null; then
	useradd --system --gid taskyard --home-dir /var/lib/taskyard --no-create-home --shell /usr/sbin/nologin \
		--comment "Taskyard" taskyard
fi
