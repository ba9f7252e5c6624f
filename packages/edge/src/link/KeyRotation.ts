/**
 * Key rotation of a device. The next key is durable before the Hub receives it. After a crash or a broken link, the next link finds out which
 * of the two keys the Hub accepts.
 */
import { rotationText } from "@corral/domain/link/EdgeLink"
import { Conflict, Overloaded } from "@corral/domain/errors/Failures"
import { Cause, Effect, Option } from "effect"
import {
  type DeviceFile,
  type DeviceFileUnusable,
  newPrivateKey,
  publicKeyOf,
  signText
} from "./DeviceKey.ts"
import { failureOf } from "./LinkEnd.ts"
import type { LiveLink } from "./LinkSession.ts"

const connectionLost = new Overloaded({ message: "The link broke: the next one finds out which key counts." })

const orOverloaded = Effect.mapError(({ message }: DeviceFileUnusable) => new Overloaded({ message }))

/** `save` writes the file durably. */
export const rotateKey = Effect.fn("KeyRotation.rotate")(function* (
  device: DeviceFile,
  { calls, generation }: LiveLink,
  save: (device: DeviceFile) => Effect.Effect<void, DeviceFileUnusable>
): Effect.fn.Return<void, Conflict | Overloaded> {
  const { deviceId, hub } = device
  const privateKey = newPrivateKey()
  const publicKey = publicKeyOf(privateKey)
  yield* orOverloaded(save({ ...device, next: { privateKey } }))
  const signature = signText(privateKey, rotationText({ hub, deviceId, publicKey, generation }))
  yield* calls.Rotate({ generation, publicKey, signature }).pipe(
    Effect.mapError((error) => {
      const failure = failureOf(error)
      return failure === undefined
        ? connectionLost
        : new Conflict({ message: `The Hub refuses the new key: ${failure.message}` })
    }),
    // Calls over a closing link are interrupted.
    Effect.catchCause((cause) =>
      Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), (): Conflict | Overloaded => connectionLost))
    )
  )
  const { next: _, ...rest } = device
  yield* orOverloaded(save({ ...rest, privateKey }))
  yield* Effect.logInfo("rotated the device key")
}, Effect.uninterruptible)
