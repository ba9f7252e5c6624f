/** `node HoldHome.ts <home>`: holds the lock of that home and prints a line, until its stdin ends. */
import { Effect } from "effect"
import { once } from "node:events"
import { holdHome } from "../../src/store/HomeLock.ts"

const [, , home = ""] = process.argv

const hold = holdHome(home).pipe(
  Effect.andThen(Effect.sync(() => console.log("held"))),
  Effect.andThen(Effect.promise(() => once(process.stdin.resume(), "end")))
)
await Effect.runPromise(Effect.scoped(hold))
