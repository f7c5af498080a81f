#!/bin/sh
# Starts PostgreSQL as the standby of $PRIMARY, from a copy of it at the first
# start. One that was promoted starts as what it is.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	PGPASSWORD="$(cat "${SECRETS:-/run/secrets}/replication_password")"
	export PGPASSWORD
	until pg_basebackup --host="$PRIMARY" --username=replicator --pgdata="$PGDATA" --slot=standby \
		--write-recovery-conf --checkpoint=fast --no-password; do
		find "$PGDATA" -mindepth 1 -delete
		sleep 2
	done
	chmod 0700 "$PGDATA"
	unset PGPASSWORD
fi
exec docker-entrypoint.sh "$@"
