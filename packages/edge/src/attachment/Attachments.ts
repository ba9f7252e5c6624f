/**
 * Files of messages on this machine: in a folder for each conversation, in the Edge's home and outside every workspace. They stay as long as a run
 * of their session has a log, so that later turns can read them. A runtime receives images where it takes them, and a sentence in the prompt with
 * the paths of all files.
 *
 * Guarantees: folders have the mode 0700 and files 0600. No file is deleted between its receipt and the start of the run that needs it. Names of
 * different attachments differ, on file systems that fold case too. A name has only letters, digits, `.`, `_` and `-`, begins with the attachment's
 * id, and is at most 200 bytes long. So no tool reads a file by its name as settings or instructions, and no program reads the name as an option, a
 * pattern or a path.
 *
 * Does not: know a Hub. The caller reads the bytes.
 */
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findRun, hasOtherLog, sessionsWithLogs } from "../log/Runs.ts"
import { fileReason } from "../store/FileReason.ts"
import { Store } from "../store/Store.ts"
import { Internal, Overloaded } from "@corral/domain/errors/Failures"
import type { AttachmentId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import type { AnyRuntimeAdapter, RunImage } from "@corral/domain/run/RuntimeAdapter"
import type { Attachment } from "@corral/domain/session/Attachment"
import { isImage } from "@corral/domain/session/AttachmentRules"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Context, Effect, Layer } from "effect"
import { createHash, type Hash } from "node:crypto"
import { constants, realpathSync } from "node:fs"
import { type FileHandle, open, readdir, readFile, rename, rm, stat } from "node:fs/promises"
import { extname, join } from "node:path"

/** Bytes of a name after the id. */
const MAX_BYTES = 160
const MAX_EXTENSION_BYTES = 20

const shortened = (text: string, bytes: number): string => {
  let short = ""
  let used = 0
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) break
    short += character
  }
  return short
}

const safe = (text: string): string => text.replace(/[^\p{L}\p{N}._-]+/gu, "-")

export const attachmentFileName = ({ id, name }: Pick<Attachment, "id" | "name">): string => {
  const plain = safe(name.toWellFormed().normalize("NFC"))
  const extension = shortened(extname(plain), MAX_EXTENSION_BYTES)
  const stem = shortened(
    plain.slice(0, plain.length - extname(plain).length),
    MAX_BYTES - Buffer.byteLength(extension)
  )
  return `${id}-${stem}${extension}`
}

/** Folder with the folders of all sessions. */
const attachmentHome = (home: string): string => join(home, "attachments")

/** The ids of sessions are safe as names of folders. */
const attachmentFolderOf = (home: string, sessionId: SessionId): string =>
  join(attachmentHome(home), sessionId)

/** Creates the folder, and returns its real path. */
const makeAttachmentFolder = (home: string, sessionId: SessionId): string => {
  const folder = attachmentFolderOf(home, sessionId)
  makeFolder(folder)
  return realpathSync(folder)
}

/** Real path of the folder; `undefined` if the session has no files. */
export const existingAttachmentFolder = (home: string, sessionId: SessionId): string | undefined => {
  try {
    return realpathSync(attachmentFolderOf(home, sessionId))
  } catch {
    return undefined
  }
}

// One file of a message, written as it is read from the Hub.
//
// Guarantees: the file's name has the whole content or does not exist. What was read before an interruption is not read again. A file that
// cannot be read leaves no part, and one that is complete is not written again. A symbolic link under its name is not followed.

/** Reads bytes of the attachment from an offset: at least one before its end. */
type ReadBytes<E> = (offset: number) => Effect.Effect<Uint8Array, E>

/** Bytes that are hashed at a time. */
const STEP = 1_048_576

/** Writes the attachment to `path`. `part` is the name of its unfinished file: the same for a repetition, and for no other command. */
const receiveFile = Effect.fn("Attachments.receiveFile")(function* <E>(
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

/** A file of a message, with its absolute real path. */
interface PlacedAttachment extends Attachment {
  readonly path: string
}

/** Files of one turn. */
export interface TurnAttachments {
  readonly message: ReadonlyArray<PlacedAttachment>
  /** Files of earlier messages, for a runtime that does not remember them. */
  readonly earlier: ReadonlyArray<PlacedAttachment>
}

/** Reads bytes of an attachment from an offset. */
type ReadAttachment<E> = (id: AttachmentId, offset: number) => Effect.Effect<Uint8Array, E>

export class Attachments extends Context.Service<
  Attachments,
  {
    /** Receives the files for a run, then runs `use`. No file of the session is deleted meanwhile. */
    readonly whilePlaced: <E, A, E2, R>(
      sessionId: SessionId,
      runId: RunId,
      files: CommandAttachments,
      read: ReadAttachment<E>,
      use: (placed: TurnAttachments) => Effect.Effect<A, E2, R>
    ) => Effect.Effect<A, E | E2 | Internal | Overloaded, R>
    /** Deletes the files of a run's session, if no other run of the session has a log. */
    readonly forgetRun: (runId: RunId) => Effect.Effect<void>
  }
>()("corral/edge/Attachments") {
  static readonly layer = Layer.effect(
    Attachments,
    Effect.gen(function* () {
      const { home } = yield* EdgeConfig
      const store = yield* Store
      const clock = yield* Clock.Clock
      const held = new HeldSessions()

      const remove = (sessionId: SessionId) =>
        Effect.suspend(() =>
          held.has(sessionId)
            ? Effect.void
            : Effect.promise(() => rm(attachmentFolderOf(home, sessionId), { recursive: true, force: true }))
        )

      // What a start left that did not succeed, and was not repeated for a day.
      yield* Effect.gen(function* () {
        const before = clock.currentTimeMillisUnsafe() - DAY_MS
        const old = yield* Effect.promise(() => foldersBefore(attachmentHome(home), before))
        const withLogs = old.length === 0 ? new Set<string>() : sessionsWithLogs(store)
        for (const sessionId of old) if (!withLogs.has(sessionId)) yield* remove(sessionId)
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("failed to delete old attachments", cause)))

      return Attachments.of({
        whilePlaced: (sessionId, runId, files, read, use) =>
          Effect.acquireUseRelease(
            Effect.sync(() => held.add(sessionId)),
            () => Effect.flatMap(placeAll(home, sessionId, runId, files, read), use),
            () => Effect.sync(() => held.remove(sessionId))
          ).pipe(Effect.withSpan("Attachments.whilePlaced")),

        forgetRun: (runId) =>
          Effect.suspend(() => {
            const sessionId = findRun(store, runId)?.sessionId
            if (sessionId === undefined || existingAttachmentFolder(home, sessionId) === undefined)
              return Effect.void
            return hasOtherLog(store, runId, sessionId) ? Effect.void : remove(sessionId)
          })
      })
    })
  )
}

const DAY_MS = 86_400_000

/** Sessions whose files are needed now. */
class HeldSessions {
  private readonly counts = new Map<SessionId, number>()

  has(id: SessionId): boolean {
    return this.counts.has(id)
  }

  add(id: SessionId): void {
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1)
  }

  remove(id: SessionId): void {
    const left = (this.counts.get(id) ?? 1) - 1
    if (left === 0) this.counts.delete(id)
    else this.counts.set(id, left)
  }
}

const placeAll = Effect.fnUntraced(function* <E>(
  home: string,
  sessionId: SessionId,
  runId: RunId,
  { earlier, message }: CommandAttachments,
  read: ReadAttachment<E>
) {
  const folder = yield* Effect.try({
    try: () => makeAttachmentFolder(home, sessionId),
    catch: (cause) => new Overloaded({ message: `The Edge can't store attachments: ${fileReason(cause)}.` })
  })
  const place = Effect.fnUntraced(function* (attachment: Attachment) {
    const path = join(folder, attachmentFileName(attachment))
    yield* receiveFile(path, `${path}.${runId}.part`, attachment, (offset) => read(attachment.id, offset))
    const placed: PlacedAttachment = { ...attachment, path }
    return placed
  })
  const placed: TurnAttachments = {
    message: yield* Effect.forEach(message, place),
    earlier: yield* Effect.forEach(earlier, place)
  }
  return placed
})

/** Sessions whose folder did not change since then. */
const foldersBefore = async (folder: string, before: number): Promise<ReadonlyArray<SessionId>> => {
  const names = await readdir(folder).catch((): ReadonlyArray<string> => [])
  const old: Array<SessionId> = []
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    // Only this module creates folders here.
    if (found !== undefined && found.mtimeMs < before) old.push(name as SessionId)
  }
  return old
}

/** Largest image that a model service accepts, and largest total of one turn. Larger images are named by their paths only. */
const MAX_IMAGE_BYTES = 5 * 1_048_576
const MAX_IMAGES_BYTES = 20 * 1_048_576

const listOf = (introduction: string, files: ReadonlyArray<PlacedAttachment>): ReadonlyArray<string> =>
  files.length === 0 ? [] : [introduction, ...files.map(({ path }) => `- ${path}`), ""]

/** What the prompt says of the files, after the user's text; empty without files. */
export const attachmentNote = ({ earlier, message }: TurnAttachments): string =>
  [
    ...listOf("Files that are attached to this message. Read them at these paths:", message),
    ...listOf("Files that were attached to earlier messages:", earlier)
  ]
    .join("\n")
    .trimEnd()

/** A text with a note after it. */
export const withNote = (text: string, note: string): string => (note === "" ? text : `${text}\n\n${note}`)

/** The images that the model receives with the prompt. */
export const imagesFor = Effect.fnUntraced(function* (
  { images }: AnyRuntimeAdapter,
  { message }: TurnAttachments
): Effect.fn.Return<ReadonlyArray<RunImage>, Overloaded> {
  if (images !== "native") return []
  let left = MAX_IMAGES_BYTES
  const chosen = message.filter((file) => {
    if (!isImage(file) || file.bytes > Math.min(left, MAX_IMAGE_BYTES)) return false
    left -= file.bytes
    return true
  })
  return yield* Effect.forEach(chosen, ({ mediaType, name, path }) =>
    Effect.tryPromise({
      try: async (): Promise<RunImage> => ({ path, mediaType, base64: await readFile(path, "base64") }),
      catch: (cause) =>
        new Overloaded({ message: `The Edge can't read the attachment ${name}: ${fileReason(cause)}.` })
    })
  )
})
