/**
 * One link from the first frame to the last: hello, proof, then commands, heartbeats, pushes and further proofs side by side. The first
 * of them that fails ends all.
 */
import { type CommandId, type CommandOutcome, edgeCommands } from "@corral/domain/link/EdgeCommand"
import { challengeText, LINK_VERSION, type LinkFailure, type Offer } from "@corral/domain/link/EdgeLink"
import { Cause, Deferred, Effect, Latch, Option, Stream } from "effect"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { EdgeInstance } from "../EdgeInstance.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store } from "../store/Store.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { type DeviceFile, signText } from "./DeviceKey.ts"
import { type HubCalls, pushEvents } from "./EventPush.ts"
import { hubUrlOf } from "../config/HubAddress.ts"
import { HubCommands } from "./HubCommands.ts"
import { endOfClose, endOfError, failureOf, LinkEnd } from "./LinkEnd.ts"
import { openLink } from "./LinkSocket.ts"
import type { LinkTimes } from "./LinkTimes.ts"

/** A link that is proved. */
export interface LiveLink {
  readonly calls: HubCalls
  readonly generation: number
  /** Succeeds when nothing waits to be pushed. */
  readonly idle: Effect.Effect<void>
}

/** Who links. */
export interface Identity {
  readonly device: () => DeviceFile
  /** Keeps it on disk, and gives it from now on. */
  readonly save: (device: DeviceFile) => Effect.Effect<void>
  readonly onLive: (link: LiveLink) => void
}

/** Commands that are executed at once; what comes after waits at the Hub. */
const MAX_COMMANDS = 256
/** What a heartbeat waits for its offer, and for its answer. */
const PATIENCE = "5 seconds"
const ANSWER = "20 seconds"

export const makeSession = Effect.fnUntraced(function* (times: LinkTimes) {
  const commands = yield* HubCommands
  const { instanceId, version } = yield* EdgeInstance
  const log = yield* EdgeEventLog
  const runtimes = yield* Runtimes
  const store = yield* Store
  const workspaces = yield* Workspaces

  const offered: Effect.Effect<Offer> = Effect.all({
    version: Effect.succeed(version),
    workspaces: workspaces.list,
    agents: runtimes.list,
    commands: Effect.succeed(Object.keys(edgeCommands))
  })

  const session = Effect.fnUntraced(function* (address: string, identity: Identity, onUse: () => void) {
    const offer = yield* offered
    const { calls, closed, isCongested } = yield* openLink(address, times)
    const { deviceId } = identity.device()

    const proveWith = Effect.fnUntraced(function* (privateKey: string, offer: Offer) {
      const { hub } = identity.device()
      const said = yield* calls.Hello({ linkVersion: LINK_VERSION, deviceId, instanceId })
      const other = hubUrlOf(said.hub)
      if ("problem" in other || other.url !== hub)
        return yield* brokenBy("it is another Hub than the one that this device joined")
      const { challenge } = said
      const signature = signText(privateKey, challengeText({ hub, deviceId, challenge }))
      return yield* calls.Prove({ deviceId, challenge, signature, offer })
    })

    /** Where the Hub may have taken the next key before a crash, that one is tried as well. */
    const prove = Effect.fnUntraced(function* (offer: Offer) {
      const device = identity.device()
      const { next, ...kept } = device
      return yield* proveWith(device.privateKey, offer).pipe(
        Effect.catchIf(
          (error) => next !== undefined && isRefusal(error),
          (error) =>
            next === undefined
              ? Effect.fail(error)
              : Effect.tap(proveWith(next.privateKey, offer), () =>
                  identity.save({ ...kept, privateKey: next.privateKey })
                )
        ),
        Effect.mapError((error) => endOfError(error, true))
      )
    })

    const proved = yield* prove(offer)
    const { generation, heartbeatSeconds } = proved
    const idle = Latch.makeUnsafe(false)
    identity.onLive({ calls, generation, idle: idle.await })
    yield* Effect.logInfo(`linked to ${identity.device().hub} as ${deviceId}`)

    const proveAgain = Effect.gen(function* () {
      let { accessSeconds } = proved
      for (;;) {
        yield* Effect.sleep(accessSeconds * (2_000 / 3))
        const again = yield* prove(
          (yield* Effect.timeoutOption(offered, PATIENCE)).pipe(Option.getOrElse(() => offer))
        )
        if (again.generation !== generation) return yield* brokenBy("the Hub changed the link's generation")
        accessSeconds = again.accessSeconds
      }
    })

    const heartbeat = Effect.gen(function* () {
      let told = JSON.stringify(offer)
      for (;;) {
        yield* Effect.sleep(heartbeatSeconds * 1_000)
        const now = Option.getOrUndefined(yield* Effect.timeoutOption(offered, PATIENCE))
        const text = now === undefined ? told : JSON.stringify(now)
        const changed = now === undefined || text === told ? {} : { offer: now }
        yield* calls
          .Heartbeat({ generation, ...changed })
          .pipe(Effect.timeoutOrElse({ duration: ANSWER, orElse: () => brokenBy("the Hub does not answer") }))
        told = text
        onUse()
      }
    })

    const scope = yield* Effect.scope
    const unanswered = Deferred.makeUnsafe<never, LinkEnd>()
    const answer = (commandId: CommandId, outcome: CommandOutcome) =>
      Effect.suspend((): Effect.Effect<void, CallError> =>
        isCongested()
          ? brokenBy("the Hub does not read the answers to its commands")
          : calls.CommandDone({ generation, commandId, outcome })
      ).pipe(
        Effect.andThen(Effect.sync(onUse)),
        Effect.mapError((error) => endOfError(error, false)),
        Effect.catchCause((cause) => Deferred.failCause(unanswered, cause))
      )
    const carryOut = calls.Commands({ generation }).pipe(
      Stream.mapEffect(
        (command) =>
          Effect.map(commands.execute(deviceId, command), (outcome) => [command.commandId, outcome] as const),
        { concurrency: MAX_COMMANDS, unordered: true }
      ),
      // Not awaited: the library's client reads no response while this stream is full, so executing must not wait for one.
      Stream.runForEach(([commandId, outcome]) => Effect.forkIn(answer(commandId, outcome), scope)),
      Effect.andThen(brokenBy("the Hub sends no more commands"))
    )

    const push = pushEvents({ calls, deviceId, generation, idle, onUse }).pipe(
      Effect.provideService(EdgeEventLog, log),
      Effect.provideService(Store, store)
    )
    return yield* Effect.raceAllFirst([
      Effect.flatMap(closed, (how) => Effect.fail(endOf(endOfClose(how)))),
      Deferred.await(unanswered),
      proveAgain,
      Effect.mapError(heartbeat, (error) => endOfError(error, false)),
      Effect.mapError(carryOut, (error) => endOfError(error, false)),
      Effect.mapError(push, (error) => endOfError(error, false))
    ])
  }, Effect.scoped)

  /** Dials `address`, and succeeds with how the link ended. */
  return (address: string, identity: Identity): Effect.Effect<LinkEnd> =>
    Effect.suspend(() => {
      let useful = false
      return session(address, identity, () => (useful = true)).pipe(
        Effect.catchCause((cause) => {
          const end = Option.getOrUndefined(Cause.findErrorOption(cause))
          if (end !== undefined) return Effect.succeed(new LinkEnd({ ...pick(end), useful }))
          return Effect.as(
            Effect.logDebug("the link ended by a defect", cause),
            new LinkEnd({ why: "broken", message: "the Hub sent an invalid answer", useful })
          )
        })
      )
    })
})

type CallError = LinkFailure | RpcClientError | LinkEnd

const pick = ({ message, why }: LinkEnd) => ({ message, why })
const endOf = (end: Pick<LinkEnd, "why" | "message">): LinkEnd => new LinkEnd({ ...end, useful: false })
const brokenBy = (message: string) => Effect.fail(endOf({ why: "broken", message }))

const isRefusal = (error: CallError): boolean => failureOf(error)?.code === "unauthorized"
