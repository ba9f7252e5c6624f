/**
 * Webhook of a chat platform: reads and verifies the raw body, stores the event, then answers.
 *
 * Guarantees: an answer within `ANSWER_MS`, whatever the store does. An event that could not be stored in time is refused, so that the
 * platform sends it again, or shows the failed click to the person.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { endLateBody, type HttpRefusal, refuseRequest } from "@corral/service/http/Refusal"
import { refusalResponse } from "@corral/service/http/RefusalResponse"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Clock, Effect, Exit, Fiber, Option } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { PendingAnswers } from "../handling/PendingAnswers.ts"
import { eventKeyOf } from "../handling/Stamp.ts"
import { Inbox } from "../inbox/Inbox.ts"
import type {
  ChatPlatform,
  Inbound,
  PlatformAnswer,
  Verification,
  WebhookKind
} from "../platform/ChatPlatform.ts"
import { MAX_WEBHOOK_BYTES } from "./Guard.ts"
import { readRawBody } from "./RawBody.ts"

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

const toResponse = ({ body, status }: PlatformAnswer) =>
  body === undefined
    ? HttpServerResponse.empty({ status, headers: { "content-length": "0" } })
    : HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json" })

interface NodeExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: RequestId
}

const nodeExchange = (request: HttpServerRequest.HttpServerRequest): NodeExchange => ({
  // The Gateway serves HTTP/1.1 only.
  request: NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage,
  response: NodeHttpServerRequest.toServerResponse(request) as ServerResponse,
  // Set by the listener.
  requestId: request.headers["x-request-id"] as RequestId
})

/** Refuses a request whose body is still being sent, on its socket. The returned response has been sent already. */
const refuseUnread = ({ request, requestId, response }: NodeExchange, refusal: HttpRefusal) =>
  request.readableEnded
    ? Effect.succeed(refusalResponse(refusal, requestId))
    : Effect.callback<HttpServerResponse.HttpServerResponse>((resume) => {
        response.once("close", () => resume(Effect.succeed(HttpServerResponse.empty())))
        refuseRequest(response, refusal, requestId)
      })

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
    Effect.tap(inbox.keep(inbound), (isNew) => Effect.sync(() => count(isNew ? "kept" : "known")))

  const accept = Effect.fnUntraced(function* (
    inbound: Inbound,
    { requestId, response }: NodeExchange,
    deadline: number
  ) {
    if (inbound.kind === "card_action") response.once("close", pendingAnswers.begin(eventKeyOf(inbound)))
    // Detached: a client that disconnects does not stop it.
    const storing = yield* Effect.forkDetach(store(inbound))
    const exit = yield* Fiber.await(storing).pipe(
      Effect.timeoutOption(Math.max(0, deadline - clock.currentTimeMillisUnsafe()))
    )
    if (Option.isSome(exit) && Exit.isSuccess(exit.value)) return toResponse(platform.accepted)
    // The event may be stored all the same. When it is sent again, it is known.
    if (Option.isNone(exit)) yield* Effect.forkDetach(Fiber.interrupt(storing))
    count("unavailable")
    const answer = platform.unavailable(inbound.kind)
    return answer === undefined ? refusalResponse({ code: "overloaded" }, requestId) : toResponse(answer)
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
        const { requestId } = exchange
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
      const body = yield* readRawBody(request, MAX_WEBHOOK_BYTES, ANSWER_MS)
      if (body._tag === "TooLarge") return yield* refuseUnread(exchange, { code: "payload_too_large" })
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
