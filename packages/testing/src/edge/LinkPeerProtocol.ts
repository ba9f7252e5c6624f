/** The Hub's side of the link protocol for a `LinkPeer`: proofs of devices, commands, pushes and attachments of one link. */
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import { type EdgeCommand, MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import {
  addedCalls,
  challengeText,
  EdgeLink,
  type LinkFailure,
  rotationText
} from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Effect, Queue, Stream } from "effect"
import { createPublicKey, randomUUID, verify } from "node:crypto"
import type { WebSocket } from "ws"
import type { LinkPeer } from "./LinkPeer.ts"

export interface PeerLink {
  readonly socket: WebSocket
  readonly commands: Queue.Queue<EdgeCommand>
  /** 0 until the device is proved. */
  generation: number
}

const refuse = (code: LinkFailure["code"], message = `refused as ${code}`) => Effect.fail({ code, message })

const isSigned = (x: string | undefined, text: string, signature: string): boolean =>
  x !== undefined &&
  verify(
    null,
    Buffer.from(text),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
    Buffer.from(signature, "base64url")
  )

export const linkPeerProtocol = (peer: LinkPeer, link: PeerLink) => {
  let challenge = ""
  let deviceId: DeviceId | undefined
  const proved = (generation: number) =>
    generation === link.generation && generation === peer.generation
      ? Effect.void
      : refuse(link.generation === 0 ? "unauthorized" : "conflict")
  return EdgeLink.toLayer({
    Hello: () =>
      Effect.sync(() => {
        challenge = randomUUID()
        const now = peer.aheadMs === undefined ? {} : { now: Date.now() + peer.aheadMs }
        return { challenge, hub: peer.helloUrl ?? peer.url, ...now }
      }),
    Prove: (proof) =>
      Effect.suspend(() => {
        if (peer.proveWith !== undefined) return refuse(peer.proveWith)
        const text = challengeText({ hub: peer.url, deviceId: proof.deviceId, challenge })
        if (
          proof.challenge !== challenge ||
          !isSigned(peer.publicKeys.get(proof.deviceId), text, proof.signature)
        )
          return refuse("unauthorized")
        challenge = ""
        deviceId = proof.deviceId
        peer.offer = proof.offer
        peer.proofs++
        if (link.generation === 0) link.generation = ++peer.generation
        peer.notifyChange()
        const { accessSeconds, heartbeatSeconds } = peer
        const calls = peer.acceptsChanges ? addedCalls : []
        return Effect.succeed({ generation: link.generation, heartbeatSeconds, accessSeconds, calls })
      }),
    Rotate: ({ generation, publicKey, signature }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          if (deviceId === undefined) return refuse("unauthorized")
          const text = rotationText({ hub: peer.url, deviceId, publicKey, generation })
          if (!isSigned(publicKey, text, signature)) return refuse("unauthorized")
          peer.publicKeys.set(deviceId, publicKey)
          return Effect.void
        })
      ),
    Acks: ({ generation, runIds }) =>
      Effect.as(
        proved(generation),
        runIds.map((runId) => peer.pushed.ackOf(runId))
      ),
    Heartbeat: ({ generation, offer }) =>
      Effect.andThen(
        proved(generation),
        Effect.sync(() => {
          peer.offer = offer ?? peer.offer
          peer.notifyChange()
        })
      ),
    Commands: ({ generation }) =>
      Stream.unwrap(
        Effect.as(
          Effect.andThen(
            proved(generation),
            Effect.sync(() => {
              for (const command of peer.commands.list()) Queue.offerUnsafe(link.commands, command)
            })
          ),
          Stream.fromQueue(link.commands)
        )
      ),
    CommandDone: ({ commandId, generation, outcome }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          if (peer.losesAnswers) return Effect.never
          peer.commands.complete(commandId, outcome)
          peer.notifyChange()
          return Effect.void
        })
      ),
    ReadAttachment: ({ attachmentId, generation, offset }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          const content = peer.attachments.get(attachmentId)
          if (content === undefined) return refuse("not_found")
          peer.reads.push(offset)
          peer.notifyChange()
          const base64 = content.subarray(offset, offset + MAX_CHUNK_BYTES).toString("base64")
          return Effect.as(
            Effect.promise(() => peer.beforeRead(offset)),
            { base64 }
          )
        })
      ),
    PushEvents: ({ batches, generation }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          const acks = peer.pushed.push(batches)
          peer.notifyChange()
          return acks
        })
      ),
    PushChanges: ({ generation, sets }) =>
      Effect.andThen(
        proved(generation),
        Effect.suspend(() => {
          for (const { id, set } of sets) {
            const { changeSets } = peer
            changeSets.set(id, [...(changeSets.get(id) ?? []), JSON.parse(set) as ChangeSet])
          }
          peer.notifyChange()
          return peer.losesChanges
            ? Effect.never
            : Effect.succeed(sets.map(({ id }) => peer.ackOfChanges(id)))
        })
      )
  })
}
