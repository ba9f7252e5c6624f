/** What happens to the live runs of an Edge in this process when Corral stops: they continue without it, or they end. */
import { Effect } from "effect"
import { Host } from "../terminal/Host.ts"

/** Runs of an Edge that outlive it. */
export interface LastingRuns {
  readonly count: () => number
  /** How long they continue without an Edge, in milliseconds. */
  readonly forMs: number
  /** Cancels all runs and waits for their ends. */
  readonly end: Effect.Effect<void>
}

const runsOf = (count: number): string => (count === 1 ? "1 run is" : `${count} runs are`)

const durationOf = (millis: number): string => {
  const minutes = Math.round(millis / 60_000)
  return minutes === 0
    ? `${Math.round(millis / 1_000)} seconds`
    : minutes === 1
      ? "a minute"
      : `${minutes} minutes`
}

/**
 * Asks the user once whether the runs end. Without a terminal, and after a second Ctrl-C, they continue. A run that continues is shown in the next
 * start, or ends after the time.
 */
export const settleLiveRuns = ({ count, end, forMs }: LastingRuns): Effect.Effect<void, never, Host> =>
  Effect.gen(function* () {
    const runs = count()
    if (runs === 0) return
    const host = yield* Host
    const continues = `${runs === 1 ? "It continues" : "They continue"} for up to ${durationOf(forMs)} until Corral starts again.`
    if (!host.interactive) return host.warn(`${runsOf(runs)} live. ${continues}\n`)
    host.warn(
      `\n${runsOf(runs)} live. ${continues}\nPress Enter to leave ${runs === 1 ? "it" : "them"} running, or type "end" to end ${runs === 1 ? "it" : "them"}: `
    )
    const answer = yield* nextAnswer(host)
    if (answer.trim().toLowerCase() !== "end") return host.warn("\n")
    host.warn("Ending …\n")
    yield* end
  })

/** The next line, or an empty one at Ctrl-C. */
const nextAnswer = (host: Host["Service"]): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const restore = host.onSignal("SIGINT", () => resume(Effect.succeed("")))
    const stop = host.onLine((line) => resume(Effect.succeed(line)))
    return Effect.sync(() => {
      stop()
      restore()
    })
  })
