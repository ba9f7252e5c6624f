/**
 * Trial of a means of confinement on this machine: a shell starts with the limits of a run, and tries what they allow and refuse.
 *
 * Guarantees: a program that only says that it limits, or that runs the shell without limits, does not pass. It never fails, and leaves nothing.
 * Does not: test every limit. `corral doctor --probe` does.
 */
import { Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { callProgram } from "../process/ProgramCall.ts"

/** Folders of a trial: one that the shell may write, one that it may only read, and one that it may not read. */
export interface TrialFolders {
  readonly writable: string
  readonly readable: string
  readonly hidden: string
}

/** The shell, before a means limits it. */
export interface TrialShell {
  readonly file: string
  readonly args: ReadonlyArray<string>
}

export interface TrialCall {
  /** Absolute path. */
  readonly program: string
  /** Limits, then the shell. */
  readonly args: (shell: TrialShell) => ReadonlyArray<string>
  /** Further lines. Each ends the shell with its own code if a limit does not hold. `$1` to `$3` are the folders, `$4` on the parameters. */
  readonly checks: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<string>
}

/** A check that the hidden folder cannot be read. */
export const HIDDEN_CHECK = '(read -r _ < "$3/secret") 2>/dev/null && exit 5'

/** A failed redirection ends a shell, but not the one around it. */
const scriptOf = (checks: ReadonlyArray<string>): string =>
  [
    'true > "$1/inside" || exit 3',
    '(true > "$2/outside") 2>/dev/null && exit 4',
    ...checks,
    "echo limited"
  ].join("\n")

const trialFolder = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "corral-trial-")))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Why the means does not work here, or `undefined` if it does. The failure of `prepare` is such a cause. */
export const runTrial = (
  prepare: (folders: TrialFolders) => Effect.Effect<TrialCall, string, Scope.Scope>
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const folder = yield* trialFolder
    const folders: TrialFolders = {
      writable: join(folder, "writable"),
      readable: join(folder, "readable"),
      hidden: join(folder, "hidden")
    }
    const { hidden, readable, writable } = folders
    for (const each of [writable, readable, hidden]) mkdirSync(each)
    writeFileSync(join(hidden, "secret"), "secret\n")
    const { args, checks, parameters = [], program } = yield* prepare(folders)
    const shell = {
      file: "/bin/sh",
      args: ["-c", scriptOf(checks), "trial", writable, readable, hidden, ...parameters]
    }
    const result = yield* callProgram({ program, args: args(shell), env: {}, cwd: "/" })
    if (result === undefined) return "it did not end in time"
    const isLimited =
      result.stdout === "limited\n" &&
      existsSync(join(writable, "inside")) &&
      !existsSync(join(readable, "outside"))
    return isLimited ? undefined : result.stderr.trim() || `its test ended with ${result.code}`
  }).pipe(
    Effect.scoped,
    Effect.catch((cause) => Effect.succeed(cause)),
    Effect.catchDefect((cause) => Effect.succeed(String(cause)))
  )
