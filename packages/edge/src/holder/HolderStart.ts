/**
 * Start of the holder's process.
 *
 * Guarantees: it has its own session, an almost empty environment without this Edge's marks, and no open file of the Edge, so that nothing
 * that ends the Edge ends it.
 */
import { Effect, Option } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { EDGE_MARK, RUN_MARK } from "../process/MarkSweep.ts"
import { HolderFailed } from "./HolderPlace.ts"

const START_LIMIT = "10 seconds"
const MAX_ANSWER = 4_096

/** Next to this file in the sources, and `holder.cjs` next to the entry in a build. */
const program = (): string => {
  const built = fileURLToPath(new URL("./holder.cjs", import.meta.url))
  return existsSync(built) ? built : fileURLToPath(new URL("./main.ts", import.meta.url))
}

/** A small heap: the holder's objects are few, and live as long as their runs. */
const FLAGS = ["--max-semi-space-size=1", "--no-warnings"]

export interface HolderStartOptions {
  readonly home: string
  /** Version of the Edge. */
  readonly build: string
  /** The Edge's own environment. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Marks of a run of another Edge in which this Edge runs: that run's sweep has to find the holder. And the folder of compiled code, with which
 * the holder starts sooner.
 */
const passedOn = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    [RUN_MARK, EDGE_MARK, "NODE_COMPILE_CACHE"].flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

const start = ({ build, environment, home }: HolderStartOptions): ChildProcess =>
  spawn(process.execPath, [...FLAGS, program(), home, build], {
    cwd: "/",
    env: { ...passedOn(environment), PATH: "/usr/bin:/bin", UV_THREADPOOL_SIZE: "1" },
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"]
  })

const failed = (reason: string): HolderFailed =>
  new HolderFailed({ message: `Can't start the holder of runs: ${reason}.` })

interface Answer {
  readonly ready?: true
  readonly error?: string
}

const answerIn = (text: string): Answer => {
  try {
    return JSON.parse(text) as Answer
  } catch {
    return { error: "its process ended" }
  }
}

/** Starts a holder. Succeeds when it listens, or when another one does. */
export const startHolder = (options: HolderStartOptions): Effect.Effect<void, HolderFailed> =>
  Effect.callback<void, HolderFailed>((resume) => {
    let child: ChildProcess
    try {
      child = start(options)
    } catch (error) {
      return resume(Effect.fail(failed(String(error))))
    }
    child.unref()
    child.once("error", ({ message }) => resume(Effect.fail(failed(message))))
    const ready = child.stdio[3]
    if (!(ready instanceof Readable)) return resume(Effect.fail(failed("it has no pipe")))
    let text = ""
    ready.setEncoding("utf8")
    ready.on("data", (more: string) => (text = (text + more).slice(0, MAX_ANSWER)))
    ready.on("error", () => undefined)
    ready.once("close", () => {
      const { error, ready: isReady } = answerIn(text)
      const isServed = isReady === true || error === "EADDRINUSE"
      resume(isServed ? Effect.void : Effect.fail(failed(error ?? "its process ended")))
    })
    return Effect.sync(() => ready.destroy())
  }).pipe(
    Effect.timeoutOption(START_LIMIT),
    Effect.flatMap(
      Option.match({
        onSome: () => Effect.void,
        onNone: () => Effect.fail(failed("it did not listen in time"))
      })
    )
  )
