/**
 * Confinement by Seatbelt, through `sandbox-exec` of macOS: files, services of the system, and the network. Untested on hardware (ADR 64). A probe
 * tries it once on this machine.
 *
 * The run shares the network of the machine. It connects to a port of this machine with the proxy, for which it has credentials.
 */
import { Effect, type Scope } from "effect"
import { realpathSync } from "node:fs"
import { openLoopbackNetwork } from "../network/RunNetwork.ts"
import type { ConfinementMeans, MeansTrial, MissingMeans } from "./Means.ts"
import type { Mount } from "./Mount.ts"
import { variablesOfProxy } from "./NetworkBridge.ts"
import { pathRules, privateCaches } from "./PathRules.ts"
import { seatbeltProfile } from "./SeatbeltProfile.ts"
import { createServer } from "node:net"
import { listening } from "../network/UnixListener.ts"
import { HIDDEN_CHECK, type TrialShell, runTrial } from "./ConfinementTrial.ts"

// Whether `sandbox-exec` limits programs on this machine, found by trying it once: a shell must start with the profile of a run, write the one
// folder that it may write, fail to write another one and to read a third, reach one port of this machine, and fail to reach another.

/** Part of macOS. Another one on the PATH is not tried. */
const PROGRAM = "/usr/bin/sandbox-exec"

/** The port that the shell may reach, and another one. */
const PORT_CHECKS = [
  '/usr/bin/nc -z -w 5 127.0.0.1 "$4" 2>/dev/null || exit 6',
  '/usr/bin/nc -z -w 5 127.0.0.1 "$5" 2>/dev/null && exit 7'
]

const missing = (cause: string): MissingMeans => ({
  problem: `Seatbelt does not work here: ${cause.slice(0, 200)}.`,
  hint: "Corral confines runs with sandbox-exec of macOS, and was not tested with every version. Please report this message."
})

/** A port on which every connection is accepted. */
const openPort: Effect.Effect<number, string, Scope.Scope> = Effect.gen(function* () {
  const server = createServer((socket) => void socket.on("error", () => undefined).end())
  yield* listening(server, { host: "127.0.0.1", port: 0 })
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
})

/** Tries it. Gives its path if it works. `program`: another one, for tests. */
export const probeSeatbelt = (program = PROGRAM): Effect.Effect<string | MissingMeans> => {
  const trial = runTrial(
    Effect.fnUntraced(function* ({ readable, writable }) {
      const [allowed, refused] = [yield* openPort, yield* openPort]
      const profile = seatbeltProfile({
        rules: [
          { access: "write", path: writable },
          { access: "read", path: readable }
        ],
        temporary: writable,
        ports: [allowed]
      })
      return {
        program,
        args: ({ args, file }: TrialShell) => ["-p", profile, "--", file, ...args],
        checks: [HIDDEN_CHECK, ...PORT_CHECKS],
        parameters: [String(allowed), String(refused)]
      }
    })
  )
  return Effect.map(trial, (cause) => (cause === undefined ? program : missing(cause)))
}

/** The path without links: Seatbelt compares real paths. A path that does not exist is unchanged. */
const realPath = (path: string): string => {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/** Mounts with real paths, so that their order is that of the real folders. */
const withRealPaths = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  mounts.map((mount) =>
    mount.kind === "link" || mount.kind === "folder" ? mount : { ...mount, path: realPath(mount.path) }
  )

/** The means with this `sandbox-exec`. */
export const seatbeltOf = (program: string): ConfinementMeans => ({
  kind: "seatbelt",
  network: "closed",
  isolate: ({ args, file }, mounts) => {
    const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary: "/tmp", ports: [] })
    return { file: program, args: ["-p", profile, "--", file, ...args] }
  },
  confine: Effect.fnUntraced(function* ({ command, mounts, network }) {
    const { ports, proxy } = yield* openLoopbackNetwork(network)
    const temporary = realPath(command.temporary ?? command.cwd)
    return yield* Effect.try({
      try: () => {
        const profile = seatbeltProfile({ rules: pathRules(withRealPaths(mounts)), temporary, ports })
        const env = {
          ...command.env,
          ...variablesOfProxy(proxy, network.declared),
          ...privateCaches(temporary)
        }
        const args = ["-p", profile, "--", command.file, ...command.args]
        return { command: { ...command, file: program, args, env }, ports: undefined }
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
  })
})

/** Seatbelt, if `sandbox-exec` limits programs on this machine. */
export const trySeatbelt: MeansTrial = () =>
  Effect.map(probeSeatbelt(), (found) => (typeof found === "string" ? seatbeltOf(found) : found))
