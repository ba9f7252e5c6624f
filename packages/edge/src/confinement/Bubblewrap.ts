/**
 * Confinement by bubblewrap: files, processes, rights, system calls and the network, which is a namespace with a bridge to the run's proxy. A probe tries it once on this machine: a shell must
 * start with the flags of a run, write the one folder that it may write, fail to write another one and the settings of the kernel, have its own network, reach a socket through the bridge of a run,
 * and fail to set the user of a program. If bubblewrap is missing, the probe names the command that would install it here.
 *
 * - The program has no capabilities, also if the Edge is root, and cannot create a namespace in which it would have some.
 * - `/proc` and `/dev` are read-only: root owns the files of `/proc/sys` without any capability.
 * - The program's network has only its own loopback addresses.
 * - The program has its own session, so that signals for it do not reach bubblewrap, which would end it without a grace period.
 * - The program does not end with the Edge, as without a confinement: the next start ends it. The first process of its process namespace, a child of bubblewrap, has the marks of the run, and the
 *   kernel ends all others with it.
 */
import { Effect, type Scope } from "effect"
import { mkdirSync, readlinkSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { PortRelay } from "../network/PortRelay.ts"
import { openRunNetwork, PROXY_SOCKET, type RunNetworkOptions } from "../network/RunNetwork.ts"
import { listening } from "../network/RunProxy.ts"
import type { RunPorts } from "../preview/PortSource.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import {
  type ConfinementMeans,
  type MeansTrial,
  type MissingMeans,
  runTrial,
  type TrialShell
} from "./Means.ts"
import { type Mount, mountArguments } from "./Mount.ts"
import { bridgedCommand, bridgeVariables, NETWORK_FOLDER, PROXY_PORT } from "./NetworkBridge.ts"
import { FILTER_SHELL, filteredCommand, openCallFilter } from "./seccomp/CallFilter.ts"

/** Largest amount of shared memory of a run, in bytes. */
const SHARED_MEMORY = 268_435_456

const FIRST_FLAG = "--unshare-user"
const flags = [
  FIRST_FLAG,
  "--disable-userns",
  "--unshare-net",
  "--unshare-pid",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  "--cap-drop",
  "ALL",
  "--new-session"
]

const devices = ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
const sharedMemory = ["--size", String(SHARED_MEMORY), "--perms", "1777", "--tmpfs", "/dev/shm"]

export interface BubblewrapOptions {
  readonly mounts: ReadonlyArray<Mount>
  readonly cwd: string
  readonly file: string
  readonly args: ReadonlyArray<string>
}

/** Arguments of bubblewrap. */
export const bubblewrapArguments = ({
  args,
  cwd,
  file,
  mounts
}: BubblewrapOptions): ReadonlyArray<string> => [
  ...flags,
  // Before the mounts: a workspace may be below `/dev/shm`.
  ...devices,
  ...sharedMemory,
  ...mountArguments(mounts),
  "--remount-ro",
  "/dev",
  "--remount-ro",
  "/",
  "--chdir",
  cwd,
  "--",
  file,
  ...args
]

/** The arguments of a command with bubblewrap among them, with further flags. */
export const withFlags = (
  args: ReadonlyArray<string>,
  ...flags: ReadonlyArray<string>
): ReadonlyArray<string> => args.toSpliced(args.indexOf(FIRST_FLAG), 0, ...flags)

/** The program has the ids of the Edge's user, also if bubblewrap is root in another namespace. */
const ownIds = (): ReadonlyArray<string> => [
  "--uid",
  String(process.getuid?.() ?? 0),
  "--gid",
  String(process.getgid?.() ?? 0)
]

// Command that installs packages on this machine, by the package manager that it has. Package names are the same in all of them.

const managers: ReadonlyArray<readonly [program: string, command: string]> = [
  ["apt-get", "apt-get install"],
  ["dnf", "dnf install"],
  ["pacman", "pacman -S"],
  ["zypper", "zypper install"],
  ["apk", "apk add"]
]

/** A sentence with the command, for the end of a hint. Without a known package manager, what to install. */
export const installSentence = (packages: ReadonlyArray<string>, path: string | undefined): string => {
  const names = packages.join(" ")
  const command = managers.find(([program]) => findProgram(program, path) !== undefined)?.[1]
  return command === undefined
    ? `Install the packages ${packages.join(" and ")}.`
    : `Run \`sudo ${command} ${names}\`.`
}

/** Absolute paths of bubblewrap and of the bridge. */
interface BubblewrapPrograms {
  readonly program: string
  readonly bridge: string
}

export type BubblewrapFound = BubblewrapPrograms | MissingMeans

const notInstalled = (name: string, path: string | undefined): MissingMeans => ({
  problem: `${name} is not installed.`,
  hint: `${installSentence(["bubblewrap", "socat"], path)} Confined runs need bubblewrap 0.8 or later, and reach the network through socat. Then restart the Edge.`
})

/** The settings of the kernel, the network of this machine, a socket behind the bridge, and a call that the filter refuses. */
const CHECKS = [
  "[ -w /proc/sys/kernel/hostname ] && exit 6",
  '[ "$(readlink /proc/self/ns/net)" = "$4" ] && exit 7',
  '[ "$("$5" -T 5 -u "TCP4:127.0.0.1:$6" -)" = bridged ] || exit 8',
  'chmod 4755 "$1/inside" 2>/dev/null && exit 9'
]

/** What bubblewrap prints if it may not create its namespaces. */
const REFUSALS = ["uid map", "namespace", "Permission denied", "Operation not permitted"]

/** Why bubblewrap failed, by what it printed. */
export const missingMeans = (stderr: string): MissingMeans => {
  const [line = "no reason given"] = stderr.trim().split("\n")
  const problem = `bubblewrap does not work here: ${line.slice(0, 200)}.`
  const has = (text: string) => line.includes(text)
  if (has("nknown option")) {
    return { problem, hint: "Install bubblewrap 0.8 or later, then restart the Edge." }
  }
  if (REFUSALS.some(has)) {
    return {
      problem,
      hint: "Allow bubblewrap to create user namespaces. On Ubuntu 24.04 and later, install an AppArmor profile for it: docs/confinement.md has the commands. In a container, the container must allow them."
    }
  }
  return { problem, hint: "Run `corral doctor` after you corrected it, then restart the Edge." }
}

/** Answers every connection with a word. */
const serveWord = (path: string): Effect.Effect<void, string, Scope.Scope> =>
  listening(
    createServer((socket) => {
      socket.on("error", () => undefined)
      socket.end("bridged\n")
    }),
    path
  )

const trialOf = (program: string, bridge: string, system: ReadonlyArray<Mount>) =>
  runTrial(
    Effect.fnUntraced(function* ({ readable, writable }) {
      const network = join(dirname(writable), "network")
      mkdirSync(network)
      yield* serveWord(join(network, "word"))
      const mounts: ReadonlyArray<Mount> = [
        ...system,
        { kind: "write", path: writable },
        { kind: "read", path: readable },
        { kind: "read", path: NETWORK_FOLDER, source: network }
      ]
      const ports = [{ port: PROXY_PORT, socket: "word" }]
      const filter = yield* openCallFilter(network)
      const args = (shell: TrialShell) =>
        filteredCommand(program, filter, [
          "--die-with-parent",
          ...bubblewrapArguments({ mounts, cwd: "/", ...bridgedCommand(bridge, ports, shell) })
        ]).args
      const parameters = [readlinkSync("/proc/self/ns/net"), bridge, String(PROXY_PORT)]
      return { program: FILTER_SHELL, args, checks: CHECKS, parameters }
    })
  )

/** Tries bubblewrap. `path` is the PATH on which it and the bridge are looked up. */
export const probeBubblewrap = (
  path: string | undefined,
  system: ReadonlyArray<Mount>
): Effect.Effect<BubblewrapFound> =>
  Effect.suspend(() => {
    const program = findProgram("bwrap", path)
    if (program === undefined) return Effect.succeed(notInstalled("bubblewrap", path))
    const bridge = findProgram("socat", path)
    if (bridge === undefined) return Effect.succeed(notInstalled("socat", path))
    return Effect.map(trialOf(program, bridge, system), (cause) =>
      cause === undefined ? { program, bridge } : missingMeans(cause)
    )
  })

const openRelay = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new PortRelay(folder)),
    (relay) => Effect.sync(() => relay.close())
  )

const bubblewrapOf = ({ bridge, program }: BubblewrapPrograms): ConfinementMeans => ({
  kind: "bubblewrap",
  network: "closed",
  mounts: true,
  isolate: (command, mounts) => ({
    file: program,
    args: ["--die-with-parent", ...bubblewrapArguments({ ...command, cwd: "/", mounts })]
  }),
  confine: Effect.fnUntraced(function* ({ around, command, mounts, network }) {
    const { environmentOf, granted, relay } = yield* openNetwork(network)
    const bridged = bridgedCommand(
      bridge,
      [
        { port: PROXY_PORT, socket: PROXY_SOCKET },
        ...granted.map((port) => ({ port, socket: String(port) }))
      ],
      command
    )
    const filter = yield* openCallFilter(network.folder)
    const args = bubblewrapArguments({ cwd: command.cwd, ...bridged, mounts })
    const filtered =
      around === undefined
        ? filteredCommand(program, filter, args)
        : around(filteredCommand(program, filter, withFlags(args, ...ownIds())))
    const env = { ...environmentOf(command.env, NETWORK_FOLDER), ...bridgeVariables(network.declared) }
    return {
      command: { ...command, ...filtered, env, isConfined: true, control: relay.attach },
      ports: portsOf(relay, granted)
    }
  }),
  adopt: Effect.fnUntraced(function* ({ command, network }) {
    const { granted, relay } = yield* openNetwork(network)
    return {
      command: { ...command, isConfined: true, control: relay.attach },
      ports: portsOf(relay, granted)
    }
  })
})

const openNetwork = Effect.fnUntraced(function* (network: RunNetworkOptions) {
  const { environmentOf, ports: granted } = yield* openRunNetwork(network)
  return { environmentOf, granted, relay: yield* openRelay(network.folder) }
})

const portsOf = (relay: PortRelay, granted: ReadonlyArray<number>): RunPorts => ({
  connect: (port) => relay.connect(port),
  granted,
  reserved: [PROXY_PORT]
})

/** bubblewrap, if it confines programs on this machine. */
export const tryBubblewrap: MeansTrial = ({ path, system }) =>
  Effect.map(probeBubblewrap(path, system), (found) => ("problem" in found ? found : bubblewrapOf(found)))
