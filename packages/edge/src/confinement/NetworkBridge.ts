/**
 * Bridge between a closed network and the sockets of its run: a shell that starts socat for each port, reads from each that it listens, and
 * then runs the program. Pure.
 *
 * The other direction, to ports of the program, is a copy of the shell that waits for commands on descriptor 3 (`PortRelay`). It starts a
 * socat for each connection, so that a run without previews holds one shell more and nothing else.
 *
 * Guarantees: the program starts after all ports listen, so its first connection succeeds. It keeps its stdin, stdout and stderr, and its exit code or signal is reported as by a shell.
 * It does not have descriptors 3, 5 and 6. The bridge ends with the program.
 */

import type { RuntimeNetwork } from "@corral/domain/run/RuntimeNetwork"
import { hexPort } from "../network/PortRelay.ts"

/** Where a run sees the folder with its sockets. */
export const NETWORK_FOLDER = "/run/corral"
/** Port of the proxy in the run's network. Below the ports that the kernel assigns to clients. */
export const PROXY_PORT = 17_843

const PROXY = `http://127.0.0.1:${PROXY_PORT}`
const NO_PROXY = "localhost,127.0.0.1,::1"

/**
 * Variables by which programs find a proxy. Node reads them from version 22.21 or 24.5 on, if the last one is set. That loads its HTTP client, also
 * in a program that does not connect, so a runtime can do without it.
 */
export const variablesOfProxy = (
  address: string,
  runtime?: RuntimeNetwork
): Readonly<Record<string, string>> => ({
  HTTP_PROXY: address,
  HTTPS_PROXY: address,
  ALL_PROXY: address,
  NO_PROXY,
  http_proxy: address,
  https_proxy: address,
  all_proxy: address,
  no_proxy: NO_PROXY,
  ...(runtime?.isNodeClient === false ? {} : { NODE_USE_ENV_PROXY: "1" })
})

/** Those of the proxy behind the bridge. */
export const bridgeVariables = (runtime: RuntimeNetwork | undefined): Readonly<Record<string, string>> =>
  variablesOfProxy(PROXY, runtime)

/** A port in the run's network, and the name of its socket. */
export interface BridgedPort {
  readonly port: number
  readonly socket: string
}

/** Processes of one bridge. More connections wait. */
const MAX_CONNECTIONS = 128

/**
 * Arguments: socat, then for each port its number, its number in hexadecimal digits, and its socket, then `--` and the program. The shell
 * stays until the program ends, so it handles the signals of their group, and is silent about how the program ended. socat uses no OpenSSL, and
 * starts faster without its configuration.
 *
 * An empty here-document is a pipe, to which socat writes that it listens. The shell closes it afterwards: socat ignores that later lines have no
 * reader. Bash before 5.1 makes a file of it, which ends at once. Then the kernel's list of listeners is read until it contains the port.
 *
 * A command of the relay is a socket, a port, and the port in hexadecimal digits. The kernel lists listeners before connections, and shells
 * read byte by byte, so the search ends with the first connection. The answer to a port without a listener is the socket's name. The double
 * fork leaves a socat to the first process of the run, which waits for it.
 */
const SCRIPT = `
listens() { while read -r _ at _ state _; do case "$at $state" in *":$1 0A") return 0;; esac; done </proc/net/tcp; return 1; }
address() {
  while read -r _ at _ state _; do
    case "$state $at" in
      "0A 0100007F:$2" | "0A 00000000:$2" | "0A 0000000000000000FFFF00000100007F:$2") found="TCP4:127.0.0.1:$1"; return 0;;
      "0A 00000000000000000000000000000000:$2" | "0A 00000000000000000000000001000000:$2") found="TCP6:[::1]:$1"; return 0;;
      "st "* | "0A "*) ;;
      *) return 1;;
    esac
  done
  return 1
}
relay() {
  while read -r name port hex; do
    if address "$port" "$hex" </proc/net/tcp || address "$port" "$hex" </proc/net/tcp6; then
      (OPENSSL_CONF=/dev/null "$bridge" "$found" "UNIX-CONNECT:${NETWORK_FOLDER}/$name" </dev/null >/dev/null 2>&1 3<&- &)
    else
      echo "$name" >&3
    fi
  done <&3
}
fail() { echo "the bridge to the network did not start" >&2; kill -9 $started; exit 1; }
bridge=$1; shift
trap : HUP INT TERM
started= awaited= silent=0
exec 5<<END
END
exec 6>/proc/self/fd/5
while [ "$1" != -- ]; do
  (
    trap '' PIPE
    OPENSSL_CONF=/dev/null exec "$bridge" -d -d "TCP4-LISTEN:$1,bind=127.0.0.1,fork,reuseaddr,backlog=${MAX_CONNECTIONS},max-children=${MAX_CONNECTIONS}" "UNIX-CONNECT:${NETWORK_FOLDER}/$3,forever,interval=0.1" </dev/null >/dev/null 2>&6 3<&- 5<&- 6>&-
  ) &
  started="$started $!" awaited="$awaited $2" silent=$((silent + 1)); shift 3
done
shift
(exec </dev/null >/dev/null 2>&1 5<&- 6>&-; relay) &
started="$started $!"
exec 6>&-
while [ $silent -gt 0 ] && read -r line; do
  case "$line" in *" listening on "*) silent=$((silent - 1));; *" E "*) fail;; esac
done <&5
exec 5<&-
if [ $silent -gt 0 ]; then
  tries=0
  for port in $awaited; do
    until listens "$port"; do
      tries=$((tries + 1))
      [ $tries -gt 1000 ] && fail
      sleep 0.002
    done
  done
fi
exec 3>&2 2>/dev/null
"$@" 2>&3 3>&-
code=$?
kill -9 $started
exit $code
`

/** The program with its bridge. */
export const bridgedCommand = (
  bridge: string,
  ports: ReadonlyArray<BridgedPort>,
  { args, file }: { readonly file: string; readonly args: ReadonlyArray<string> }
): { readonly file: string; readonly args: ReadonlyArray<string> } => ({
  file: "/bin/sh",
  args: [
    "-c",
    SCRIPT,
    "corral-network",
    bridge,
    ...ports.flatMap(({ port, socket }) => [String(port), hexPort(port), socket]),
    "--",
    file,
    ...args
  ]
})
