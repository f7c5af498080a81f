#!/bin/sh
# Makes the passwords of the database, in the folder secrets. The files can be read
# by the accounts of the containers, the folder by yours alone.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir secrets
umask 022
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
password >secrets/database_password
password >secrets/replication_password
printf '*:*:*:taskyard:%s\n' "$(cat secrets/database_password)" >secrets/pgpass
