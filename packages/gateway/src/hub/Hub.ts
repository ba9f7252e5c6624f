/**
 * The Hub as the Gateway sees it: typed calls with the Gateway's own token, each as the account that it is made for. The Hub decides every
 * time as whom that account acts; the Gateway names no person and keeps no sign-in.
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

/** What a Gateway uses of the contract. */
class UsedApi extends HttpApi.make("hub")
  .add(HubIntegrations, HubAuth, HubSessions, HubProjects, HubDevices, HubTasks, HubRuns, HubApprovals)
  .annotateMerge(HubApi.annotations) {}

export interface HubAddress {
  /** Origin. */
  readonly url: string
  readonly token: Redacted.Redacted
}

const ANSWERS_WITHIN = "20 seconds"

/** For whom a call is made; absent: for the Gateway itself. */
const Acting = Context.Reference<ChatAccount | undefined>("corral/gateway/Acting", {
  defaultValue: () => undefined
})

const decodeErrorObject = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorObject))

const away = (message = "The Hub does not answer.") => new HubUnavailable({ message })

/** Asking again may help with these. Of `unauthorized` too: the token may be on its way to one of the two. */
const passing = new Set(["overloaded", "internal", "rate_limited", "idempotency_in_flight", "unauthorized"])

const failureOf = (status: number, text: string): HubFailed => {
  const refusal = Option.getOrUndefined(decodeErrorObject(text))
  if (refusal === undefined) return away(`The Hub answered ${status} without a reason.`)
  const { code, details = {}, message } = refusal
  const retryAfter = details["retryAfterSeconds"]
  if (code === "rate_limited" && typeof retryAfter === "number")
    return new HubUnavailable({ message: `The Hub answered ${code}.`, retryAfterMs: retryAfter * 1_000 })
  if (!isErrorCode(code) || passing.has(code)) return away(`The Hub answered ${code}.`)
  return new HubRefused({ code, message, details })
}

const refuse = (response: HttpClientResponse.HttpClientResponse) =>
  response.status >= 200 && response.status < 300
    ? Effect.succeed(response)
    : Effect.flatMap(response.text, (text) => Effect.fail(failureOf(response.status, text)))

const connect = Effect.fnUntraced(function* ({ token, url }: HubAddress) {
  const base = (yield* HttpClient.HttpClient).pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(Acting, (account) => {
        const own = HttpClientRequest.bearerToken(request, Redacted.value(token))
        return account === undefined
          ? own
          : HttpClientRequest.setHeader(own, CHAT_ACCOUNT_HEADER, encodeChatAccount(account))
      })
    ),
    HttpClient.transformResponse((answer) =>
      answer.pipe(
        Effect.flatMap(refuse),
        Effect.timeoutOrElse({ duration: ANSWERS_WITHIN, orElse: () => Effect.fail(away()) }),
        Effect.catchTag("HttpClientError", () => Effect.fail(away()))
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
        Stream.catchTag("HttpClientError", () => Stream.fail(away()))
      )
    })
  return { calls, events }
})

type Connected = Effect.Success<ReturnType<typeof connect>>

const mapped = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, HubFailed> =>
  Effect.mapError(call, (error) =>
    error instanceof HubRefused || error instanceof HubUnavailable
      ? error
      : away("The Hub's answer is not understood: it may be of another version.")
  )

export class Hub extends Context.Service<
  Hub,
  {
    /** A call for an account: as whom it acts, if anyone, and `binding_required` else; of an integration, about it. */
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
    /** Where a person finds more, at the Hub. */
    readonly page: (path: string) => string
  }
>()("corral/gateway/Hub") {
  static readonly layer = (address: HubAddress) =>
    Layer.effect(
      Hub,
      Effect.map(connect(address), ({ calls, events }) =>
        Hub.of({
          as: (account, call) => mapped(Effect.provideService(call(calls), Acting, account)),
          events: (account, runId, after) => Stream.provideService(events(runId, after), Acting, account),
          page: (path) => address.url + path
        })
      )
    )
}
