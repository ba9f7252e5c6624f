/**
 * Statements on `edge_commands`: one row per command to an Edge.
 *
 * A row without `generation` was never sent, so it can still be deleted. A row with an `outcome` is answered; the first answer wins.
 */
import { DeviceId } from "@corral/domain/identity/Ids"
import { CommandId, CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { Effect, Result, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceRow.ts"
import { announced, notify } from "../store/Notices.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { type CommandRequest, OUTCOME_UNKNOWN_MESSAGE } from "./CommandRequest.ts"

const ClaimedCommandRow = Schema.Struct({
  id: CommandId,
  seq: Schema.String,
  /** JSON. Decoded separately: a command of another version must not hold up the others. */
  command: Schema.String
})
type ClaimedCommandRow = typeof ClaimedCommandRow.Type

const claimedCommandRows = storedRows("edge_commands", ClaimedCommandRow)
const commandIdRows = storedRows("edge_commands", Schema.Struct({ id: CommandId }))
/** Devices with open commands. */
const openTargetRows = storedRows("edge_commands", Schema.Struct({ id: DeviceId }))
const insertedRows = storedRows("edge_commands", Schema.Struct({ sent: Schema.Boolean }))
/** `held`: the link is the newest of its device. `done`: the answer was stored. */
const answeredRows = storedRows(
  "edge_commands",
  Schema.Struct({ held: Schema.Boolean, done: Schema.Boolean })
)
const commandProgressRows = storedRows(
  "edge_commands",
  Schema.Struct({
    sent: Schema.Boolean,
    /** The schema of the command decodes its `value`. */
    outcome: Schema.NullOr(jsonColumn(CommandOutcome)),
    /** Whether the device is online. */
    online: Schema.NullOr(Schema.Boolean)
  })
)

/** How long a command may wait to be sent. */
export const UNSENT_MS = 10_000
/** How long answers are stored, and commands that were sent and never answered. */
const RETENTION_MS = 7 * 86_400_000
/** Commands per claim. */
const CLAIM_LIMIT = 16

export interface ClaimedCommands {
  readonly commands: ReadonlyArray<EdgeCommand>
  /** Whether the claim had as many commands as it may have. */
  readonly hasMore: boolean
}

export interface InsertedCommand {
  readonly isNew: boolean
  /** Whether the command counts as sent. */
  readonly isSent: boolean
}

/** Progress of one command. */
export interface CommandProgress {
  readonly wasSent: boolean
  readonly outcome: CommandOutcome | undefined
  readonly isOnline: boolean
}

export class CommandTable {
  private readonly sql: SqlClient.SqlClient
  private readonly nowMs: () => number

  /** `nowMs` gives Unix milliseconds. */
  constructor(sql: SqlClient.SqlClient, nowMs: () => number) {
    this.sql = sql
    this.nowMs = nowMs
  }

  /**
   * Inserts the command unless its id exists, its device is offline or its run is gone. Wakes the Hub that holds the device's link, also for an id that
   * exists, because the first notice may have been lost, unless the command counts as sent over `link`: the newest of the device, to which the caller then
   * sends it.
   */
  insert(
    id: CommandId,
    { requiredRun, targetId }: CommandRequest,
    text: string,
    expiresAt: Date | null,
    link: DeviceLink | undefined
  ): Effect.Effect<InsertedCommand, SqlError.SqlError> {
    const { sql } = this
    const now = this.now()
    // A newer link waits for the lock, and then claims the command.
    const sent =
      link === undefined
        ? { generation: sql`NULL::bigint`, lock: sql`` }
        : {
            generation: sql`CASE WHEN devices.generation = ${link.generation} THEN devices.generation END`,
            lock: sql`FOR SHARE OF devices`
          }
    const inserted = insertedRows.first(sql`
          INSERT INTO edge_commands (id, target_id, command, created_at, expires_at, generation, sent_at)
          SELECT id, target_id, command, created_at, expires_at, generation, CASE WHEN generation IS NOT NULL THEN created_at END FROM (
            SELECT ${id} AS id, devices.id AS target_id, ${text} AS command, ${now}::timestamptz AS created_at,
              ${expiresAt}::timestamptz AS expires_at, ${sent.generation} AS generation
            FROM devices
            ${requiredRun === undefined ? sql`` : sql`, (SELECT 1 FROM runs WHERE id = ${requiredRun} FOR KEY SHARE) known`}
            WHERE devices.id = ${targetId} AND revoked_at IS NULL AND lease_until > ${now} ${sent.lock}
          ) AS command
          ON CONFLICT (id) DO NOTHING RETURNING generation IS NOT NULL AS sent`)
    return Effect.flatMap(inserted, (row) => {
      const result = { isNew: row !== undefined, isSent: row?.sent === true }
      return result.isSent ? Effect.succeed(result) : Effect.as(notify(sql, "command", targetId), result)
    })
  }

  find(targetId: DeviceId, id: CommandId): Effect.Effect<CommandProgress | undefined, SqlError.SqlError> {
    return Effect.map(
      commandProgressRows.first(this.sql`
          SELECT c.generation IS NOT NULL AS sent, c.outcome, d.lease_until > ${this.now()} AS online
          FROM edge_commands c JOIN devices d ON d.id = c.target_id WHERE c.id = ${id} AND c.target_id = ${targetId}`),
      (row) => row && { wasSent: row.sent, outcome: row.outcome ?? undefined, isOnline: row.online === true }
    )
  }

  /** Those of `ids` that are still without an answer. */
  findUnanswered(ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> {
    return Effect.map(
      commandIdRows.all(
        this.sql`SELECT id FROM edge_commands WHERE id = ANY(${ids}::text[]) AND outcome IS NULL`
      ),
      (rows) => new Set(rows.map(({ id }) => id))
    )
  }

  /** Whether each of the devices has commands without an answer. */
  findOpen(targetIds: ReadonlyArray<DeviceId>): Effect.Effect<ReadonlyArray<boolean>, SqlError.SqlError> {
    const found = openTargetRows.all(this.sql`
      SELECT id FROM unnest(${targetIds}::text[]) AS target (id)
      WHERE EXISTS (SELECT 1 FROM edge_commands WHERE target_id = target.id AND outcome IS NULL)`)
    return Effect.map(found, (rows) => {
      const open = new Set(rows.map(({ id }) => id))
      return targetIds.map((id) => open.has(id))
    })
  }

  deleteAll(ids: ReadonlyArray<CommandId>) {
    return this.sql`DELETE FROM edge_commands WHERE id = ANY(${ids}::text[])`
  }

  deleteUnsent(id: CommandId) {
    return this.sql`
        DELETE FROM edge_commands WHERE id = ${id} AND generation IS NULL AND outcome IS NULL`
  }

  deleteExpired() {
    return this.sql`
          DELETE FROM edge_commands WHERE id IN (
            SELECT id FROM edge_commands WHERE created_at < ${this.before(RETENTION_MS)}
            UNION ALL SELECT id FROM edge_commands
              WHERE outcome IS NULL AND generation IS NULL AND expires_at < ${this.before(UNSENT_MS)}
          )`
  }

  /** Stores the answer that came over a link, unless the command has one. `isNewest`: the link is the newest of its device. Wakes no caller. */
  answerOver({ deviceId, generation }: DeviceLink, id: CommandId, outcome: CommandOutcome) {
    const { sql } = this
    const answered = answeredRows.first(sql`
      WITH held AS (
        SELECT id FROM devices WHERE id = ${deviceId} AND generation = ${generation} AND revoked_at IS NULL FOR SHARE
      ), done AS (
        UPDATE edge_commands SET outcome = ${JSON.stringify(outcome)}, answered_at = ${this.now()}
        WHERE id = ${id} AND target_id = (SELECT id FROM held) AND outcome IS NULL AND generation IS NOT NULL RETURNING id
      )
      SELECT EXISTS (SELECT 1 FROM held) AS held, EXISTS (SELECT 1 FROM done) AS done`)
    return Effect.map(answered, (row) => ({ isNewest: row?.held === true, isStored: row?.done === true }))
  }

  /** Wakes the callers of an answered command on every Hub. */
  wakeCallers(id: CommandId): Effect.Effect<void> {
    return notify(this.sql, "commandDone", id)
  }

  /** Stores the answer of a sent command, unless it has one, and wakes its callers on every Hub. */
  answer(targetId: DeviceId, id: CommandId, outcome: CommandOutcome): Effect.Effect<void, SqlError.SqlError> {
    const answered = this.sql`
      UPDATE edge_commands SET outcome = ${JSON.stringify(outcome)}, answered_at = ${this.now()}
      WHERE id = ${id} AND target_id = ${targetId} AND outcome IS NULL AND generation IS NOT NULL RETURNING id`
    return Effect.asVoid(announced(this.sql, "commandDone", answered))
  }

  /** Answers every open command of a device with `target_offline`. */
  refuseAll(targetId: DeviceId): Effect.Effect<void, SqlError.SqlError> {
    const unsent = refusal("target_offline", "The device was revoked.")
    const sent = refusal("target_offline", OUTCOME_UNKNOWN_MESSAGE, { outcome: "unknown" })
    const answered = this.sql`
      UPDATE edge_commands SET answered_at = ${this.now()},
        outcome = CASE WHEN generation IS NULL THEN ${JSON.stringify(unsent)} ELSE ${JSON.stringify(sent)} END
      WHERE target_id = ${targetId} AND outcome IS NULL RETURNING id`
    return Effect.asVoid(announced(this.sql, "commandDone", answered))
  }

  /** Marks the next commands as sent over that link and returns them, oldest first. Returns nothing where a newer link exists. */
  claim({ deviceId, generation }: DeviceLink) {
    return Effect.flatMap(
      claimedCommandRows.all(this.sql`
            UPDATE edge_commands SET generation = ${generation}, sent_at = ${this.now()}
            WHERE id IN (
              SELECT id FROM edge_commands WHERE target_id = ${deviceId} AND outcome IS NULL
                AND (generation < ${generation} OR (generation IS NULL AND (expires_at IS NULL OR expires_at > ${this.now()})))
              ORDER BY seq LIMIT ${CLAIM_LIMIT}
            ) AND outcome IS NULL AND EXISTS (SELECT 1 FROM devices WHERE id = ${deviceId} AND generation = ${generation} AND revoked_at IS NULL)
            RETURNING id, seq::text AS seq, command`),
      (rows) =>
        Effect.map(this.decodeClaimed(deviceId, rows), (commands): ClaimedCommands => ({
          commands,
          hasMore: rows.length === CLAIM_LIMIT
        }))
    )
  }

  /** Makes the commands that were sent over that link claimable again. */
  resend({ deviceId, generation }: DeviceLink): Effect.Effect<void, SqlError.SqlError> {
    return Effect.asVoid(this.sql`
            UPDATE edge_commands SET generation = ${generation - 1}
            WHERE target_id = ${deviceId} AND outcome IS NULL AND generation = ${generation}`)
  }

  private readonly decodeClaimed = Effect.fnUntraced(
    function* (this: CommandTable, deviceId: DeviceId, rows: ReadonlyArray<ClaimedCommandRow>) {
      const commands: Array<EdgeCommand> = []
      for (const { command, id } of rows.toSorted((a, b) => Number(a.seq) - Number(b.seq))) {
        const decoded = decodeCommand(command)
        if (Result.isSuccess(decoded)) commands.push(decoded.success)
        else {
          // Written by another version of the Hub. No Edge supports it either.
          yield* Effect.logError("failed to decode command", { id, cause: decoded.failure.message })
          yield* this.answer(deviceId, id, refusal("internal", "The command cannot be sent."))
        }
      }
      return commands
    }.bind(this)
  )

  private now(): Date {
    return this.before(0)
  }

  private before(ms: number): Date {
    return new Date(this.nowMs() - ms)
  }
}

export const decodeCommand = Schema.decodeUnknownResult(Schema.fromJsonString(EdgeCommand))

const refusal = (code: string, message: string, details?: Record<string, unknown>): CommandOutcome => ({
  _tag: "Refused",
  error: { code, message, ...(details === undefined ? {} : { details }) }
})
