/** Bytes of one file as they arrive: checked, hashed, and stored in pieces of equal size. */
import { PayloadTooLarge, SchemaValidationFailed, UnsupportedMediaType } from "@corral/domain/errors/Failures"
import { MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import type { AttachmentMediaType } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENT_BYTES, MAX_DROPPED_BYTES } from "@corral/domain/session/AttachmentRules"
import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { contentCheck } from "@corral/domain/session/ContentCheck"

/** Size of every stored piece but the last: an Edge reads one piece at a time. */
export const PIECE_BYTES = MAX_CHUNK_BYTES

export interface ReceivedContent {
  readonly bytes: number
  readonly sha256: string
}

/** Why the bytes are not accepted: their type, their number, or that there are none. */
export type ContentRefusal = PayloadTooLarge | SchemaValidationFailed | UnsupportedMediaType

/** Stores one piece. */
type StorePiece<E> = (n: number, bytes: Buffer) => Effect.Effect<unknown, E>

/** Pieces of one file. Holds one piece in memory. */
class PieceWriter<E> {
  readonly #store: StorePiece<E>
  readonly #hash = createHash("sha256")
  readonly #piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  #stored = 0
  #filled = 0

  constructor(store: StorePiece<E>) {
    this.#store = store
  }

  get bytes(): number {
    return this.#stored * PIECE_BYTES + this.#filled
  }

  readonly write = Effect.fnUntraced(
    function* (this: PieceWriter<E>, chunk: Uint8Array) {
      for (let at = 0; at < chunk.length;) {
        const part = chunk.subarray(at, at + PIECE_BYTES - this.#filled)
        this.#piece.set(part, this.#filled)
        this.#filled += part.length
        at += part.length
        if (this.#filled === PIECE_BYTES) yield* this.#storePiece()
      }
    }.bind(this)
  )

  readonly end = Effect.fnUntraced(
    function* (this: PieceWriter<E>) {
      const { bytes } = this
      if (this.#filled > 0) yield* this.#storePiece()
      const received: ReceivedContent = { bytes, sha256: this.#hash.digest("hex") }
      return received
    }.bind(this)
  )

  readonly #storePiece = Effect.fnUntraced(
    function* (this: PieceWriter<E>) {
      const bytes = this.#piece.subarray(0, this.#filled)
      this.#hash.update(bytes)
      yield* this.#store(this.#stored, bytes)
      this.#stored++
      this.#filled = 0
    }.bind(this)
  )
}

/** Stores the content with `store`, piece by piece. */
export const receiveContent = Effect.fnUntraced(function* <E, E2>(
  mediaType: AttachmentMediaType,
  content: Stream.Stream<Uint8Array, E>,
  store: StorePiece<E2>
): Effect.fn.Return<ReceivedContent, ContentRefusal | E | E2> {
  const check = contentCheck(mediaType)
  const writer = new PieceWriter(store)
  let received = 0
  let refusal: ContentRefusal | undefined
  yield* Stream.runForEach(content, (chunk): Effect.Effect<void, ContentRefusal | E2> => {
    received += chunk.length
    if (received > MAX_ATTACHMENT_BYTES) refusal = tooLarge()
    else if (refusal === undefined && !check.accepts(chunk)) refusal = wrongType(mediaType)
    if (refusal === undefined) return writer.write(chunk)
    return received > MAX_DROPPED_BYTES ? Effect.fail(refusal) : Effect.void
  })
  refusal ??= received === 0 ? empty() : check.isComplete() ? undefined : wrongType(mediaType)
  if (refusal !== undefined) return yield* refusal
  return yield* writer.end()
})

const tooLarge = () => new PayloadTooLarge({ message: "A file can have at most 20 MiB." })

const wrongType = (mediaType: AttachmentMediaType) =>
  new UnsupportedMediaType({ message: `The bytes of this file are not ${mediaType}.` })

const empty = () =>
  new SchemaValidationFailed({
    details: { issues: [{ path: "", message: "Expected a file that is not empty" }] }
  })
