/**
 * One file of a message, written as it is read from the Hub.
 *
 * Guarantees: the file's name has the whole content or does not exist. What was read before an interruption is not read again. A file that
 * cannot be read leaves no part, and one that is complete is not written again. A symbolic link under its name is not followed.
 */
import { Internal, Overloaded } from "@corral/domain/errors/Failures"
import type { Attachment } from "@corral/domain/session/Attachment"
import { Effect } from "effect"
import { createHash, type Hash } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, open, rename, rm } from "node:fs/promises"
import { fileReason } from "../store/FileReason.ts"

/** Reads bytes of the attachment from an offset: at least one before its end. */
export type ReadBytes<E> = (offset: number) => Effect.Effect<Uint8Array, E>

/** Bytes that are hashed at a time. */
const STEP = 1_048_576

/** Writes the attachment to `path`. `part` is the name of its unfinished file: the same for a repetition, and for no other command. */
export const receiveFile = Effect.fn("ReceivedFile.receiveFile")(function* <E>(
  path: string,
  part: string,
  attachment: Attachment,
  read: ReadBytes<E>
): Effect.fn.Return<void, E | Internal | Overloaded> {
  if (yield* stored(attachment, () => isWhole(path, attachment))) return
  const receive = receivePart(part, attachment, read)
  // A part of an earlier attempt may be damaged: the second attempt begins at the start.
  const isReceived = yield* Effect.tapError(
    Effect.flatMap(receive, (isReceived) => (isReceived ? Effect.succeed(true) : receive)),
    () => Effect.promise(() => rm(part, { force: true }))
  )
  if (!isReceived)
    return yield* new Internal({
      message: `The attachment ${attachment.name} arrived damaged. Send it again.`
    })
  yield* stored(attachment, () => rename(part, path))
})

/** Continues the part. Returns whether it is the attachment, and deletes it otherwise. */
const receivePart = <E>(part: string, attachment: Attachment, read: ReadBytes<E>) => {
  const { bytes, sha256 } = attachment
  return Effect.acquireUseRelease(
    stored(attachment, () => open(part, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)),
    Effect.fnUntraced(function* (file) {
      const hash = createHash("sha256")
      let size = yield* stored(attachment, () => hashStored(file, bytes, hash))
      while (size < bytes) {
        const chunk = yield* read(size)
        if (chunk.length === 0 || size + chunk.length > bytes) break
        yield* stored(attachment, () => file.write(chunk, 0, chunk.length, size))
        hash.update(chunk)
        size += chunk.length
      }
      if (size === bytes && hash.digest("hex") === sha256) {
        yield* stored(attachment, () => file.sync())
        return true
      }
      yield* stored(attachment, () => rm(part, { force: true }))
      return false
    }),
    (file) => Effect.promise(() => file.close())
  )
}

/** Hashes what is stored, and returns its size. A file that is too large is emptied. */
const hashStored = async (file: FileHandle, bytes: number, hash: Hash): Promise<number> => {
  const { size } = await file.stat()
  if (size > bytes) {
    await file.truncate(0)
    return 0
  }
  const buffer = Buffer.alloc(Math.min(STEP, size))
  for (let at = 0; at < size;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return at
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
  return size
}

const isWhole = async (path: string, { bytes, sha256 }: Attachment): Promise<boolean> => {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch {
    return false
  }
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size !== bytes) return false
    const hash = createHash("sha256")
    await hashStored(file, bytes, hash)
    return hash.digest("hex") === sha256
  } finally {
    await file.close()
  }
}

/** A failed file operation, in words. */
const stored = <A>({ name }: Attachment, operation: () => Promise<A>): Effect.Effect<A, Overloaded> =>
  Effect.tryPromise({
    try: operation,
    catch: (cause) =>
      new Overloaded({ message: `The Edge can't store the attachment ${name}: ${fileReason(cause)}.` })
  })
