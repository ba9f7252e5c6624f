/**
 * Programs of this machine: their paths, and their answers to questions about themselves. State of the machine that runs depend on,
 * besides runtimes: disk space and git.
 *
 * Guarantees: an answer is cached while the program's file is unchanged, up to the time that the question allows; a missing answer for
 * a minute. Up to four programs run at a time. A question continues when its caller is interrupted, and the next caller receives its
 * answer.
 */
import type { EdgeReadiness, GitFound } from "@corral/domain/http/Health"
import type { ProbeResult } from "@corral/domain/run/RuntimeAdapter"
import { capped } from "@corral/domain/text/CappedPattern"
import { Clock, Context, Effect, Fiber, Layer, Option, Semaphore } from "effect"
import { statSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { tmpdir } from "node:os"
import { childEnvironment, findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "../process/ProgramCall.ts"

export interface ProgramQuestion {
  /** Absolute path. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Names of the Edge's variables that it receives besides the ordinary ones; `*` at the end for a prefix. */
  readonly pass: ReadonlyArray<string>
  /** Lifetime of an answer, in milliseconds. */
  readonly holds: number
}

/** Answer of a program; `undefined` if it gave none. */
export type ProgramAnswer = ProbeResult | undefined

interface CachedAnswer {
  readonly modifiedAt: number
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly pending: Fiber.Fiber<ProgramAnswer>
  /** The previous answer, while a new one is pending. */
  readonly previous: { readonly answer: ProgramAnswer } | undefined
}

export class Programs extends Context.Service<
  Programs,
  {
    /** Absolute path of a program. A name is looked up on PATH. */
    readonly find: (file: string) => string | undefined
    readonly ask: (question: ProgramQuestion) => Effect.Effect<ProgramAnswer>
    /** The last answer to this question from the same file, if there is one. */
    readonly lastAnswer: (question: ProgramQuestion) => { readonly answer: ProgramAnswer } | undefined
  }
>()("corral/edge/Programs") {
  /** `environment` is the Edge's environment. */
  static readonly layer = (environment: Readonly<Record<string, string>>) =>
    Layer.effect(
      Programs,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const limit = yield* Semaphore.make(4)
        const answers = new Map<string, CachedAnswer>()

        const lastAnswer = (question: ProgramQuestion) => {
          const entry = answers.get(keyOf(question))
          if (entry === undefined || entry.modifiedAt !== modifiedAt(question.program)) return undefined
          const exit = entry.pending.pollUnsafe()
          return exit?._tag === "Success" ? { answer: exit.value } : entry.previous
        }

        const ask = Effect.fn("Programs.ask")(function* (question: ProgramQuestion) {
          const key = keyOf(question)
          const now = yield* Clock.currentTimeMillis
          const entry = answers.get(key)
          const modified = modifiedAt(question.program)
          if (
            entry !== undefined &&
            entry.modifiedAt === modified &&
            now - entry.startedAt < holding(entry, question)
          ) {
            return yield* Fiber.join(entry.pending)
          }
          const { program, args, pass } = question
          const env = childEnvironment({
            edge: environment,
            pass,
            set: {},
            cwd: tmpdir(),
            temporary: tmpdir()
          })
          const pending = yield* callProgram({ program, args, env, cwd: tmpdir() }).pipe(
            limit.withPermit,
            Effect.forkIn(scope)
          )
          answers.set(key, { modifiedAt: modified, startedAt: now, pending, previous: lastAnswer(question) })
          return yield* Fiber.join(pending)
        })

        return Programs.of({ find: (file) => findProgram(file, environment["PATH"]), ask, lastAnswer })
      })
    )
}

const SILENCE_HOLDS_MS = 60_000

/** Lifetime of an answer, or of a pending question. */
const holding = ({ pending }: CachedAnswer, { holds }: ProgramQuestion): number => {
  const exit = pending.pollUnsafe()
  if (exit === undefined) return Infinity
  return exit._tag === "Success" && exit.value !== undefined ? holds : Math.min(holds, SILENCE_HOLDS_MS)
}

const keyOf = ({ program, args, pass }: ProgramQuestion): string => JSON.stringify([program, args, pass])

/** 0 for a missing file. */
const modifiedAt = (program: string): number => statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Pattern of a version. */
const VERSION_WITHIN = 1_024
const VERSION = capped(VERSION_WITHIN, /\d+\.\d+\.\d+[-\w.]*/)

/** The first text in an output that looks like a version, without a final dot. */
export const versionIn = (answer: ProgramAnswer): string | undefined =>
  answer === undefined
    ? undefined
    : VERSION.exec(answer.stdout.slice(0, VERSION_WITHIN))?.[0].replace(/\.$/, "")

/** Minimum free space, 100 MB. With less, an Edge is degraded. */
export const LOW_DISK_BYTES = 100_000_000

/** Free space of the disk with a folder; `undefined` if it cannot be read. */
export const diskOf = (folder: string): Effect.Effect<EdgeReadiness["disk"]> =>
  Effect.tryPromise(() => statfs(folder)).pipe(
    Effect.map(({ bavail, bsize }) => ({ freeBytes: bavail * bsize })),
    Effect.option,
    Effect.map(Option.getOrUndefined)
  )

const VERSION_TIMEOUT = "1 second"

/** Version of git, within a second. */
export const findGit: Effect.Effect<GitFound, never, Programs> = Effect.gen(function* () {
  const programs = yield* Programs
  const program = programs.find("git")
  if (program === undefined) return { found: false }
  const versionQuery = programs.ask({ program, args: ["--version"], pass: [], holds: Infinity })
  const version = versionIn(Option.getOrUndefined(yield* Effect.timeoutOption(versionQuery, VERSION_TIMEOUT)))
  return { found: true, ...(version === undefined ? {} : { version }) }
})
