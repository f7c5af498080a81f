#!/bin/sh
# Allows a standby to replicate the database. Runs once, when the database is created.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$(cat "${SECRETS:-/run/secrets}/replication_password")" \
	--username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SQL
echo "host replication replicator all scram-sha-256" >>"$PGDATA/pg_hba.conf"
