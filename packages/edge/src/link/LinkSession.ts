/**
 * Session of one link: hello and proof, then concurrently commands, heartbeats, pushes and further proofs. The first failure ends the link. Also the
 * device's proof of identity.
 */
import {
  ATTACHMENTS_FEATURE,
  CANDIDATES_FEATURE,
  type CommandId,
  type CommandOutcome,
  INPUTS_FEATURE,
  LAYERS_FEATURE,
  edgeCommands
} from "@corral/domain/link/EdgeCommand"
import { LINK_VERSION, type LinkFailure, type Offer, challengeText } from "@corral/domain/link/EdgeLink"
import { Cause, Deferred, Effect, Latch, Option, Stream } from "effect"
import { EdgeInstance } from "../EdgeInstance.ts"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { Presets } from "../runtime/Presets.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import type { Changes } from "../change/Changes.ts"
import type { Store } from "../store/Store.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { type HubCalls, type ProvenLink, pushEvents } from "./EventPush.ts"
import { acceptsChanges, pushChanges } from "./HubChanges.ts"
import { HubCommands } from "./HubCommands.ts"
import {
  brokenLink,
  endOfClose,
  endOfError,
  failureOf,
  LinkEnd,
  type LinkTimes,
  openLink
} from "./LinkSocket.ts"
import type { ClockSample } from "@corral/service/clock/ClockOffset"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { hubUrlOf } from "../config/EdgeConfig.ts"
import { type DeviceFile, signText } from "./DeviceKey.ts"

// Proof of identity over a link: the device signs the Hub's challenge at the start, and again before each access period ends.

/** The device of a link. */
interface LinkIdentity {
  readonly device: () => DeviceFile
  /** Writes the device file and uses its new content. */
  readonly save: (device: DeviceFile) => Effect.Effect<void>
  /** Receives what the Hub says about its time. */
  readonly onHubTime: (sample: ClockSample) => void
}

interface Proving {
  readonly calls: HubCalls
  readonly identity: LinkIdentity
  readonly instanceId: string
}

type CallError = LinkFailure | RpcClientError | LinkEnd

/** Time for an offer; after it, the last offer is used. */
const OFFER_TIMEOUT = "5 seconds"

/** Proves the device with its key, or with its next key if the Hub may have accepted that before a crash. */
const proveDevice = Effect.fn("LinkSession.proveDevice")(function* (proving: Proving, offer: Offer) {
  const { identity } = proving
  const { next, ...current } = identity.device()
  return yield* proveWith(proving, current.privateKey, offer).pipe(
    Effect.catchIf(
      (error) => next !== undefined && isRefusal(error),
      (error) =>
        next === undefined
          ? Effect.fail(error)
          : Effect.tap(proveWith(proving, next.privateKey, offer), () =>
              identity.save({ ...current, privateKey: next.privateKey })
            )
    ),
    Effect.mapError((error) => endOfError(error, true))
  )
})

const proveWith = Effect.fnUntraced(function* (
  { calls, identity, instanceId }: Proving,
  privateKey: string,
  offer: Offer
) {
  const { deviceId, hub } = identity.device()
  const sentAt = performance.now()
  const hello = yield* calls.Hello({ linkVersion: LINK_VERSION, deviceId, instanceId })
  if (hello.now !== undefined)
    identity.onHubTime({ sentAt, receivedAt: performance.now(), remote: hello.now })
  const other = hubUrlOf(hello.hub)
  if ("problem" in other || other.url !== hub)
    return yield* brokenLink("it is another Hub than the one that this device joined")
  const { challenge } = hello
  const signature = signText(privateKey, challengeText({ hub, deviceId, challenge }))
  return yield* calls.Prove({ deviceId, challenge, signature, offer })
})

const isRefusal = (error: CallError): boolean => failureOf(error)?.code === "unauthorized"

/** Repeats the proof before each access period ends. Never succeeds. */
const proveAgain = Effect.fnUntraced(function* (
  proving: Proving,
  first: { readonly generation: number; readonly accessSeconds: number; readonly offer: Offer },
  offered: Effect.Effect<Offer>
): Effect.fn.Return<never, LinkEnd> {
  let { accessSeconds } = first
  for (;;) {
    yield* Effect.sleep(accessSeconds * (2_000 / 3))
    const offer = Option.getOrElse(yield* Effect.timeoutOption(offered, OFFER_TIMEOUT), () => first.offer)
    const again = yield* proveDevice(proving, offer)
    if (again.generation !== first.generation)
      return yield* brokenLink("the Hub changed the link's generation")
    accessSeconds = again.accessSeconds
  }
})

/** A link with a proven device. */
export interface LiveLink {
  readonly calls: HubCalls
  readonly generation: number
  /** Succeeds when no event is pending. */
  readonly idle: Effect.Effect<void>
}

export interface LinkOwner extends LinkIdentity {
  readonly onLive: (link: LiveLink) => void
}

/** Maximum number of commands in progress. Further ones wait at the Hub. */
const MAX_COMMANDS = 256
/** Timeout of a heartbeat's response. */
const RESPONSE_TIMEOUT = "20 seconds"

export const makeLinkSession = Effect.fnUntraced(function* (times: LinkTimes) {
  const commands = yield* HubCommands
  const { instanceId, version } = yield* EdgeInstance
  const presets = yield* Presets
  const runtimes = yield* Runtimes
  const workspaces = yield* Workspaces
  const services = yield* Effect.context<Changes | EdgeEventLog | Store>()

  const offered: Effect.Effect<Offer> = Effect.all({
    version: Effect.succeed(version),
    workspaces: workspaces.list,
    agents: runtimes.list,
    commands: Effect.succeed([
      ...Object.keys(edgeCommands),
      ATTACHMENTS_FEATURE,
      INPUTS_FEATURE,
      LAYERS_FEATURE,
      CANDIDATES_FEATURE
    ])
  })

  const session = Effect.fnUntraced(function* (address: string, owner: LinkOwner, onUse: () => void) {
    const offer = yield* offered
    const { calls, closed, isCongested } = yield* openLink(address, times)
    const { deviceId, hub } = owner.device()
    const proving = { calls, identity: owner, instanceId }
    const { accessSeconds, calls: added, generation, heartbeatSeconds } = yield* proveDevice(proving, offer)
    const idle = Latch.makeUnsafe(false)
    owner.onLive({ calls, generation, idle: idle.await })
    yield* Effect.logInfo("linked to the Hub", { hub, deviceId })
    const link = { acknowledgeMs: times.acknowledge, calls, deviceId, generation, idle, onUse }
    /** Fails when an outcome cannot be sent. */
    const unsent = Deferred.makeUnsafe<never, LinkEnd>()
    return yield* Effect.raceAllFirst([
      Effect.flatMap(closed, (how) => Effect.fail(new LinkEnd({ ...endOfClose(how), useful: false }))),
      proveAgain(proving, { generation, accessSeconds, offer }, offered),
      sendHeartbeats(link, { every: heartbeatSeconds, sooner: presets.changed }, offer, offered),
      executeCommands(link, commands, isCongested, unsent),
      Deferred.await(unsent),
      Effect.mapError(Effect.provideContext(pushEvents(link), services), (error) => endOfError(error, false)),
      acceptsChanges(added)
        ? Effect.mapError(Effect.provideContext(pushChanges(link), services), (error) =>
            endOfError(error, false)
          )
        : Effect.never
    ])
  }, Effect.scoped)

  /** Connects to `address`. Succeeds with the reason for the end of the link. */
  return (address: string, owner: LinkOwner): Effect.Effect<LinkEnd> =>
    Effect.suspend(() => {
      let useful = false
      return session(address, owner, () => (useful = true)).pipe(
        Effect.catchCause((cause) => {
          const end = Option.getOrUndefined(Cause.findErrorOption(cause))
          if (end !== undefined)
            return Effect.succeed(new LinkEnd({ message: end.message, why: end.why, useful }))
          return Effect.as(
            Effect.logDebug("the Hub link ended unexpectedly", cause),
            new LinkEnd({ why: "broken", message: "the Hub sent an invalid answer", useful })
          )
        })
      )
    })
})

/** Sends heartbeats, with the offer if it has changed. A change that `sooner` reports does not wait for the next one. Never succeeds. */
const sendHeartbeats = (
  { calls, generation, onUse }: ProvenLink,
  { every, sooner }: { readonly every: number; readonly sooner: Effect.Effect<void> },
  first: Offer,
  offered: Effect.Effect<Offer>
): Effect.Effect<never, LinkEnd> =>
  Effect.gen(function* () {
    let sent = JSON.stringify(first)
    for (;;) {
      yield* Effect.raceFirst(Effect.sleep(every * 1_000), sooner)
      const offer = Option.getOrUndefined(yield* Effect.timeoutOption(offered, OFFER_TIMEOUT))
      const text = offer === undefined ? sent : JSON.stringify(offer)
      const changed = offer === undefined || text === sent ? {} : { offer }
      yield* calls.Heartbeat({ generation, ...changed }).pipe(
        Effect.timeoutOrElse({
          duration: RESPONSE_TIMEOUT,
          orElse: () => brokenLink("the Hub does not answer")
        })
      )
      sent = text
      onUse()
    }
  }).pipe(Effect.mapError((error) => endOfError(error, false)))

/** Executes the Hub's commands and sends their outcomes. Never succeeds; `unsent` fails when an outcome cannot be sent. */
const executeCommands = Effect.fnUntraced(function* (
  { calls, deviceId, generation, onUse }: ProvenLink,
  commands: HubCommands["Service"],
  isCongested: () => boolean,
  unsent: Deferred.Deferred<never, LinkEnd>
) {
  const scope = yield* Effect.scope
  const send = (commandId: CommandId, outcome: CommandOutcome) =>
    Effect.suspend((): Effect.Effect<void, CallError> =>
      isCongested()
        ? brokenLink("the Hub does not read the answers to its commands")
        : calls.CommandDone({ generation, commandId, outcome })
    ).pipe(
      Effect.andThen(Effect.sync(onUse)),
      Effect.mapError((error) => endOfError(error, false)),
      Effect.catchCause((cause) => Deferred.failCause(unsent, cause))
    )
  return yield* calls.Commands({ generation }).pipe(
    Stream.mapEffect(
      (command) =>
        Effect.map(commands.execute(deviceId, command), (outcome) => [command.commandId, outcome] as const),
      { concurrency: MAX_COMMANDS, unordered: true }
    ),
    // Not awaited: the library's client reads no response while this stream is full, so an execution must not wait for one.
    Stream.runForEach(([commandId, outcome]) => Effect.forkIn(send(commandId, outcome), scope)),
    Effect.andThen(brokenLink("the Hub sends no more commands")),
    Effect.mapError((error) => endOfError(error, false))
  )
})
