/**
 * Typed client of the Hub. Each call has the Gateway's token and names a chat account. The Hub decides per call which user the account acts as.
 *
 * Does not: name users, or store sign-ins.
 */
import { type ChatAccount, CHAT_ACCOUNT_HEADER, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { ErrorObject, isErrorCode } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubApprovals } from "@corral/domain/hub-api/Approvals"
import { HubAuth } from "@corral/domain/hub-api/Auth"
import { HubIntegrations } from "@corral/domain/hub-api/Chat"
import { HubDevices } from "@corral/domain/hub-api/Devices"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubRuns } from "@corral/domain/hub-api/Runs"
import { HubSessions } from "@corral/domain/hub-api/Sessions"
import { HubTasks } from "@corral/domain/hub-api/Tasks"
import { ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import type { RunId } from "@corral/domain/identity/Ids"
import { EventSequence, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Context, Effect, Layer, Option, Redacted, Result, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApi, HttpApiClient } from "effect/http-api"
import { type HubFailed, HubRefused, HubUnavailable } from "./HubFailures.ts"

/** The groups of the contract that a Gateway uses. */
class UsedApi extends HttpApi.make("hub")
  .add(HubIntegrations, HubAuth, HubSessions, HubProjects, HubDevices, HubTasks, HubRuns, HubApprovals)
  .annotateMerge(HubApi.annotations) {}

export interface HubAddress {
  /** Origin of the Hub. */
  readonly url: string
  readonly token: Redacted.Redacted
}

const RESPONSE_TIMEOUT = "20 seconds"

/** Account of the current call; absent for calls of the Gateway itself. */
const CallingAccount = Context.Reference<ChatAccount | undefined>("corral/gateway/CallingAccount", {
  defaultValue: () => undefined
})

const decodeErrorObject = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorObject))

const unavailable = (message = "The Hub does not answer.") => new HubUnavailable({ message })

/** Codes for which a retry may help. `unauthorized` is one, because a new token reaches the Hub and the Gateway at different times. */
const retryable = new Set(["overloaded", "internal", "rate_limited", "idempotency_in_flight", "unauthorized"])

const failureOf = (status: number, text: string): HubFailed => {
  const refusal = Option.getOrUndefined(decodeErrorObject(text))
  if (refusal === undefined) return unavailable(`The Hub answered ${status} without a reason.`)
  const { code, details = {}, message } = refusal
  const retryAfter = details["retryAfterSeconds"]
  if (code === "rate_limited" && typeof retryAfter === "number")
    return new HubUnavailable({ message: `The Hub answered ${code}.`, retryAfterMs: retryAfter * 1_000 })
  if (!isErrorCode(code) || retryable.has(code)) return unavailable(`The Hub answered ${code}.`)
  return new HubRefused({ code, message, details })
}

const failOnRefusal = (response: HttpClientResponse.HttpClientResponse) =>
  response.status >= 200 && response.status < 300
    ? Effect.succeed(response)
    : Effect.flatMap(response.text, (text) => Effect.fail(failureOf(response.status, text)))

const connect = Effect.fnUntraced(function* ({ token, url }: HubAddress) {
  const base = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(CallingAccount, (account) => {
        const authorized = HttpClientRequest.bearerToken(request, Redacted.value(token))
        return account === undefined
          ? authorized
          : HttpClientRequest.setHeader(authorized, CHAT_ACCOUNT_HEADER, encodeChatAccount(account))
      })
    ),
    HttpClient.transformResponse((response) =>
      response.pipe(
        Effect.flatMap(failOnRefusal),
        Effect.timeoutOrElse({ duration: RESPONSE_TIMEOUT, orElse: () => Effect.fail(unavailable()) }),
        Effect.catchTag("HttpClientError", () => Effect.fail(unavailable()))
      )
    )
  )
  const calls = yield* HttpApiClient.makeWith(UsedApi, { httpClient: base, baseUrl: url })

  /** Events of one connection after `after`, until the Hub ends it. */
  const events = (runId: RunId, after: number) =>
    Stream.suspend(() => {
      const parser = new ServerSentEventParser()
      const sequence = new EventSequence(decodeReceivedEvent, after)
      return Stream.unwrap(
        base
          .get(`${url}/client/runs/${runId}/events`, {
            urlParams: { after: String(after) },
            headers: { accept: "text/event-stream" }
          })
          .pipe(Effect.map(({ stream }) => stream))
      ).pipe(
        Stream.decodeText,
        Stream.flatMap((piece) => Stream.fromIterable(parser.push(piece))),
        Stream.filterMap(({ data }) => Result.fromNullishOr(sequence.next(data), () => undefined)),
        Stream.catchTag("HttpClientError", () => Stream.fail(unavailable()))
      )
    })
  return { calls, events }
})

type Connected = Effect.Success<ReturnType<typeof connect>>

const toHubFailure = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, HubFailed> =>
  Effect.mapError(call, (error) =>
    error instanceof HubRefused || error instanceof HubUnavailable
      ? error
      : unavailable("The Hub's response could not be decoded. It may be another version.")
  )

export class Hub extends Context.Service<
  Hub,
  {
    /** A call as the user of an account. Fails with `binding_required` if the account is not linked. */
    readonly as: <A, E>(
      account: ChatAccount,
      call: (calls: Connected["calls"]) => Effect.Effect<A, E>
    ) => Effect.Effect<A, HubFailed>
    /** Events of a run after `after`, each once and in order. Ends with the last event of the run, or earlier if the Hub ends the stream. */
    readonly events: (
      account: ChatAccount,
      runId: RunId,
      after: number
    ) => Stream.Stream<SequencedEvent, HubFailed>
    /** Address of a page at the Hub. */
    readonly page: (path: string) => string
  }
>()("corral/gateway/Hub") {
  static readonly layer = (address: HubAddress) =>
    Layer.effect(
      Hub,
      Effect.map(connect(address), ({ calls, events }) =>
        Hub.of({
          as: (account, call) => toHubFailure(Effect.provideService(call(calls), CallingAccount, account)),
          events: (account, runId, after) =>
            Stream.provideService(events(runId, after), CallingAccount, account),
          page: (path) => address.url + path
        })
      )
    )
}
