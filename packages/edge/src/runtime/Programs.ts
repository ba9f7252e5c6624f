/**
 * Programs of this machine: their paths, and their answers to questions about themselves.
 *
 * Guarantees: an answer is cached while the program's file is unchanged, up to the time that the question allows; a missing answer for a
 * minute. Up to four programs run at a time. A question continues when its caller is interrupted, and the next caller receives its answer.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { ProbeResult } from "@corral/domain/run/RuntimeAdapter"
import { Clock, Context, Effect, Fiber, Layer, Semaphore } from "effect"
import { statSync } from "node:fs"
import { tmpdir } from "node:os"
import { childEnvironment, findProgram } from "../process/ChildEnvironment.ts"
import { callProgram } from "./ProgramCall.ts"

export interface ProgramQuestion {
  /** Absolute path. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Names of the Edge's own environment that it may see besides the ordinary ones; `*` at the end for a prefix. */
  readonly pass: ReadonlyArray<string>
  /** Milliseconds that an answer holds. */
  readonly holds: number
}

/** What a program answered; `undefined` where it gave no answer. */
export type ProgramAnswer = ProbeResult | undefined

interface CachedAnswer {
  readonly modifiedAt: number
  /** Unix milliseconds. */
  readonly askedAt: number
  readonly asking: Fiber.Fiber<ProgramAnswer>
  /** The answer before this one, while this one is awaited. */
  readonly before: { readonly answer: ProgramAnswer } | undefined
}

export class Programs extends Context.Service<
  Programs,
  {
    /** The absolute path of a program, looked up on PATH where it is a name. */
    readonly find: (file: string) => string | undefined
    readonly ask: (question: ProgramQuestion) => Effect.Effect<ProgramAnswer>
    /** The last answer, where there has been one to this question from this very file. */
    readonly known: (question: ProgramQuestion) => { readonly answer: ProgramAnswer } | undefined
  }
>()("corral/edge/Programs") {
  /** `environment` is the Edge's own. */
  static readonly layer = (environment: Readonly<Record<string, string>>) =>
    Layer.effect(
      Programs,
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const fourAtATime = yield* Semaphore.make(4)
        const held = new Map<string, CachedAnswer>()

        const known = (question: ProgramQuestion) => {
          const entry = held.get(keyOf(question))
          if (entry === undefined || entry.modifiedAt !== modifiedAt(question.program)) return undefined
          const exit = entry.asking.pollUnsafe()
          return exit?._tag === "Success" ? { answer: exit.value } : entry.before
        }

        const ask = Effect.fnUntraced(function* (question: ProgramQuestion) {
          const key = keyOf(question)
          const now = yield* Clock.currentTimeMillis
          const entry = held.get(key)
          const modified = modifiedAt(question.program)
          if (
            entry !== undefined &&
            entry.modifiedAt === modified &&
            now - entry.askedAt < holding(entry, question)
          ) {
            return yield* Fiber.join(entry.asking)
          }
          const { program, args, pass } = question
          const env = childEnvironment({
            own: environment,
            pass,
            set: {},
            cwd: tmpdir(),
            temporary: tmpdir()
          })
          const asking = yield* callProgram({ program, args, env, cwd: tmpdir() }).pipe(
            fourAtATime.withPermit,
            Effect.forkIn(scope)
          )
          held.set(key, { modifiedAt: modified, askedAt: now, asking, before: known(question) })
          return yield* Fiber.join(asking)
        })

        return Programs.of({ find: (file) => findProgram(file, environment["PATH"]), ask, known })
      })
    )
}

const SILENCE_HOLDS_MS = 60_000

/** For how long this answer, or the wait for it, is shared. */
const holding = ({ asking }: CachedAnswer, { holds }: ProgramQuestion): number => {
  const exit = asking.pollUnsafe()
  if (exit === undefined) return Infinity
  return exit._tag === "Success" && exit.value !== undefined ? holds : Math.min(holds, SILENCE_HOLDS_MS)
}

const keyOf = ({ program, args, pass }: ProgramQuestion): string => JSON.stringify([program, args, pass])

/** 0 where it is gone. */
const modifiedAt = (program: string): number => statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Where a version is looked for. */
const VERSION_WITHIN = 1_024
const VERSION = capped(VERSION_WITHIN, /\d+\.\d+\.\d+[-\w.]*/)

/** The first thing in what it printed that looks like a version, without a sentence's final dot. */
export const versionIn = (answer: ProgramAnswer): string | undefined =>
  answer === undefined
    ? undefined
    : VERSION.exec(answer.stdout.slice(0, VERSION_WITHIN))?.[0].replace(/\.$/, "")
