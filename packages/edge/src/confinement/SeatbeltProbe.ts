/**
 * Whether `sandbox-exec` limits programs on this machine, found by trying it once: a shell must start with the profile of a run, write the one
 * folder that it may write, fail to write another one and to read a third, reach one port of this machine, and fail to reach another.
 */
import { Effect, type Scope } from "effect"
import { createServer } from "node:net"
import { listening } from "../network/UnixListener.ts"
import { HIDDEN_CHECK, runTrial, type TrialShell } from "./ConfinementTrial.ts"
import type { MissingMeans } from "./Means.ts"
import { seatbeltProfile } from "./SeatbeltProfile.ts"

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
