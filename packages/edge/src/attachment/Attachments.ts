/**
 * Files of messages on this machine. They stay as long as a run of their session has a log, so that later turns can read them.
 *
 * Guarantees: folders have the mode 0700 and files 0600. No file is deleted between its
 * receipt and the start of the run that needs it.
 * Does not: know a Hub. The caller reads the bytes.
 */
import { type Internal, Overloaded } from "@corral/domain/errors/Failures"
import type { AttachmentId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import type { Attachment } from "@corral/domain/session/Attachment"
import { Clock, Context, Effect, Layer } from "effect"
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findRun, hasOtherLog, sessionsWithLogs } from "../log/Runs.ts"
import { fileReason } from "../store/FileReason.ts"
import { Store } from "../store/Store.ts"
import {
  attachmentFolderOf,
  attachmentHome,
  existingAttachmentFolder,
  makeAttachmentFolder
} from "./AttachmentFolder.ts"
import { attachmentFileName } from "./AttachmentName.ts"
import { receiveFile } from "./ReceivedFile.ts"

/** A file of a message, with its absolute real path. */
export interface PlacedAttachment extends Attachment {
  readonly path: string
}

/** Files of one turn. */
export interface TurnAttachments {
  readonly message: ReadonlyArray<PlacedAttachment>
  /** Files of earlier messages, for a runtime that does not remember them. */
  readonly earlier: ReadonlyArray<PlacedAttachment>
}

/** Reads bytes of an attachment from an offset. */
export type ReadAttachment<E> = (id: AttachmentId, offset: number) => Effect.Effect<Uint8Array, E>

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
