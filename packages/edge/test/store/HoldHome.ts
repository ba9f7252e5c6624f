/** `node HoldHome.ts <home>`: holds the lock of that home and prints a line, until it is killed. */
import { Effect } from "effect"
import { holdHome } from "../../src/store/HomeLock.ts"

const [, , home = ""] = process.argv

const hold = holdHome(home).pipe(
  Effect.andThen(Effect.sync(() => console.log("held"))),
  Effect.andThen(Effect.never)
)
await Effect.runPromise(Effect.scoped(hold))
