/**
 * Means by which the operating system confines programs: how each is tried at the start of an Edge, and how it confines the command of a run.
 *
 * A means reads what a run may do from the run's mounts (`ConfinedRoot`), also if it does not mount. In its trial, a shell starts with the limits
 * of a run, and tries what they allow and refuse.
 *
 * Guarantees: a program that only says that it limits, or that runs the shell without limits, does not pass the trial. The trial never fails, and
 * leaves nothing.
 * Does not: test every limit. `corral doctor --probe` does.
 */
import type { ConfinementReadiness } from "@corral/domain/http/Health"
import type { ConfinementKind } from "@corral/domain/run/Confinement"
import { Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { RunNetworkOptions } from "../network/RunNetwork.ts"
import type { RunPorts } from "../preview/PortSource.ts"
import { callProgram } from "../process/ProgramCall.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { IsolatedCommand } from "../workspace/Git.ts"
import type { Mount } from "./Mount.ts"

/** Why runs cannot be confined, and what to do. */
export interface MissingMeans {
  readonly problem: string
  readonly hint: string
}

/** The command of a run, and what it may do. */
interface ConfinementRequest {
  readonly command: SubprocessSpec
  readonly mounts: ReadonlyArray<Mount>
  /** What the run reaches, and its folder, which does not exist. A means without limits for the network does not open it. */
  readonly network: RunNetworkOptions
  /** Starts the confined command where its mounts find a layer. It is root there, which the program does not see. */
  readonly around?: ((command: IsolatedCommand) => IsolatedCommand) | undefined
}

/** A confined command. */
export interface ConfinedCommand {
  readonly command: SubprocessSpec
  /** Ports in the network of the run, until the scope closes; `undefined` if it has the network of this machine. */
  readonly ports: RunPorts | undefined
}

/** A means that works on this machine. */
export interface ConfinementMeans {
  readonly kind: Exclude<ConfinementKind, "none">
  /** `open`: it does not limit connections. */
  readonly network: ConfinementReadiness["network"]
  /** Whether it mounts, so that single files can be covered in folders that the run writes. */
  readonly mounts?: true | undefined
  /** A command of the Edge that sees only the mounts and has no network, where the means can limit it. Throws if it cannot. */
  readonly isolate: (command: IsolatedCommand, mounts: ReadonlyArray<Mount>) => IsolatedCommand
  /** The confined command. Its network ends with the scope. Fails with a phrase. */
  readonly confine: (request: ConfinementRequest) => Effect.Effect<ConfinedCommand, string, Scope.Scope>
  /** Opens the network of a run again, whose program an earlier Edge confined. Without it, runs end with their Edge. */
  readonly adopt?:
    | ((
        request: Pick<ConfinementRequest, "command" | "network">
      ) => Effect.Effect<ConfinedCommand, string, Scope.Scope>)
    | undefined
}

/** Where a means finds programs, and what of the machine its runs read. */
export interface MachineFolders {
  /** The PATH on which programs are looked up. */
  readonly path: string | undefined
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
}

/** Tries a means on this machine. */
export type MeansTrial = (machine: MachineFolders) => Effect.Effect<ConfinementMeans | MissingMeans>

/** Folders of a trial: one that the shell may write, one that it may only read, and one that it may not read. */
interface TrialFolders {
  readonly writable: string
  readonly readable: string
  readonly hidden: string
}

/** The shell, before a means limits it. */
export interface TrialShell {
  readonly file: string
  readonly args: ReadonlyArray<string>
}

interface TrialCall {
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
