#!/bin/sh
# Runs on each database server, under Patroni's user. PostgreSQL with a full disk stays primary and refuses most writes: this asks Patroni to make another server the
# primary as soon as less than MINIMUM_MB are free here.
#
#   leave-full-disk.sh FOLDER PATRONI_URL NAME [MINIMUM_MB]
set -u
folder=$1 patroni=$2 name=$3 minimum=${4:-512}
while :; do
  free=$(df --output=avail -m "$folder" | tail -n 1)
  if [ "$free" -lt "$minimum" ] && curl --silent --fail --output /dev/null "$patroni/primary"; then
    echo "$free MB are free on $folder: leaving the place of the primary"
    curl --silent --show-error --max-time 30 --header 'content-type: application/json' --data "{\"leader\": \"$name\"}" "$patroni/switchover"
    echo
  fi
  sleep 2
done
