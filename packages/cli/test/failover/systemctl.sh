#!/bin/bash
# Stand-in for systemctl on a machine of a test, which has no systemd: starts the program of a unit with its user and settings. It ignores what a unit restricts.
set -eu
verb=""
units=()
for argument in "$@"; do
  case $argument in
    --*) ;;
    *) if [ -z "$verb" ]; then verb=$argument; else units+=("${argument%.service}"); fi ;;
  esac
done
case "$verb $*" in
  enable*--now* | restart* | start*) ;;
  *) exit 0 ;;
esac

file_of() {
  for folder in /etc/systemd/system /lib/systemd/system; do
    if [ -f "$folder/$1.service" ]; then echo "$folder/$1.service" && return; fi
  done
  echo "Unit $1.service not found." >&2
  exit 5
}
# The values of a setting of the unit, one per line.
values() { sed -n "s/^$2=//p" "$1" | sed "s/%p/$unit/g; s/%H/$(hostname)/g"; }

start() {
  local unit=$1 file user command state line
  file=$(file_of "$unit")
  user=$(values "$file" User | tail -1)
  command=$(values "$file" ExecStart | tail -1)
  state=$(values "$file" StateDirectory | tail -1)
  if [ -n "$state" ]; then install -d -m 0700 -o "${user:-root}" "/var/lib/$state"; fi
  (
    cd /
    export USER="${user:-root}" HOME
    HOME=$(getent passwd "$USER" | cut -d : -f 6)
    while read -r line; do
      line=${line#\"} && export "${line%\"}"
    done < <(values "$file" Environment | sed 's/" "/\n/g')
    while read -r line; do
      if [ -f "${line#-}" ]; then set -a && . "${line#-}" && set +a; fi
    done < <(values "$file" EnvironmentFile)
    # As systemd does, a unit's variables are split at spaces.
    eval "set -- $command"
    exec setsid setpriv --reuid "${user:-root}" --regid "$(id -g "${user:-root}")" --init-groups --inh-caps=-all "$@" \
      >> "/var/log/$unit.log" 2>&1 < /dev/null
  ) &
  echo $! > "/run/unit-$unit.pid"
}

for unit in "${units[@]}"; do
  if [ -f "/run/unit-$unit.pid" ]; then
    kill "$(cat "/run/unit-$unit.pid")" 2> /dev/null || true
    sleep 0.2
  fi
  start "$unit"
done
