/**
 * Files of messages, read from the Hub over the current link. The link of the Edge to its Hub, for calls that may wait for one.
 *
 * Guarantees: a broken link, a busy Hub and a lost answer end no read. The read waits for a link and is repeated from its position,
 * until the Hub answers that the run does not have the file.
 */
import { NotFound, Overloaded } from "@corral/domain/errors/Failures"
import type { AttachmentId, RunId } from "@corral/domain/identity/Ids"
import { MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import { Context, Effect, Latch, Layer, Result } from "effect"
import { failureOf } from "./LinkSocket.ts"
import type { LiveLink } from "./LinkSession.ts"

export class CurrentLink extends Context.Service<
  CurrentLink,
  {
    readonly set: (live: LiveLink | undefined) => void
    /** The live link, once there is one. */
    readonly await: Effect.Effect<LiveLink>
  }
>()("corral/edge/link/CurrentLink") {
  static readonly layer = Layer.sync(CurrentLink, () => {
    const isLive = Latch.makeUnsafe(false)
    let current: LiveLink | undefined
    const next: Effect.Effect<LiveLink> = Effect.flatMap(isLive.await, () =>
      Effect.suspend(() => (current === undefined ? next : Effect.succeed(current)))
    )
    return CurrentLink.of({
      set: (live) => {
        current = live
        if (live === undefined) isLive.closeUnsafe()
        else isLive.openUnsafe()
      },
      await: next
    })
  })
}

export class HubAttachments extends Context.Service<
  HubAttachments,
  {
    /** Runs a command that reads files, unless many wait for theirs. */
    readonly admit: <A, E, R>(command: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
    /** Bytes from `offset`; none at the end of the file. */
    readonly read: (
      runId: RunId,
      id: AttachmentId,
      offset: number
    ) => Effect.Effect<Uint8Array, NotFound | Overloaded>
  }
>()("corral/edge/link/HubAttachments") {
  static readonly layer = Layer.effect(
    HubAttachments,
    Effect.gen(function* () {
      const link = yield* CurrentLink
      let admitted = 0
      return HubAttachments.of({
        admit: <A, E, R>(command: Effect.Effect<A, E, R>) =>
          Effect.suspend((): Effect.Effect<A, E | Overloaded, R> => {
            if (admitted >= MAX_COMMANDS)
              return Effect.fail(
                new Overloaded({ message: "Many messages with attachments wait on this device." })
              )
            admitted++
            return Effect.ensuring(
              command,
              Effect.sync(() => void admitted--)
            )
          }),

        read: Effect.fnUntraced(function* (runId, attachmentId, offset) {
          for (;;) {
            const { calls, generation } = yield* link.await
            const call = calls.ReadAttachment({ generation, runId, attachmentId, offset })
            const answer = yield* Effect.result(
              Effect.timeoutOrElse(call, { duration: ANSWER_TIMEOUT, orElse: () => Effect.fail("timeout") })
            )
            if (Result.isSuccess(answer)) {
              const bytes = Buffer.from(answer.success.base64, "base64")
              if (bytes.length <= MAX_CHUNK_BYTES) return bytes
              return yield* new Overloaded({
                message: "The Hub sent more of an attachment than was requested."
              })
            }
            if (failureOf(answer.failure)?.code === "not_found")
              return yield* new NotFound({ message: "An attachment of the message is no longer available." })
            yield* Effect.sleep(PAUSE)
          }
        })
      })
    })
  )
}

/** Half of the commands in progress of a link: the client reads no response while all of them wait for one. */
const MAX_COMMANDS = 128
const ANSWER_TIMEOUT = "20 seconds"
/** Time in which a broken link is noticed. */
const PAUSE = "250 millis"
