/** Which start of which build this is: made anew at every start, told to anyone who asks for `/health`. */
import { VERSION } from "@corral/service/Version"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"

export class EdgeInstance extends Context.Service<
  EdgeInstance,
  {
    readonly instanceId: string
    readonly version: string
    /** `performance.now()` of the start. */
    readonly startedAt: number
  }
>()("corral/edge/EdgeInstance") {
  static readonly layer = Layer.effect(
    EdgeInstance,
    Effect.sync(() => ({ instanceId: randomUUID(), version: VERSION, startedAt: performance.now() }))
  )
}
