#!/bin/sh
# deb: "configure" and the version that was installed before, or nothing.
# rpm: 1 for an installation, 2 for an upgrade.
set -e
fresh=no
case "$1" in
configure) [ -n "$2" ] || fresh=yes ;;
1) fresh=yes ;;
esac

# The service may change its own configuration, but not the secrets beside it.
install -d -m 1770 -o root -g taskyard /etc/taskyard
[ "$fresh" = no ] || { chown taskyard:taskyard /etc/taskyard/taskyard.toml && chmod 0640 /etc/taskyard/taskyard.toml; }
[ -d /var/lib/taskyard ] || install -d -m 0700 -o taskyard -g taskyard /var/lib/taskyard

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$fresh" = yes ]; then
	systemctl enable --now taskyard.service || true
	echo "Taskyard is running. The link that makes the first admin: journalctl -u taskyard --grep=setup -o cat"
else
	systemctl try-restart taskyard.service || true
fi
