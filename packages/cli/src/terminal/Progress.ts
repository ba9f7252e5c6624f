/** Progress line: rewritten while an effect runs, erased afterwards. Only on a terminal. */
import { Clock, Effect, Schedule } from "effect"
import { Host } from "./Host.ts"
import { fitColumns, makePaint } from "./Rows.ts"

export const ERASE_LINE = "\r\u001b[2K"
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
/** A shorter wait shows no line. */
const SHOWN_AFTER = "400 millis"

/** Shows `text` and the elapsed seconds while the effect runs. */
export const withProgress =
  (text: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Host> =>
    Effect.gen(function* () {
      const host = yield* Host
      if (host.columns === undefined) return yield* effect
      const startedAt = yield* Clock.currentTimeMillis
      let frame = 0
      const draw = Effect.map(Clock.currentTimeMillis, (now) => {
        const sign = SPINNER[frame++ % SPINNER.length] ?? ""
        const seconds = Math.round((now - startedAt) / 1_000)
        const elapsed = ` · ${seconds} s`
        // A wrapped line is not erased completely. The terminal may have become narrower.
        const room = Math.max(0, (host.columns ?? 80) - elapsed.length - 3)
        host.warn(
          `${ERASE_LINE}${makePaint(host.colours)("dim", `${sign} ${fitColumns(text, room)}${elapsed}`)}`
        )
      })
      const line = Effect.sleep(SHOWN_AFTER).pipe(
        Effect.andThen(Effect.repeat(draw, Schedule.spaced("120 millis"))),
        Effect.ensuring(Effect.sync(() => frame > 0 && host.warn(ERASE_LINE)))
      )
      return yield* Effect.raceFirst(effect, Effect.andThen(line, Effect.never))
    })
