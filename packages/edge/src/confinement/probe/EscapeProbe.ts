/**
 * Tests of the confinement on this machine, for `corral doctor --probe`: in each confined mode, a program tries to go beyond its limits.
 *
 * Guarantees: it writes its own temporary folder only, and removes it. Paths of the user and settings of the kernel are asked about, not
 * changed. Nothing that was read is reported.
 *
 * Does not: test `full_access`, which is never confined, or hosts of the internet.
 */
import { userHome } from "@corral/service/UserHome"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import { Clock, Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { EdgeConfig } from "../../config/EdgeConfig.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import { callProgram } from "../../process/ProgramCall.ts"
import { withFlags } from "../Bubblewrap.ts"
import { Confinement } from "../Confinement.ts"
import { NOT_TRIED, SUCCEEDED } from "./Attempts.ts"
import {
  type EscapeServers,
  folderContents,
  makeScene,
  openServers,
  openVisible,
  type EscapeResults,
  type EscapeTargets
} from "./EscapeScene.ts"
import { APPROVED_EDIT, COPIED_FILES, SETTINGS } from "./FileAttempts.ts"
import { workspacePathsAt } from "../../approval/PathTarget.ts"
import { canWrite } from "../ConfinedRoot.ts"
import { ProtectedCopies } from "../ProtectedCopies.ts"
import { type HostPaths, fileIdentity } from "./RightsAttempts.ts"

// Paths of this user and of the system that the probe's program asks about: it opens and changes none of them for writing.

/** Names in a home that hold secrets or what a user wrote. */
const PRIVATE = [
  ".aws",
  ".azure",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".condarc",
  ".config/pip/pip.conf",
  ".dotnet/corefx",
  ".gem/credentials",
  ".local/share/gem/credentials",
  ".local/share/uv/credentials",
  ".m2/settings.xml",
  ".pip/pip.conf",
  ".bash_history",
  ".bashrc",
  ".config/gcloud",
  ".config/gh",
  ".docker",
  ".git-credentials",
  ".gnupg",
  ".kube",
  ".local/share/keyrings",
  ".mozilla",
  ".netrc",
  ".npmrc",
  ".profile",
  ".pypirc",
  ".ssh",
  ".zsh_history",
  ".zshrc",
  "Desktop",
  "Documents",
  "Downloads"
]

/** Files and folders of the system that a superuser could write. */
const SYSTEM = ["/etc", "/etc/hosts", "/etc/passwd", "/usr", "/usr/bin", "/usr/local/bin"]

/** Those that exist. An attempt without one would hold everywhere. */
const existing = (paths: Readonly<Record<string, ReadonlyArray<string>>>): HostPaths =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([name, each]) => {
      const found = each.flatMap((path) => {
        const id = fileIdentity(path)
        return id === undefined ? [] : [{ path, id }]
      })
      return found.length === 0 ? [] : [[name, found] as const]
    })
  )

const filesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [join(folder, entry.name)] : []
    )
  } catch {
    return []
  }
}

/** Paths that no run reads, by attempt. */
const unreadPaths = (home: string, edgeHome: string): HostPaths =>
  existing({
    ...Object.fromEntries(PRIVATE.map((name) => [`~/${name}`, [join(home, name)]])),
    "files of the Edge": filesIn(edgeHome),
    "passwords of the system": ["/etc/shadow"]
  })

/** Paths that no run writes, by attempt. */
const unwrittenPaths = (home: string, edgeHome: string): HostPaths =>
  existing({
    "the home": [home, ...PRIVATE.map((name) => join(home, name))],
    "the Edge's home": [edgeHome, ...filesIn(edgeHome)],
    "the system": SYSTEM,
    "the root": ["/"]
  })

// Copies of the protected folders in the probe, as a run of an Edge has them, with an edit that a user would have approved (ADR 67).
//
// A program may change its copies, so its own results do not say whether they held. The workspace does, and the report of the changes.

/** Kind of the attempts on copies. */
const COPIES = "copies"
const IN_COPY = "discarded with the copy"
/** The attempt that only the report decides. */
const UNREPORTED = "a change that is not reported"

/** Lines with what is in the folders of the attempts. */
const contentsIn = (workspace: string): ReadonlyArray<string> =>
  [...new Set(Object.values(COPIED_FILES).map((file) => join(workspace, dirname(file))))].flatMap((folder) =>
    existsSync(folder) ? folderContents(workspace, folder) : []
  )

class ProbedCopies {
  /** `undefined` in modes that change nothing: their runs have none. */
  readonly copies: ProtectedCopies | undefined
  readonly #workspace: string
  readonly #before: ReadonlyArray<string>

  constructor(workspace: string, mode: RunMode, now: () => number) {
    if (canWrite(mode)) this.copies = new ProtectedCopies(workspacePathsAt(workspace), now)
    this.#workspace = workspace
    this.#before = contentsIn(workspace)
  }

  /** Approves an edit whose content the program does not write. Called when the copies are there. */
  approve(): void {
    const { content, file } = APPROVED_EDIT
    const request = {
      action: "write",
      risk: "low",
      title: `Write ${file}`,
      files: [file],
      input: { content },
      editable: false,
      scopes: ["once"]
    } as const
    this.copies?.allow(request, { decision: "allow", scope: "once" })
  }

  /** Makes the approved edits that the program has made, as at the end of a run. */
  settle(): void {
    this.copies?.settle()
  }

  /** The results, decided by what arrived in the workspace and what is reported. */
  judge(results: EscapeResults): EscapeResults {
    const tried = results[COPIES] ?? {}
    const before = new Set(this.#before)
    const arrived = contentsIn(this.#workspace).filter((line) => !before.has(line))
    const discarded = new Set(this.copies?.discarded().map(({ path }) => path))
    const outcomes: Record<string, string> = {}
    let isReported = true
    for (const [name, file] of Object.entries(COPIED_FILES)) {
      const hasArrived = arrived.some((line) => line.startsWith(`/${file} `))
      const isChanged = tried[name] === SUCCEEDED
      outcomes[name] = isChanged && !hasArrived ? IN_COPY : (tried[name] ?? NOT_TRIED)
      if (isChanged && !hasArrived && !discarded.has(file)) isReported = false
    }
    return { ...results, [COPIES]: { ...outcomes, [UNREPORTED]: isReported ? "none" : SUCCEEDED } }
  }
}

/** The modes that are confined. */
export const probedModes = ["read_only", "plan", "ask", "auto_edit"] as const satisfies ReadonlyArray<RunMode>
export type ProbedMode = (typeof probedModes)[number]

export interface ProbedAttempt {
  readonly kind: string
  readonly attempt: string
  readonly mode: ProbedMode
  readonly outcome: "held" | "not_held" | "not_tried"
  /** Why the attempt failed, such as an error code. */
  readonly reason?: string | undefined
}

/** Names the state of the probe for its runs. */
const STATE_VARIABLE = "PROBED_STATE"

const failed = (message: string): RunFailure => ({ code: "internal", message })

const probedAttempt = (mode: ProbedMode, kind: string, attempt: string, result: string): ProbedAttempt => {
  const about = { kind, attempt, mode }
  if (result === SUCCEEDED) return { ...about, outcome: "not_held" }
  return result === NOT_TRIED
    ? { ...about, outcome: "not_tried" }
    : { ...about, outcome: "held", reason: result }
}

const attemptsOf = (mode: ProbedMode, results: EscapeResults): ReadonlyArray<ProbedAttempt> =>
  Object.entries(results).flatMap(([kind, each]) =>
    Object.entries(each).map(([attempt, result]) => probedAttempt(mode, kind, attempt, result))
  )

/** The program's output. Without it, nothing is known. */
const outputOf = Effect.fnUntraced(function* ({ args, cwd, env, file }: SubprocessSpec) {
  const result = yield* callProgram({ program: file, args: withFlags(args, "--die-with-parent"), env, cwd })
  if (result === undefined) return yield* Effect.fail(failed("The probe did not end in time."))
  const output = result.stdout.trim()
  if (result.code === 0 && output !== "") return JSON.parse(output) as EscapeResults
  const [line = "no reason given"] = result.stderr.trim().split("\n")
  return yield* Effect.fail(failed(`The probe did not run in its confinement: ${line.slice(0, 200)}`))
})

/** Changes the confined command. Tests weaken it. */
export type Weakening = (command: SubprocessSpec, targets: EscapeTargets) => SubprocessSpec

const probeMode = Effect.fnUntraced(function* (
  mode: ProbedMode,
  folder: string,
  { arrivals, arrive, host, servers }: EscapeServers,
  socket: string,
  weaken: Weakening
) {
  const { environment, home: edgeHome } = yield* EdgeConfig
  const confinement = yield* Confinement
  const home = environment["HOME"] ?? userHome()
  const scene = yield* Effect.try({
    try: () => makeScene(join(folder, mode), mode),
    catch: (cause) => failed(`The probe could not make its folders: ${String(cause)}`)
  })
  const { contents, stateContents, temporary, workspace } = scene
  const visible = yield* Effect.mapError(openVisible(join(folder, mode), workspace, arrive), failed)
  const targets: EscapeTargets = {
    ...scene.targets,
    host,
    servers,
    visible: visible.places,
    socket,
    read: unreadPaths(home, edgeHome),
    opened: unwrittenPaths(home, edgeHome)
  }
  const clock = yield* Clock.Clock
  const probed = new ProbedCopies(workspace, mode, () => clock.currentTimeMillisUnsafe())
  const command = yield* confinement.confine(
    {
      ids: undefined,
      mode,
      workspace,
      attachments: undefined,
      folders: {
        state: [{ path: "corral-probe", variable: STATE_VARIABLE, settings: SETTINGS }],
        reads: [scene.program]
      },
      network: undefined,
      grants: [],
      user: { ask: () => Effect.succeed("denied"), report: () => undefined },
      copies: probed.copies
    },
    {
      file: process.execPath,
      args: scene.argumentsFor(targets),
      cwd: workspace,
      env: {
        PATH: `${environment["PATH"] ?? ""}:${visible.programs}`,
        HOME: home,
        TMPDIR: temporary,
        [STATE_VARIABLE]: scene.targets.state
      },
      stdin: "ignore",
      temporary
    }
  )
  probed.approve()
  const before = contents()
  const stateBefore = stateContents()
  const arrived = arrivals()
  const results = yield* outputOf(weaken(command, targets))
  probed.settle()
  const isChanged = contents().join("\n") !== before.join("\n")
  const seenFromOutside = {
    "a changed file": isChanged ? SUCCEEDED : "no change",
    "a connection that arrived": arrivals() > arrived ? SUCCEEDED : "none"
  }
  const { state, ...others } = probed.judge(results)
  const isPlanted = stateContents().join("\n") !== stateBefore.join("\n")
  const planted = { "plant files": isPlanted ? SUCCEEDED : "discarded with the copy" }
  return attemptsOf(mode, { ...others, state: { ...state, ...planted }, outside: seenFromOutside })
})

const scratchFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(realpathSync(tmpdir()), "corral-probe-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
)

/** Runs the tests in all modes, one after the other. Needs a confinement that has its means. */
export const probeEscapes = (
  weaken: Weakening = (command) => command
): Effect.Effect<ReadonlyArray<ProbedAttempt>, RunFailure, Confinement | EdgeConfig> =>
  Effect.gen(function* () {
    const folder = yield* scratchFolder
    const socket = join(folder, "servers", "socket")
    mkdirSync(dirname(socket))
    const servers = yield* Effect.mapError(openServers(socket), failed)
    const found = yield* Effect.forEach(probedModes, (mode) =>
      Effect.scoped(probeMode(mode, folder, servers, socket, weaken))
    )
    return found.flat()
  }).pipe(Effect.scoped)
