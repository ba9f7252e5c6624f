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
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { EdgeConfig } from "../../config/EdgeConfig.ts"
import type { SubprocessSpec } from "../../process/Subprocess.ts"
import { callProgram } from "../../process/ProgramCall.ts"
import { withFlag } from "../BubblewrapCommand.ts"
import { Confinement } from "../Confinement.ts"
import { NOT_TRIED, SUCCEEDED } from "./Attempts.ts"
import { makeScene } from "./EscapeScene.ts"
import { type EscapeServers, openServers } from "./EscapeServers.ts"
import type { EscapeResults, EscapeTargets } from "./EscapeTargets.ts"
import { SETTINGS } from "./StateAttempts.ts"
import { ProbedCopies } from "./ProbedCopies.ts"
import { openVisible } from "./VisibleScene.ts"
import { unreadPaths, unwrittenPaths } from "./PrivatePaths.ts"

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
  const result = yield* callProgram({ program: file, args: withFlag(args, "--die-with-parent"), env, cwd })
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
