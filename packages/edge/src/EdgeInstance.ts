/** Identity of this start and this build: new at every start, public in `/health`. */
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
