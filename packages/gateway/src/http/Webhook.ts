/**
 * One webhook: the body is read and verified, what it holds is kept, and only then it is answered. Within a budget, whatever the store does:
 * what could not be kept in time is refused, so that the platform sends it again, or the person who clicked is told.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { endLateBody, type HttpRefusal, refuseRequest } from "@corral/service/http/Refusal"
import type { Metrics } from "@corral/service/telemetry/Metrics"
import { Context, Effect, Exit, Fiber } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { PendingAnswers } from "../handling/PendingAnswers.ts"
import { eventKeyOf } from "../handling/Stamp.ts"
import { Inbox } from "../inbox/Inbox.ts"
import type { ChatPlatform, WebhookKind, Inbound, PlatformAnswer } from "../platform/ChatPlatform.ts"
import { MAX_BODY_BYTES } from "./Guard.ts"
import { readBody } from "./RawBody.ts"

/** Of the 3 seconds that platforms wait, without the way there and back, and what a busy machine takes. */
export const ANSWER_MS = 2_000

const outcomes = ["kept", "known", "ignored", "refused", "unavailable"] as const

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

const NO_EVENT: HttpRefusal = {
  code: "schema_validation_failed",
  details: { issues: [{ path: "", message: "Expected an event of the platform" }] }
}

/** Answers one webhook of a platform. */
export const webhook = (
  platform: ChatPlatform,
  door: WebhookKind,
  services: Context.Context<PendingAnswers | Inbox>,
  metrics: Metrics,
  now: () => number
): Listener => {
  const answering = Context.get(services, PendingAnswers)
  const inbox = Context.get(services, Inbox)
  const run = Effect.runForkWith(services)

  const counter = (outcome: (typeof outcomes)[number]) =>
    metrics.counter(gatewayMetrics.events, { platform: platform.id, outcome })
  const count = (outcome: (typeof outcomes)[number]) => counter(outcome).add()
  // There, and 0, before anything has come.
  outcomes.forEach(counter)

  const keep = (inbound: Inbound) =>
    Effect.tap(inbox.keep(inbound), (fresh) => Effect.sync(() => count(fresh ? "kept" : "known")))

  return (request, response) => {
    // The server put it there.
    const requestId = request.headers["x-request-id"] as RequestId
    const receivedAt = now()
    let answered = false
    let late: () => void = () => finish(() => endLateBody(response))
    const timer = setTimeout(() => late(), ANSWER_MS)

    /** The first answer counts. */
    const finish = (write: () => void) => {
      if (answered) return
      answered = true
      clearTimeout(timer)
      write()
    }
    response.once("close", () => {
      answered = true
      clearTimeout(timer)
    })
    const refuse = (refusal: HttpRefusal) => finish(() => refuseRequest(response, refusal, requestId))
    const answer = ({ body, status }: PlatformAnswer) => finish(() => send(response, status, body))
    const unavailable = (inbound: Inbound) => {
      const told = platform.unavailable(inbound.kind)
      count("unavailable")
      if (told === undefined) refuse({ code: "overloaded" })
      else answer(told)
    }

    const accept = (inbound: Inbound) => {
      if (inbound.kind === "card_action") response.once("close", answering.begin(eventKeyOf(inbound)))
      const keeping = run(keep(inbound))
      late = () => {
        unavailable(inbound)
        // Perhaps it is kept all the same: then it is known when it comes again.
        run(Fiber.interrupt(keeping))
      }
      keeping.addObserver((exit) => (Exit.isSuccess(exit) ? answer(platform.accepted) : unavailable(inbound)))
    }

    readBody(request, MAX_BODY_BYTES, (body) => {
      if (body === "too_large") {
        // Read to its end, and thrown away, while there is time: who is cut off in the middle reads no answer.
        late = () => refuse({ code: "payload_too_large" })
        request.once("end", late)
        request.resume()
        return
      }
      const verdict = platform.verify({ door, headers: request.headers, body, receivedAt })
      switch (verdict._tag) {
        case "Challenge":
          return answer(verdict.answer)
        case "Accepted":
          return accept(verdict.inbound)
        case "Ignored": {
          const { eventType } = verdict
          count("ignored")
          run(Effect.logDebug("an event was ignored", { eventType }))
          return answer(platform.accepted)
        }
        case "Refused": {
          const { code, reason } = verdict
          count("refused")
          run(Effect.logInfo("a request was refused", { platform: platform.id, reason, requestId }))
          return refuse(code === "schema_validation_failed" ? NO_EVENT : { code, message: messages[code] })
        }
      }
    })
  }
}

const messages = {
  unauthorized: "The request could not be verified.",
  permission_denied: "The event is for another app or tenant."
} as const

/** An answer of ours, or in the platform's words; without a body, or with one that is JSON. */
export const send = (response: ServerResponse, status: number, body?: object): void => {
  if (body === undefined) return void response.writeHead(status, { "Content-Length": "0" }).end()
  const text = JSON.stringify(body)
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(text))
  })
  response.end(text)
}
