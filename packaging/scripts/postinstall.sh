#!/bin/sh
# Arguments of deb: "configure" and the previously installed version, if any.
# Arguments of rpm: 1 for an installation, 2 for an upgrade.
set -e
fresh=no
case "$1" in
configure) [ -n "$2" ] || fresh=yes ;;
1) fresh=yes ;;
esac

# The service may change its own configuration, but not the secrets next to it.
install -d -m 1770 -o root -g taskyard /etc/taskyard
[ "$fresh" = no ] || { chown taskyard:taskyard /etc/taskyard/taskyard.toml && chmod 0640 /etc/taskyard/taskyard.toml; }
[ -d /var/lib/taskyard ] || install -d -m 0700 -o taskyard -g taskyard /var/lib/taskyard

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$fresh" = yes ]; then
	systemctl enable --now taskyard.service || true
	echo "Taskyard is running. To get the link that creates the first admin: journalctl -u taskyard --grep=setup -o cat"
else
	systemctl try-restart taskyard.service || true
fi
