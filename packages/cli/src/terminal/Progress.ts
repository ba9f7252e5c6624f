/** One line that says what is being waited for, rewritten on a terminal and gone afterwards. Elsewhere nothing is said. */
import { Clock, Effect, Schedule } from "effect"
import { Host } from "./Host.ts"
import { fitColumns } from "./FitColumns.ts"
import { makePaint } from "./Paint.ts"

const ERASE_LINE = "\r\u001b[2K"
const SIGNS = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
/** What is over sooner needs no line. */
const AFTER = "400 millis"

/** Says `what` while the effect lasts, with the seconds so far. */
export const withProgress =
  (what: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Host> =>
    Effect.gen(function* () {
      const host = yield* Host
      if (host.columns === undefined) return yield* effect
      const since = yield* Clock.currentTimeMillis
      let at = 0
      const draw = Effect.map(Clock.currentTimeMillis, (now) => {
        const sign = SIGNS[at++ % SIGNS.length] ?? ""
        const seconds = Math.round((now - since) / 1_000)
        const after = ` · ${seconds} s`
        // A line that goes on in the next row is not erased whole. The terminal may have been made narrower.
        const room = Math.max(0, (host.columns ?? 80) - after.length - 3)
        host.warn(
          `${ERASE_LINE}${makePaint(host.colours)("dim", `${sign} ${fitColumns(what, room)}${after}`)}`
        )
      })
      const line = Effect.sleep(AFTER).pipe(
        Effect.andThen(Effect.repeat(draw, Schedule.spaced("120 millis"))),
        Effect.ensuring(Effect.sync(() => at > 0 && host.warn(ERASE_LINE)))
      )
      return yield* Effect.raceFirst(effect, Effect.andThen(line, Effect.never))
    })
