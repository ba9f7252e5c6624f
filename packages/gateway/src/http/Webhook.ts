/**
 * Webhook of a chat platform: reads and verifies the raw body, stores the event, then answers.
 *
 * Guarantees: an answer within `ANSWER_MS`, also when the store is slow or fails. An event that could not be stored in time is refused, so that the
 * platform sends it again, or shows the failed click to the person.
 */
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { exitWithin } from "@corral/service/http/RequestDeadline"
import { type NodeExchange, nodeExchange } from "@corral/service/http/NodeExchange"
import { endLateBody, type HttpRefusal, refusalResponse, refuseUnread } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Exit, Fiber } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { PendingAnswers } from "../handling/PendingAnswers.ts"
import { eventKeyOf } from "../handling/Handler.ts"
import { Inbox } from "../inbox/Inbox.ts"
import type {
  ChatPlatform,
  Inbound,
  PlatformResponse,
  Verification,
  WebhookKind
} from "../platform/ChatPlatform.ts"
import { MAX_EVENT_BYTES } from "./GatewayRequestPolicy.ts"
import type { IncomingMessage } from "node:http"

// Raw request body: the bytes as sent, because signatures are made over bytes.

/** `TooLarge`: the body is over the limit and was discarded. `Late`: the body is incomplete after the timeout. */
type RawBody =
  | { readonly _tag: "Complete"; readonly bytes: Buffer }
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Late" }

/** Reads a body of up to `limit` bytes. A body over the limit is read to its end, so that the client reads the response. */
const readRawBody = (request: IncomingMessage, limit: number, timeoutMs: number): Effect.Effect<RawBody> =>
  Effect.callback((resume) => {
    let parts: Array<Buffer> = []
    let length = 0
    const finish = (body: RawBody) => {
      stop()
      resume(Effect.succeed(body))
    }
    const onData = (part: Buffer) => {
      length += part.length
      if (length > limit) parts = []
      else parts.push(part)
    }
    const onEnd = () =>
      finish(
        length > limit ? { _tag: "TooLarge" } : { _tag: "Complete", bytes: Buffer.concat(parts, length) }
      )
    const timer = setTimeout(() => finish({ _tag: length > limit ? "TooLarge" : "Late" }), timeoutMs)
    const stop = () => {
      clearTimeout(timer)
      request.off("data", onData)
      request.off("end", onEnd)
    }
    request.on("error", () => undefined)
    request.on("data", onData)
    request.once("end", onEnd)
    return Effect.sync(stop)
  })

/** Platforms wait for 3 seconds, network and a busy machine included. */
export const ANSWER_MS = 2_000

const outcomes = ["kept", "known", "ignored", "refused", "unavailable"] as const
type EventOutcome = (typeof outcomes)[number]

const NO_EVENT: HttpRefusal = {
  code: "schema_validation_failed",
  details: { issues: [{ path: "", message: "Expected an event of the platform" }] }
}

const messages = {
  unauthorized: "The request could not be verified.",
  permission_denied: "The event is for another app or tenant."
} as const

const refusalFor = ({ code }: Extract<Verification, { readonly _tag: "Refused" }>): HttpRefusal =>
  code === "schema_validation_failed" ? NO_EVENT : { code, message: messages[code] }

const toResponse = ({ body, status }: PlatformResponse) =>
  body === undefined
    ? HttpServerResponse.empty({ status, headers: { "content-length": "0" } })
    : HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json" })

const refusalWithId = (refusal: HttpRefusal) =>
  Effect.map(CurrentRequestId, (id) => refusalResponse(refusal, id))

/** Refuses a request, whether or not its body has been read. */
const refuse = ({ request, response }: NodeExchange, refusal: HttpRefusal) =>
  request.readableEnded
    ? refusalWithId(refusal)
    : Effect.flatMap(CurrentRequestId, (id) => refuseUnread(response, refusal, id))

/** Handlers of the webhooks of one platform, by kind. */
export const makeWebhook = Effect.fnUntraced(function* (platform: ChatPlatform) {
  const pendingAnswers = yield* PendingAnswers
  const clock = yield* Clock.Clock
  const inbox = yield* Inbox
  const metrics = yield* CurrentMetrics

  const counter = (outcome: EventOutcome) =>
    metrics.counter(gatewayMetrics.events, { platform: platform.id, outcome })
  const count = (outcome: EventOutcome) => counter(outcome).add()
  // Every counter exists, and is 0, before the first event.
  outcomes.forEach(counter)

  const store = (inbound: Inbound) =>
    Effect.tap(inbox.store(inbound), (isNew) => Effect.sync(() => count(isNew ? "kept" : "known")))

  const accept = Effect.fnUntraced(function* (
    inbound: Inbound,
    { response }: NodeExchange,
    deadline: number
  ) {
    if (inbound.kind === "card_action") response.once("close", pendingAnswers.begin(eventKeyOf(inbound)))
    // Detached: a client that disconnects does not stop it.
    const storing = yield* Effect.forkDetach(store(inbound))
    const exit = yield* exitWithin(storing, deadline - clock.currentTimeMillisUnsafe())
    if (exit !== undefined && Exit.isSuccess(exit)) return toResponse(platform.accepted)
    // The event may be stored all the same. When it is sent again, it is known.
    if (exit === undefined) yield* Effect.forkDetach(Fiber.interrupt(storing))
    count("unavailable")
    const answer = platform.unavailable(inbound.kind)
    return answer === undefined ? yield* refusalWithId({ code: "overloaded" }) : toResponse(answer)
  })

  const answer = Effect.fnUntraced(function* (
    verification: Verification,
    exchange: NodeExchange,
    deadline: number
  ) {
    switch (verification._tag) {
      case "Challenge":
        return toResponse(verification.answer)
      case "Accepted":
        return yield* accept(verification.inbound, exchange, deadline)
      case "Ignored":
        count("ignored")
        yield* Effect.logDebug("an event was ignored", { eventType: verification.eventType })
        return toResponse(platform.accepted)
      case "Refused": {
        const { reason } = verification
        const requestId = yield* CurrentRequestId
        count("refused")
        yield* Effect.logInfo("a request was refused", { platform: platform.id, reason, requestId })
        return refusalResponse(refusalFor(verification), requestId)
      }
    }
  })

  return (kind: WebhookKind) =>
    Effect.fnUntraced(function* (httpRequest: HttpServerRequest.HttpServerRequest) {
      const exchange = nodeExchange(httpRequest)
      const { request, response } = exchange
      const receivedAt = clock.currentTimeMillisUnsafe()
      const body = yield* readRawBody(request, MAX_EVENT_BYTES, ANSWER_MS)
      if (body._tag === "TooLarge") return yield* refuse(exchange, { code: "payload_too_large" })
      if (body._tag === "Late") {
        endLateBody(response)
        return HttpServerResponse.empty()
      }
      const verification = platform.verify({
        kind,
        headers: request.headers,
        body: body.bytes,
        receivedAt
      })
      return yield* answer(verification, exchange, receivedAt + ANSWER_MS)
    })
})
