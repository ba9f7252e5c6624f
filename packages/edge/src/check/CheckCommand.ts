/**
 * One check: a command for the shell, confined as a run that may edit, above the files of an ended run. Also the end of its output.
 *
 * Guarantees: what it writes is thrown away. It has no network but the hosts of the Edge's setting, no caches that stay, and none of the keys of a
 * runtime. All its processes have ended when it has.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { type CheckResult, MAX_CHECK_OUTPUT } from "@corral/domain/run/Check"
import type { Run } from "@corral/domain/run/Run"
import { Redaction, secretsOf } from "@corral/redaction/Redaction"
import { type Clock, Deferred, Effect, Option, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import type { Confinement } from "../confinement/Confinement.ts"
import type { Layers } from "../layer/Layers.ts"
import { childEnvironment } from "../process/ChildEnvironment.ts"
import { type Containment, sweep } from "../process/Containment.ts"
import { EDGE_MARK, RUN_MARK } from "../process/ProcessSweep.ts"
import type { ChildEnd } from "../process/RunChild.ts"
import { Subprocess, type SubprocessSpec } from "../process/Subprocess.ts"
import { removeTemporary, temporaryFolderOf } from "../process/TemporaryFolder.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"

export interface CheckServices {
  readonly config: EdgeConfig
  readonly confinement: Confinement["Service"]
  readonly containment: Containment["Service"]
  readonly layers: Layers["Service"]
  readonly worktrees: Worktrees["Service"]
  readonly clock: Clock.Clock
  readonly edgeId: string
}

/** Bytes of output of which the end is shown. */
const MAX_BYTES = 65_536

/** Characters of the reason why a check did not start. */
const MAX_CAUSE = 500

/** Control characters but tabs and line ends. */
const controls = /(?![\t\n])\p{Cc}/gu

/** The first line of stdout. Without it, what confines the check has failed, such as to mount a folder. */
export const STARTED = "corral-check-started"
const FIRST_LINE = Buffer.from(`${STARTED}\n`)

/** The end of what a command prints. */
export class OutputEnd {
  readonly #chunks: Array<Buffer> = []
  #size = 0
  #isCut = false
  /** Bytes of the first line that have come. */
  #started = 0

  /** Whether the shell of the command has started. */
  get hasStarted(): boolean {
    return this.#started === FIRST_LINE.length
  }

  push(chunk: Uint8Array): void {
    const rest = chunk.subarray(this.#first(chunk))
    if (rest.length === 0) return
    this.#chunks.push(Buffer.from(rest))
    this.#size += rest.length
    for (let [first] = this.#chunks; first !== undefined; [first] = this.#chunks) {
      if (this.#size - first.length < MAX_BYTES) break
      this.#chunks.shift()
      this.#size -= first.length
      this.#isCut = true
    }
  }

  /** Number of bytes of the chunk that belong to the first line. */
  #first(chunk: Uint8Array): number {
    const part = chunk.subarray(0, FIRST_LINE.length - this.#started)
    if (!FIRST_LINE.subarray(this.#started, this.#started + part.length).equals(part)) return 0
    this.#started += part.length
    return part.length
  }

  /** Without secrets, and from the beginning of a line: half a word may be half a secret, which redaction would not find. */
  shown(redaction: Redaction): Pick<CheckResult, "output" | "truncated"> {
    const bytes = Buffer.concat(this.#chunks)
    const whole = (this.#isCut ? bytes.subarray(bytes.indexOf(0x0a) + 1 || bytes.length) : bytes)
      .toString("utf8")
      .replaceAll("\r\n", "\n")
      .replaceAll(controls, "")
    const text = redaction.text(whole)
    const end = text.slice(-MAX_CHECK_OUTPUT)
    const output = (end.length < text.length ? end.slice(end.indexOf("\n") + 1) : end).toWellFormed()
    return {
      ...(output === "" ? {} : { output }),
      ...(this.#isCut || end.length < text.length ? { truncated: true } : {})
    }
  }
}

export type CheckEnd = Omit<CheckResult, "name" | "command">

/** Both outputs in the order in which they were written, after a line that says that the shell has started. */
const scriptOf = (command: string): string => `echo ${STARTED}; exec 2>&1\n${command}`

/** Names of temporary folders begin with the run's id, and are short. */
const temporaryOf = (home: string, id: RunId): string =>
  temporaryFolderOf(home, `${id}.c${randomUUID().slice(0, 4)}`)

const confinedCommand = Effect.fnUntraced(function* (
  { config, confinement, edgeId, layers, worktrees }: CheckServices,
  { id, layer, worktree }: Run,
  root: string,
  command: string
): Effect.fn.Return<SubprocessSpec, string, Scope.Scope> {
  const below = worktree === undefined ? { owner: layer?.owner ?? id } : { worktree: root }
  const files = yield* layers.thrownAway(below)
  const temporary = temporaryOf(config.home, id)
  // Programs that watch files in a terminal end by themselves.
  const set = { CI: "true" }
  const env = childEnvironment({ edge: config.environment, pass: [], set, cwd: root, temporary })
  const confined = confinement.confine(
    {
      ids: undefined,
      mode: "auto_edit",
      workspace: root,
      attachments: undefined,
      folders: undefined,
      repository: worktree === undefined ? undefined : () => worktrees.repositoryOf(worktree),
      layer: files,
      isThrownAway: true,
      network: undefined,
      grants: [],
      user: { ask: () => Effect.succeed("denied"), report: () => undefined }
    },
    { file: "/bin/sh", args: ["-c", scriptOf(command)], cwd: root, env, stdin: "ignore", temporary }
  )
  const spec = yield* Effect.mapError(confined, ({ message }) => message)
  return { ...spec, env: { ...spec.env, [RUN_MARK]: id, [EDGE_MARK]: edgeId } }
})

/** Starts the process. It and all others of the check end with the scope. */
const startProcess = (
  { containment, edgeId }: CheckServices,
  { id }: Run,
  unmarked: SubprocessSpec,
  output: OutputEnd
): Effect.Effect<Deferred.Deferred<ChildEnd, string>, never, Scope.Scope> => {
  const ended = Deferred.makeUnsafe<ChildEnd, string>()
  const spec = { ...unmarked, group: containment.groupOf(edgeId, id) }
  const start = Effect.sync(
    () =>
      new Subprocess(spec, {
        onChunk: (chunk) => output.push(chunk),
        onEnd: (end) => Deferred.doneUnsafe(ended, Effect.succeed(end)),
        onSpawnError: ({ message }) => Deferred.doneUnsafe(ended, Effect.fail(message))
      })
  )
  const { group, temporary } = spec
  return Effect.as(
    Effect.acquireRelease(start, ({ pid, startTicks }) =>
      Effect.andThen(
        sweep(
          {
            mark: `${RUN_MARK}=${id}`,
            leader: pid,
            since: startTicks,
            groups: group === undefined ? undefined : [group],
            isEnclosed: true
          },
          containment.find
        ),
        temporary === undefined ? Effect.void : removeTemporary(temporary)
      )
    ),
    ended
  )
}

const endOf = ({ code, signal }: ChildEnd): Pick<CheckResult, "state" | "exitCode" | "reason"> => ({
  state: code === 0 ? "passed" : "failed",
  ...(code === null ? { reason: `The command was ended by ${signal ?? "a signal"}.` } : { exitCode: code })
})

/** What confined a check whose shell did not start says of it: its last line. */
const causeOf = ({ stderr }: ChildEnd, redaction: Redaction): string => {
  const line = stderr.trimEnd().split("\n").at(-1) ?? ""
  return redaction.text(line).replaceAll(controls, "").slice(0, MAX_CAUSE) || "its shell did not start"
}

/** Executes the command at the path of the run's files. Fails with a phrase if it cannot be started. */
export const executeCheck = Effect.fn("CheckCommand.execute")(function* (
  services: CheckServices,
  run: Run,
  root: string,
  command: string
): Effect.fn.Return<CheckEnd, string> {
  const { clock, config } = services
  const limit = config.times.check
  const output = new OutputEnd()
  return yield* Effect.gen(function* () {
    const spec = yield* confinedCommand(services, run, root, command)
    const startedAt = clock.currentTimeMillisUnsafe()
    const ended = yield* startProcess(services, run, spec, output)
    const end = yield* Effect.timeoutOption(Deferred.await(ended), limit)
    const redaction = new Redaction(secretsOf(spec.env))
    if (Option.isSome(end) && !output.hasStarted) return yield* Effect.fail(causeOf(end.value, redaction))
    return {
      ...Option.match(end, {
        onSome: endOf,
        onNone: () =>
          ({ state: "timed_out", reason: `The command took longer than ${limit / 1_000} s.` }) as const
      }),
      durationMs: Math.max(0, clock.currentTimeMillisUnsafe() - startedAt),
      ...output.shown(redaction)
    }
  }).pipe(Effect.scoped)
})
