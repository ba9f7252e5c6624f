/**
 * Whether bubblewrap confines programs on this machine, found by trying it once: a shell must start with the flags of a run, write the one
 * folder that it may write, fail to write another one and the settings of the kernel, have its own network, and reach a socket through
 * the bridge of a run.
 */
import { Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import { listening } from "../network/UnixListener.ts"
import { callProgram } from "../process/ProgramCall.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import { installSentence } from "./InstallCommand.ts"
import type { MissingMeans } from "./Means.ts"
import type { Mount } from "./Mount.ts"
import { bridgedCommand, NETWORK_FOLDER, PROXY_PORT } from "./NetworkBridge.ts"

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

/** Prints a word if the program could do what it may, and nothing else. A failed redirection of `:` would end the shell. */
const SCRIPT = `
true > "$1/inside" || exit 3
true 2>/dev/null > "$2/outside" && exit 4
[ -w /proc/sys/kernel/hostname ] && exit 5
[ "$(readlink /proc/self/ns/net)" = "$3" ] && exit 6
[ "$("$4" -T 5 -u "TCP4:127.0.0.1:$5" -)" = bridged ] || exit 7
echo confined
`

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

const attempt = Effect.fnUntraced(function* (
  program: string,
  bridge: string,
  system: ReadonlyArray<Mount>,
  folder: string
): Effect.fn.Return<BubblewrapFound, string, Scope.Scope> {
  const [writable, readable, network] = ["writable", "readable", "network"].map((name) => join(folder, name))
  if (writable === undefined || readable === undefined || network === undefined)
    return missingMeans("its test has no folder")
  for (const each of [writable, readable, network]) mkdirSync(each)
  yield* serveWord(join(network, "word"))
  const mounts: ReadonlyArray<Mount> = [
    ...system,
    { kind: "write", path: writable },
    { kind: "read", path: readable },
    { kind: "read", path: NETWORK_FOLDER, source: network }
  ]
  const port = { port: PROXY_PORT, socket: "word" }
  const test = [SCRIPT, "probe", writable, readable, readlinkSync("/proc/self/ns/net"), bridge]
  const command = bridgedCommand(bridge, [port], {
    file: "/bin/sh",
    args: ["-c", ...test, String(PROXY_PORT)]
  })
  const args = bubblewrapArguments({ mounts, cwd: "/", ...command })
  const result = yield* callProgram({ program, args: ["--die-with-parent", ...args], env: {}, cwd: "/" })
  if (result === undefined) return missingMeans("it did not end in time")
  const isConfined =
    result.stdout === "confined\n" &&
    existsSync(join(writable, "inside")) &&
    !existsSync(join(readable, "outside"))
  return isConfined
    ? { program, bridge }
    : missingMeans(result.stderr.trim() || `its test ended with ${result.code}`)
})

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
    return Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "corral-probe-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ).pipe(
      Effect.flatMap((folder) => attempt(program, bridge, system, folder)),
      Effect.scoped,
      Effect.catch((cause) => Effect.succeed(missingMeans(cause))),
      Effect.catchDefect((cause) => Effect.succeed(missingMeans(String(cause))))
    )
  })
