/**
 * Whether setpriv limits programs with Landlock on this machine, found by trying it once: a shell must start with the rules of a run, write the
 * one folder that it may write, fail to write another one, and fail to read a third.
 */
import { Effect } from "effect"
import { findProgram } from "../process/ChildEnvironment.ts"
import { HIDDEN_CHECK, runTrial, type TrialShell } from "./ConfinementTrial.ts"
import { landlockArguments, type LandlockMachine } from "./LandlockCommand.ts"
import type { MachineFolders, MissingMeans } from "./Means.ts"
import { pathRules } from "./PathRules.ts"

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
