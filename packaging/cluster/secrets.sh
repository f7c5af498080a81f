#!/bin/sh
# Creates the database passwords in the folder secrets. The files are readable by the
# users of the containers, but only your account can access the folder.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir secrets
umask 022
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
password >secrets/database_password
password >secrets/replication_password
printf '*:*:*:taskyard:%s\n' "$(cat secrets/database_password)" >secrets/pgpass
