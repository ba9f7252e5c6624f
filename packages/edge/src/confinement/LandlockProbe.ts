/**
 * Whether setpriv limits programs with Landlock on this machine, found by trying it once: a shell must start with the rules of a run, write the
 * one folder that it may write, fail to write another one, and fail to read a third.
 */
import { Effect } from "effect"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"
import { landlockArguments, type LandlockMachine } from "./LandlockCommand.ts"
import type { MachineFolders, MissingMeans } from "./Means.ts"
import { pathRules } from "./PathRules.ts"

const NOT_INSTALLED: MissingMeans = {
  problem: "setpriv is not installed.",
  hint: "Or install util-linux 2.40 or later, so that Landlock limits the files of runs."
}

/** A failed redirection ends a shell, but not the one around it. */
const SCRIPT = `
true > "$1/inside" || exit 3
(true > "$2/outside") 2>/dev/null && exit 4
(read -r _ < "$3/secret") 2>/dev/null && exit 5
echo limited
`

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

const attempt = Effect.fnUntraced(function* (
  program: string,
  { system }: MachineFolders,
  machine: LandlockMachine,
  folder: string
): Effect.fn.Return<string | MissingMeans> {
  const [writable, readable, hidden] = ["writable", "readable", "hidden"].map((name) => join(folder, name))
  if (writable === undefined || readable === undefined || hidden === undefined)
    return missingLandlock("its test has no folder")
  for (const each of [writable, readable, hidden]) mkdirSync(each)
  writeFileSync(join(hidden, "secret"), "secret\n")
  const rules = pathRules([...system, { kind: "write", path: writable }, { kind: "read", path: readable }])
  const test = ["-c", SCRIPT, "probe", writable, readable, hidden]
  const args = landlockArguments({ rules, file: "/bin/sh", args: test }, machine)
  const result = yield* callProgram({ program, args, env: {}, cwd: "/" })
  if (result === undefined) return missingLandlock("it did not end in time")
  const isLimited =
    result.stdout === "limited\n" &&
    existsSync(join(writable, "inside")) &&
    !existsSync(join(readable, "outside"))
  return isLimited ? program : missingLandlock(result.stderr.trim() || `its test ended with ${result.code}`)
})

/** Tries setpriv. Gives its path if it works. */
export const probeLandlock = (
  machine: MachineFolders,
  facts: LandlockMachine
): Effect.Effect<string | MissingMeans> =>
  Effect.suspend(() => {
    const program = findProgram("setpriv", machine.path)
    if (program === undefined) return Effect.succeed(NOT_INSTALLED)
    return Effect.acquireRelease(
      Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "corral-trial-")))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ).pipe(
      Effect.flatMap((folder) => attempt(program, machine, facts, folder)),
      Effect.scoped,
      Effect.catchDefect((cause) => Effect.succeed(missingLandlock(String(cause))))
    )
  })
