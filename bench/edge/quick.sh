#!/bin/sh
# The program of "create → first event" and "cancel", on both sides: it starts within a millisecond, which a Node does not.
#
# The prompt "/tree" leaves a process that only SIGKILL ends, with stdout open. Both have the FIFO "tree" of the workspace open: its readers
# see its end when the last of them is dead.
read -r prompt
case $prompt in
*'"/tree"'*)
  exec 9<>tree
  (trap '' INT TERM && exec sleep 60) &
  echo '{"type":"hello","session":"quick","version":"1.0.0","mode":"ask"}'
  while read -r line; do
    case $line in *'"cancel"'*) exit ;; esac
  done
  ;;
*)
  echo '{"type":"hello","session":"quick","version":"1.0.0","mode":"ask"}'
  echo '{"type":"done","status":"completed","text":"quick"}'
  while read -r line; do :; done
  ;;
esac
