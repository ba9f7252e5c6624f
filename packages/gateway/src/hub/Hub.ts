/**
 * Typed client of the Hub, and the failures of its calls. Each call has the Gateway's token and names a chat account. The Hub decides per call
 * which user the account acts as.
 *
 * Does not: name users, or store sign-ins.
 */
import { effectCalls } from "@corral/client/effect/EffectCalls"
import { hubStreams } from "@corral/client/effect/HubEffects"
import type { CorralError } from "@corral/client/http/CorralError"
import type { HeaderValues } from "@corral/client/http/Transport"
import { CHAT_ACCOUNT_HEADER, type ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { type ErrorCode, isErrorCode } from "@corral/domain/errors/ErrorTable"
import { HubApprovals } from "@corral/domain/hub-api/Approvals"
import { HubAuth } from "@corral/domain/hub-api/Auth"
import { HubChanges } from "@corral/domain/hub-api/Changes"
import { HubIntegrations } from "@corral/domain/hub-api/Chat"
import { HubDevices } from "@corral/domain/hub-api/Devices"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubInputs } from "@corral/domain/hub-api/Inputs"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubRuns } from "@corral/domain/hub-api/Runs"
import { HubSessions } from "@corral/domain/hub-api/Sessions"
import { HubTaskGroups } from "@corral/domain/hub-api/TaskGroups"
import { HubTasks } from "@corral/domain/hub-api/Tasks"
import type { RunId } from "@corral/domain/identity/Ids"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { Context, Data, Effect, Layer, type Redacted, Stream } from "effect"
import { HttpApi } from "effect/http-api"

/** The Hub refused the call. A retry does not help. `message` is the Hub's message. */
export class HubRefused extends Data.TaggedError("HubRefused")<{
  readonly code: ErrorCode
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}> {}

/** The Hub is unreachable, busy, or has another token. A retry may help. `message` contains no address and no secret. */
export class HubUnavailable extends Data.TaggedError("HubUnavailable")<{
  readonly message: string
  /** Time until a retry may help, if the Hub limited the rate of requests. */
  readonly retryAfterMs?: number | undefined
}> {}

export type HubFailed = HubRefused | HubUnavailable

/** The groups of the contract that a Gateway uses. */
class UsedApi extends HttpApi.make("hub")
  .add(
    HubIntegrations,
    HubAuth,
    HubSessions,
    HubProjects,
    HubDevices,
    HubTasks,
    HubRuns,
    HubApprovals,
    HubInputs,
    HubChanges,
    HubTaskGroups
  )
  .annotateMerge(HubApi.annotations) {}

export interface HubAddress {
  /** URL of the Hub, without a slash at its end. */
  readonly url: string
  readonly token: Redacted.Redacted
}

const RESPONSE_TIMEOUT_MS = 20_000

/** Account of the current call; absent for calls of the Gateway itself. */
const CallingAccount = Context.Reference<ChatAccount | undefined>("corral/gateway/CallingAccount", {
  defaultValue: () => undefined
})

const unavailable = (message = "The Hub does not answer.") => new HubUnavailable({ message })

/** Codes for which a retry may help. `unauthorized` is one, because a new token reaches the Hub and the Gateway at different times. */
const retryable = new Set(["overloaded", "internal", "rate_limited", "idempotency_in_flight", "unauthorized"])

const hubFailureOf = ({ code, details, message, status }: CorralError): HubFailed => {
  switch (code) {
    case "unreachable":
      return unavailable(status === undefined ? undefined : `The Hub answered ${status} without a reason.`)
    case "invalid_response":
      return unavailable("The Hub's response could not be decoded. It may be another version.")
    case "replay_gap":
      return new HubRefused({ code: "conflict", message, details })
    default:
  }
  const retryAfter = details["retryAfterSeconds"]
  if (code === "rate_limited" && typeof retryAfter === "number")
    return new HubUnavailable({ message: `The Hub answered ${code}.`, retryAfterMs: retryAfter * 1_000 })
  if (!isErrorCode(code) || retryable.has(code)) return unavailable(`The Hub answered ${code}.`)
  return new HubRefused({ code, message, details })
}

const accountHeaders = Effect.map(CallingAccount, (account): HeaderValues =>
  account === undefined ? {} : { [CHAT_ACCOUNT_HEADER]: encodeChatAccount(account) }
)

const connect = Effect.fnUntraced(function* ({ token, url }: HubAddress) {
  const access = { url, token, headers: accountHeaders, timeoutMs: RESPONSE_TIMEOUT_MS }
  const calls = yield* effectCalls(UsedApi, access, ({ error }) => hubFailureOf(error))
  const { runEvents } = hubStreams(access)
  /** Events of one connection after `after`. A lost connection fails the stream: its reader decides when it tries again. */
  const events = (runId: RunId, after: number) =>
    Stream.mapError(runEvents(runId, { after, maxFailures: 0 }), ({ error }) => hubFailureOf(error))
  return { calls, events }
})

type Connected = Effect.Success<ReturnType<typeof connect>>

export class Hub extends Context.Service<
  Hub,
  {
    /** A call as the user of an account. Fails with `binding_required` if the account is not linked. */
    readonly as: <A>(
      account: ChatAccount,
      call: (calls: Connected["calls"]) => Effect.Effect<A, HubFailed>
    ) => Effect.Effect<A, HubFailed>
    /** A call of the Gateway itself. */
    readonly asGateway: <A>(
      call: (calls: Connected["calls"]) => Effect.Effect<A, HubFailed>
    ) => Effect.Effect<A, HubFailed>
    /** Events of a run after `after`, each once and in order. Ends with the last event of the run. A lost connection fails it. */
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
          as: (account, call) => Effect.provideService(call(calls), CallingAccount, account),
          asGateway: (call) => call(calls),
          events: (account, runId, after) =>
            Stream.provideService(events(runId, after), CallingAccount, account),
          page: (path) => address.url + path
        })
      )
    )
}
