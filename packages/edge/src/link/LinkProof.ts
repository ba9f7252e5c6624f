/** Proof of identity over a link: the device signs the Hub's challenge at the start, and again before each access period ends. */
import { challengeText, LINK_VERSION, type LinkFailure, type Offer } from "@corral/domain/link/EdgeLink"
import type { ClockSample } from "@corral/service/clock/ClockOffset"
import { Effect, Option } from "effect"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { hubUrlOf } from "../config/HubAddress.ts"
import { type DeviceFile, signText } from "./DeviceKey.ts"
import type { HubCalls } from "./EventPush.ts"
import { brokenLink, endOfError, failureOf, type LinkEnd } from "./LinkEnd.ts"

/** The device of a link. */
export interface LinkIdentity {
  readonly device: () => DeviceFile
  /** Writes the device file and uses its new content. */
  readonly save: (device: DeviceFile) => Effect.Effect<void>
  /** Receives what the Hub says about its time. */
  readonly onHubTime: (sample: ClockSample) => void
}

export interface Proving {
  readonly calls: HubCalls
  readonly identity: LinkIdentity
  readonly instanceId: string
}

export type CallError = LinkFailure | RpcClientError | LinkEnd

/** Time for an offer; after it, the last offer is used. */
export const OFFER_TIMEOUT = "5 seconds"

/** Proves the device with its key, or with its next key if the Hub may have accepted that before a crash. */
export const proveDevice = Effect.fn("LinkProof.proveDevice")(function* (proving: Proving, offer: Offer) {
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
export const proveAgain = Effect.fnUntraced(function* (
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
