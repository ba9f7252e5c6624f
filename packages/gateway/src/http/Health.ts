/** `/health`: whether events are taken. Anyone may ask; the store is asked once a second. */
import type { RequestId } from "@corral/domain/Ids"
import { refuseRequest } from "@corral/service/http/Refusal"
import { Context, Effect } from "effect"
import { Inbox } from "../inbox/Inbox.ts"
import { type Listener, send } from "./Webhook.ts"

export const health = Effect.fnUntraced(function* (services: Context.Context<Inbox>) {
  const probe = Context.get(services, Inbox).probe.pipe(
    Effect.timeout("2 seconds"),
    Effect.match({ onFailure: () => false, onSuccess: () => true })
  )
  const ready = yield* Effect.cachedWithTTL(probe, "1 second")
  const run = Effect.runForkWith(services)
  const listener: Listener = (request, response) => {
    const requestId = request.headers["x-request-id"] as RequestId
    const told = Effect.map(ready, (isReady) => {
      if (isReady) return send(response, 200, { status: "ok" })
      return refuseRequest(response, { code: "overloaded", message: "The store is not there." }, requestId)
    })
    run(told)
  }
  return listener
})
