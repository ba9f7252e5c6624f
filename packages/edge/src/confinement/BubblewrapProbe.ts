/**
 * Whether bubblewrap confines programs on this machine, found by trying it once: a shell must start with the flags of a run, write the one folder
 * that it may write, fail to write another one and the settings of the kernel, have its own network, reach a socket through the bridge of a run, and
 * fail to set the user of a program. Also the command that would install it here.
 */
import { Effect, type Scope } from "effect"
import { mkdirSync, readlinkSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import { listening } from "../network/UnixListener.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import { type TrialShell, runTrial } from "./ConfinementTrial.ts"
import type { MissingMeans } from "./Means.ts"
import type { Mount } from "./Mount.ts"
import { FILTER_SHELL, filteredCommand, openCallFilter } from "./seccomp/FilteredCommand.ts"
import { NETWORK_FOLDER, PROXY_PORT, bridgedCommand } from "./NetworkBridge.ts"

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
export interface BubblewrapPrograms {
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
