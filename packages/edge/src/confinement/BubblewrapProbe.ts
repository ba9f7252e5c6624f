/**
 * Whether bubblewrap confines programs on this machine, found by trying it once: a shell must start with the flags of a run, write the one
 * folder that it may write, and fail to write another one and the settings of the kernel.
 */
import { Effect } from "effect"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../runtime/ProgramCall.ts"
import { bubblewrapArguments } from "./BubblewrapCommand.ts"
import type { Mount } from "./Mount.ts"

/** Why runs cannot be confined, and what to do. */
export interface MissingMeans {
  readonly problem: string
  readonly hint: string
}

export type BubblewrapFound = { readonly program: string } | MissingMeans

const NOT_INSTALLED: MissingMeans = {
  problem: "bubblewrap is not installed.",
  hint: "Install the package bubblewrap, version 0.8 or later, then restart the Edge."
}

const NOT_LINUX: MissingMeans = {
  problem: "Runs can be confined on Linux only.",
  hint: "Use a Linux device for runs that must be confined."
}

/** Prints a word if the program could do what it may, and nothing else. A failed redirection of `:` would end the shell. */
const SCRIPT = `
true > "$1/inside" || exit 3
true 2>/dev/null > "$2/outside" && exit 4
[ -w /proc/sys/kernel/hostname ] && exit 5
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

const attempt = (program: string, system: ReadonlyArray<Mount>, folder: string) => {
  const [writable, readable] = [join(folder, "writable"), join(folder, "readable")]
  mkdirSync(writable)
  mkdirSync(readable)
  const mounts: ReadonlyArray<Mount> = [
    ...system,
    { kind: "write", path: writable },
    { kind: "read", path: readable }
  ]
  const args = bubblewrapArguments({
    mounts,
    cwd: "/",
    file: "/bin/sh",
    args: ["-c", SCRIPT, "probe", writable, readable]
  })
  return callProgram({ program, args: ["--die-with-parent", ...args], env: {}, cwd: "/" }).pipe(
    Effect.map((result): BubblewrapFound => {
      if (result === undefined) return missingMeans("it did not end in time")
      const isConfined =
        result.stdout === "confined\n" &&
        existsSync(join(writable, "inside")) &&
        !existsSync(join(readable, "outside"))
      return isConfined
        ? { program }
        : missingMeans(result.stderr.trim() || `its test ended with ${result.code}`)
    })
  )
}

/** Tries bubblewrap. `path` is the PATH on which it is looked up. */
export const probeBubblewrap = (
  path: string | undefined,
  system: ReadonlyArray<Mount>
): Effect.Effect<BubblewrapFound> =>
  Effect.suspend(() => {
    if (process.platform !== "linux") return Effect.succeed(NOT_LINUX)
    const program = findProgram("bwrap", path)
    if (program === undefined) return Effect.succeed(NOT_INSTALLED)
    return Effect.acquireUseRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "corral-probe-"))),
      (folder) => attempt(program, system, folder),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ).pipe(Effect.catchDefect((cause) => Effect.succeed(missingMeans(String(cause)))))
  })
