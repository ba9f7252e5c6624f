/**
 * Files that users upload for messages, in pieces in the database. Also the codecs of their tables, and the quotas: what one session
 * has in all, and what one user uploads in 24 hours.
 *
 * Guarantees: memory does not grow with a file. An upload exists once all of its bytes are stored and are of the declared type. The
 * files of one user that no message has are limited in number and size, also while they arrive. Does not: know who may read a sent
 * file. Callers have checked that.
 */
import { Conflict, PayloadTooLarge } from "@corral/domain/errors/Failures"
import { AttachmentId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { type Attachment, AttachmentMediaType } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Option, Schema, type Scope, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { doSharedWork } from "../store/SharedWork.ts"
import { storedRows } from "../store/StoredRows.ts"
import { type ContentRefusal, PIECE_BYTES, receiveContent, type ReceivedContent } from "./ReceivedContent.ts"

const MIB = 1_048_576
export const MAX_SESSION_BYTES = 500 * MIB
export const MAX_DAILY_BYTES = 2_048 * MIB

const totalRows = storedRows("uploads", Schema.Struct({ bytes: Schema.Finite }))

const mib = (bytes: number): string => `${Math.ceil(bytes / MIB).toLocaleString("en")} MiB`

const checkQuota = (
  kind: "session" | "day",
  usedBytes: number,
  bytes: number,
  limitBytes: number
): Effect.Effect<void, PayloadTooLarge> => {
  if (usedBytes + bytes <= limitBytes) return Effect.void
  const [owner, remedy] =
    kind === "session"
      ? ["This session has", "Start another session for more files."]
      : ["You have uploaded", "Upload the file later, or put it into the workspace."]
  return Effect.fail(
    new PayloadTooLarge({
      message: `${owner} ${mib(usedBytes)} of files${kind === "day" ? " in 24 hours" : ""}, and ${mib(bytes)} more would exceed the limit of ${mib(limitBytes)}. ${remedy}`,
      details: { quota: kind, usedBytes, bytes, limitBytes }
    })
  )
}

/** Checks the files of a session, to which the caller's transaction has added `bytes`. The caller holds the lock of the session. */
export const checkSessionQuota = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  bytes: number
) {
  const total = yield* totalRows.first(sql`
    SELECT COALESCE(sum(u.bytes), 0)::float8 AS bytes FROM session_uploads s JOIN uploads u ON u.id = s.upload_id
    WHERE s.session_id = ${sessionId}`)
  yield* checkQuota("session", (total?.bytes ?? bytes) - bytes, bytes, MAX_SESSION_BYTES)
})

/** Checks what the user has uploaded in the last 24 hours, before another file. The caller holds the lock of the user's uploads. */
const checkDailyQuota = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  bytes: number,
  now: Date
) {
  const total = yield* totalRows.first(sql`
    SELECT COALESCE(sum(bytes), 0)::float8 AS bytes FROM uploads
    WHERE user_id = ${userId} AND created_at > ${new Date(now.getTime() - DAY_MS)}`)
  yield* checkQuota("day", total?.bytes ?? 0, bytes, MAX_DAILY_BYTES)
})

// Codecs of the tables `uploads`, `upload_pieces` and `session_uploads`.

const UploadRow = Schema.Struct({
  id: AttachmentId,
  name: Schema.String,
  media_type: AttachmentMediaType,
  bytes: Schema.Int,
  sha256: Schema.String
})

export const UPLOAD_COLUMNS = Object.keys(UploadRow.fields).join(", ")

/** Uploads whose bytes are stored. */
export const uploadRows = storedRows("uploads", UploadRow)

/** An upload with its user, and the first of the sessions that have it. */
export const ownedUploadRows = storedRows(
  "uploads",
  Schema.Struct({ ...UploadRow.fields, user_id: UserId, session_id: Schema.NullOr(SessionId) })
)

export const unsentTotalRows = storedRows("uploads", Schema.Struct({ files: Schema.Int, bytes: Schema.Int }))

/** `bytes` is NULL beyond the end of the file. */
export const pieceRows = storedRows(
  "upload_pieces",
  Schema.Struct({ bytes: Schema.NullOr(Schema.Uint8Array) })
)

export const attachmentOf = (row: typeof UploadRow.Type): Attachment => ({
  id: row.id,
  name: row.name,
  mediaType: row.media_type,
  bytes: row.bytes,
  sha256: row.sha256
})

/** A file that a user is about to send. */
export interface OfferedFile {
  readonly userId: UserId
  readonly name: string
  readonly mediaType: AttachmentMediaType
  /** `undefined` if the request does not say. */
  readonly announcedBytes: number | undefined
}

/** A file whose bytes are stored, and which is not an upload yet. */
export interface ReceivedFile extends ReceivedContent {
  readonly id: AttachmentId
}

/** An upload, with the user and the session that have it. */
export interface OwnedUpload {
  readonly attachment: Attachment
  readonly userId: UserId
  readonly sessionId: SessionId | undefined
}

export class Uploads extends Context.Service<
  Uploads,
  {
    /** Stores the bytes. They are deleted with the scope, unless `complete` makes them an upload. */
    readonly receive: <E>(
      file: OfferedFile,
      content: Stream.Stream<Uint8Array, E>
    ) => Effect.Effect<ReceivedFile, Conflict | ContentRefusal | E | SqlError.SqlError, Scope.Scope>
    readonly complete: (file: ReceivedFile) => Effect.Effect<Attachment, SqlError.SqlError>
    /** Reads an upload before the caller's rights are known. */
    readonly find: (id: AttachmentId) => Effect.Effect<OwnedUpload | undefined, SqlError.SqlError>
    readonly content: (id: AttachmentId) => Stream.Stream<Uint8Array, SqlError.SqlError>
    /** Deletes files that expired before a message referred to them, and files whose sessions were deleted. */
    readonly sweep: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Uploads") {
  static readonly layer = Layer.effect(
    Uploads,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      return Uploads.of({
        receive: Effect.fn("Uploads.receive")(function* <E>(
          file: OfferedFile,
          content: Stream.Stream<Uint8Array, E>
        ) {
          const { announcedBytes = MAX_ATTACHMENT_BYTES, mediaType } = file
          if (announcedBytes > MAX_ATTACHMENT_BYTES) return yield* new PayloadTooLarge()
          const id = mint<AttachmentId>("att", clock.currentTimeMillisUnsafe())
          yield* Effect.acquireRelease(reserve(sql, id, { ...file, announcedBytes }, now()), () =>
            Effect.ignore(sql`DELETE FROM uploads WHERE id = ${id} AND sha256 IS NULL`, { log: true })
          )
          const received = yield* receiveContent(
            mediaType,
            content,
            (n, bytes) => sql`INSERT INTO upload_pieces ${sql.insert({ upload_id: id, n, bytes })}`
          )
          return { id, ...received }
        }),

        complete: Effect.fn("Uploads.complete")(function* ({ bytes, id, sha256 }) {
          const row = yield* uploadRows.first(sql`
            UPDATE uploads SET bytes = ${bytes}, sha256 = ${sha256} WHERE id = ${id} RETURNING ${sql.literal(UPLOAD_COLUMNS)}`)
          if (row === undefined) return yield* Effect.die(new Error("A file was deleted while it arrived."))
          return attachmentOf(row)
        }),

        find: Effect.fnUntraced(function* (id) {
          const row = yield* ownedUploadRows.first(sql`
            SELECT ${sql.literal(UPLOAD_COLUMNS)}, user_id,
              (SELECT min(session_id) FROM session_uploads WHERE upload_id = uploads.id) AS session_id
            FROM uploads WHERE id = ${id} AND sha256 IS NOT NULL`)
          return (
            row && {
              attachment: attachmentOf(row),
              userId: row.user_id,
              sessionId: row.session_id ?? undefined
            }
          )
        }),

        content: (id) =>
          Stream.paginate(0, (n) =>
            Effect.map(
              pieceRows.first(sql`SELECT bytes FROM upload_pieces WHERE upload_id = ${id} AND n = ${n}`),
              (row) => {
                const bytes = row?.bytes ?? undefined
                if (bytes === undefined) return [[], Option.none<number>()] as const
                return [
                  [bytes],
                  bytes.length < PIECE_BYTES ? Option.none<number>() : Option.some(n + 1)
                ] as const
              }
            )
          ),

        sweep: Effect.suspend(() => sweep(sql, now().getTime())).pipe(Effect.withSpan("Uploads.sweep"))
      })
    })
  )
}

/** Largest total of one user's files that no message has. */
export const MAX_UNSENT_BYTES = 200 * 1_048_576
export const MAX_UNSENT_FILES = 100

const DAY_MS = 86_400_000
/** Time after which a file that no message has is deleted. */
export const UPLOAD_LIFETIME_MS = DAY_MS
/** Time after which an arriving file counts as abandoned: longer than a request may take. */
const ARRIVING_MS = 3_600_000

/** Adds the row of a file whose bytes arrive. It counts with its announced size. */
const reserve = (
  sql: SqlClient.SqlClient,
  id: AttachmentId,
  { announcedBytes: bytes, mediaType, name, userId }: OfferedFile & { readonly announcedBytes: number },
  now: Date
) =>
  sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`uploads ${userId}`}, 0))`
      const total = yield* unsentTotalRows.first(sql`
        SELECT count(*)::int AS files, COALESCE(sum(bytes), 0)::int AS bytes FROM uploads
        WHERE user_id = ${userId} AND NOT is_sent`)
      const { bytes: used = 0, files = 0 } = total ?? {}
      if (files >= MAX_UNSENT_FILES || used + bytes > MAX_UNSENT_BYTES)
        return yield* new Conflict({
          message:
            "You have too many uploaded files that are not in a message. Send them, or wait until they expire."
        })
      yield* checkDailyQuota(sql, userId, bytes, now)
      yield* sql`
        INSERT INTO uploads ${sql.insert({ id, user_id: userId, name, media_type: mediaType, bytes, created_at: now })}`
    })
  )

const SWEPT = 100

const sweep = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, nowMs: number) {
  const [expired, abandoned] = [new Date(nowMs - UPLOAD_LIFETIME_MS), new Date(nowMs - ARRIVING_MS)]
  let deleted = SWEPT
  while (deleted === SWEPT) {
    const rows = yield* sql`
      DELETE FROM uploads WHERE id IN (
        SELECT id FROM uploads WHERE id IN (
          SELECT id FROM uploads WHERE NOT is_sent AND created_at < ${expired}
          UNION SELECT id FROM uploads WHERE NOT is_sent AND sha256 IS NULL AND created_at < ${abandoned}
          UNION SELECT id FROM uploads u
            WHERE released_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session_uploads s WHERE s.upload_id = u.id)
        ) LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED
      ) RETURNING id`
    deleted = rows.length
  }
})

/** A sweep every ten minutes, by one of the Hubs. */
export const uploadSweepLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const uploads = yield* Uploads
    yield* doSharedWork("uploads", "10 minutes", uploads.sweep)
  })
)
