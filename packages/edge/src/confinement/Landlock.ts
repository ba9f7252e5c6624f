/**
 * Confinement by Landlock, through setpriv of util-linux: files only. For machines on which bubblewrap may not create namespaces. A probe tries it
 * once on this machine.
 *
 * Does not: limit connections, so it does not count where a confinement is required (ADR 64).
 */
import { Effect } from "effect"
import { readdirSync, statSync } from "node:fs"
import { type LandlockMachine, landlockArguments } from "./LandlockCommand.ts"
import type { ConfinementMeans, MachineFolders, MeansTrial, MissingMeans } from "./Means.ts"
import { pathRules, privateCaches } from "./PathRules.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { HIDDEN_CHECK, type TrialShell, runTrial } from "./ConfinementTrial.ts"

// Whether setpriv limits programs with Landlock on this machine, found by trying it once: a shell must start with the rules of a run, write the
// one folder that it may write, fail to write another one, and fail to read a third.

const NOT_INSTALLED: MissingMeans = {
  problem: "setpriv is not installed.",
  hint: "Or install util-linux 2.40 or later, so that Landlock limits the files of runs."
}

/** Why Landlock does not work, by what setpriv printed. */
export const missingLandlock = (stderr: string): MissingMeans => {
  const [line = "no reason given"] = stderr.trim().split("\n")
  const problem = `Landlock does not work here: ${line.slice(0, 200)}.`
  const isOld = line.includes("unrecognized option") || line.includes("could not parse")
  return {
    problem,
    hint: isOld
      ? NOT_INSTALLED.hint
      : "Landlock would limit the files of runs without namespaces. It needs Linux 6.2 or later, and to be on in the kernel."
  }
}

/** Tries setpriv. Gives its path if it works. */
export const probeLandlock = (
  { path, system }: MachineFolders,
  facts: LandlockMachine
): Effect.Effect<string | MissingMeans> =>
  Effect.suspend(() => {
    const program = findProgram("setpriv", path)
    if (program === undefined) return Effect.succeed(NOT_INSTALLED)
    const trial = runTrial(({ readable, writable }) => {
      const rules = pathRules([
        ...system,
        { kind: "write", path: writable },
        { kind: "read", path: readable }
      ])
      const args = (shell: TrialShell) => landlockArguments({ rules, ...shell }, facts)
      return Effect.succeed({ program, args, checks: [HIDDEN_CHECK] })
    })
    return Effect.map(trial, (cause) => (cause === undefined ? program : missingLandlock(cause)))
  })

/** This machine. */
const thisMachine: LandlockMachine = {
  isRoot: process.getuid?.() === 0,
  kindOf: (path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    return stat.isDirectory() ? "folder" : "file"
  },
  entriesIn: (folder) =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() || entry.isFile() ? [entry.name] : []
    )
}

/** The means with this setpriv. */
const landlockOf = (program: string): ConfinementMeans => ({
  kind: "landlock",
  network: "open",
  isolate: (command, mounts) => ({
    file: program,
    args: landlockArguments({ ...command, rules: pathRules(mounts) }, thisMachine)
  }),
  confine: ({ command, mounts }) =>
    Effect.try({
      try: () => {
        const args = landlockArguments({ ...command, rules: pathRules(mounts) }, thisMachine)
        const env = { ...command.env, ...privateCaches(command.temporary ?? "") }
        return { command: { ...command, file: program, args, env }, ports: undefined }
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
})

/** Landlock, if setpriv limits programs with it on this machine. */
export const tryLandlock: MeansTrial = (machine) =>
  Effect.map(probeLandlock(machine, thisMachine), (found) =>
    typeof found === "string" ? landlockOf(found) : found
  )
