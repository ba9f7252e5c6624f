/** `node HoldStore.ts <file>`: holds the store of that file and says so, until it is killed. */
import { Effect, Layer } from "effect"
import { Store } from "../../src/store/Store.ts"

const [, , file = ""] = process.argv

const hold = Layer.build(Store.layer(file)).pipe(
  Effect.andThen(Effect.sync(() => console.log("held"))),
  Effect.andThen(Effect.never)
)
await Effect.runPromise(Effect.scoped(hold))
