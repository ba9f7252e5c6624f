/**
 * Whether `sandbox-exec` limits programs on this machine, found by trying it once: a shell must start with the profile of a run, write the one
 * folder that it may write, fail to write another one and to read a third, reach one port of this machine, and fail to reach another.
 */
import { Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { listening } from "../network/UnixListener.ts"
import { callProgram } from "../process/ProgramCall.ts"
import type { MissingMeans } from "./Means.ts"
import { seatbeltProfile } from "./SeatbeltProfile.ts"

/** Part of macOS. Another one on the PATH is not tried. */
const PROGRAM = "/usr/bin/sandbox-exec"

/** A failed redirection ends a shell, but not the one around it. */
const SCRIPT = `
true > "$1/inside" || exit 3
(true > "$2/outside") 2>/dev/null && exit 4
(read -r _ < "$3/secret") 2>/dev/null && exit 5
/usr/bin/nc -z -w 5 127.0.0.1 "$4" 2>/dev/null || exit 6
/usr/bin/nc -z -w 5 127.0.0.1 "$5" 2>/dev/null && exit 7
echo limited
`

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

const attempt = Effect.fnUntraced(function* (
  program: string,
  folder: string
): Effect.fn.Return<string | MissingMeans, string, Scope.Scope> {
  const [writable, readable, hidden] = ["writable", "readable", "hidden"].map((name) => join(folder, name))
  if (writable === undefined || readable === undefined || hidden === undefined)
    return missing("its test has no folder")
  for (const each of [writable, readable, hidden]) mkdirSync(each)
  writeFileSync(join(hidden, "secret"), "secret\n")
  const [allowed, refused] = [yield* openPort, yield* openPort]
  const profile = seatbeltProfile({
    rules: [
      { access: "write", path: writable },
      { access: "read", path: readable }
    ],
    temporary: writable,
    ports: [allowed]
  })
  const test = ["-c", SCRIPT, "probe", writable, readable, hidden, String(allowed), String(refused)]
  const args = ["-p", profile, "--", "/bin/sh", ...test]
  const result = yield* callProgram({ program, args, env: {}, cwd: "/" })
  if (result === undefined) return missing("it did not end in time")
  const isLimited =
    result.stdout === "limited\n" &&
    existsSync(join(writable, "inside")) &&
    !existsSync(join(readable, "outside"))
  return isLimited ? program : missing(result.stderr.trim() || `its test ended with ${result.code}`)
})

/** Tries it. Gives its path if it works. `program`: another one, for tests. */
export const probeSeatbelt = (program = PROGRAM): Effect.Effect<string | MissingMeans> =>
  Effect.acquireRelease(
    Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "corral-trial-")))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  ).pipe(
    Effect.flatMap((folder) => attempt(program, folder)),
    Effect.scoped,
    Effect.catch((cause) => Effect.succeed(missing(cause))),
    Effect.catchDefect((cause) => Effect.succeed(missing(String(cause))))
  )
