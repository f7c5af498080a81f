#!/bin/sh
# Starts PostgreSQL as the primary if this host is $PRIMARY, and otherwise as its
# standby, which is created from a base backup at the first start.
set -eu
[ "$PRIMARY" = "$(hostname)" ] && exec docker-entrypoint.sh "$@"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	PGPASSWORD="$(cat "${SECRETS:-/run/secrets}/replication_password")"
	export PGPASSWORD
	until psql --host="$PRIMARY" --username=replicator --dbname=postgres --no-password --quiet --command="
			SELECT pg_create_physical_replication_slot('standby')
			WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'standby')" &&
		pg_basebackup --host="$PRIMARY" --username=replicator --pgdata="$PGDATA" --slot=standby \
			--write-recovery-conf --checkpoint=fast --no-password; do
		find "$PGDATA" -mindepth 1 -delete
		sleep 2
	done
	chmod 0700 "$PGDATA"
	unset PGPASSWORD
elif [ ! -e "$PGDATA/standby.signal" ]; then
	echo "$(hostname) has the data of a primary, but $PRIMARY is the primary. If $(hostname) was promoted, set" >&2
	echo "POSTGRES_PRIMARY to it. Otherwise remove its container and volume: it then starts as a copy of $PRIMARY." >&2
	exit 1
fi
exec docker-entrypoint.sh "$@" -c cluster_name=standby
