/**
 * Device codes (RFC 8628), for programs without a browser: the program polls with its device code, and a signed-in user decides the user
 * code that the program shows.
 *
 * Guarantees: a code is valid for ten minutes, for one decision and one sign-in. The database has only hashes.
 */
import { PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import type { WaitingDevice } from "@corral/domain/hub-api/Auth"
import { UserId } from "@corral/domain/identity/Ids"
import { SignInKind } from "@corral/domain/identity/User"
import { Clock, Context, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, randomBytes, randomInt } from "node:crypto"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { type IssuedSignIn, SignInStore } from "./SignInStore.ts"

const columns = {
  /** Kind of the program: not a browser. */
  kind: Schema.Literals(SignInKind.literals.filter((kind) => kind !== "web")),
  client_name: Schema.NullOr(Schema.String),
  /** Seconds between two polls. */
  interval_s: Schema.Int,
  asked_at: Schema.NullOr(Timestamp),
  decision: Schema.NullOr(Schema.Literals(["allow", "deny"])),
  user_id: Schema.NullOr(UserId),
  created_at: Timestamp
}

const deviceCodeRows = storedRows("device_codes", Schema.Struct(Struct.omit(columns, ["created_at"])))
const waitingCodeRows = storedRows(
  "device_codes",
  Schema.Struct(Struct.pick(columns, ["kind", "client_name", "created_at"]))
)

/** Consonants only: codes form no words and have no letters that look alike. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
const TTL = 600_000
/** Seconds between two polls, and seconds added for a program that polls too soon. */
const INTERVAL = 5
const SLOWER = 5

export interface DeviceRequest {
  readonly kind: Exclude<SignInKind, "web">
  readonly clientName?: string | undefined
}

export interface DeviceStarted {
  readonly deviceCode: string
  /** `BCDF-GHJK`. */
  readonly userCode: string
  readonly expiresInSeconds: number
  readonly intervalSeconds: number
}

export class DeviceCodes extends Context.Service<
  DeviceCodes,
  {
    readonly start: (request: DeviceRequest) => Effect.Effect<DeviceStarted, SqlError.SqlError>
    /** The sign-in once a user has allowed it; until then, the seconds to wait. */
    readonly ask: (
      deviceCode: string
    ) => Effect.Effect<
      IssuedSignIn | { readonly waitSeconds: number },
      Unauthorized | PermissionDenied | SqlError.SqlError
    >
    /** The program that waits for a decision on a user code. */
    readonly waiting: (userCode: string) => Effect.Effect<WaitingDevice, PermissionDenied | SqlError.SqlError>
    /** Decides a user code; refused if no program waits for it. */
    readonly answer: (
      userId: UserId,
      userCode: string,
      decision: "allow" | "deny"
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/DeviceCodes") {
  static readonly layer = Layer.effect(
    DeviceCodes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const signIns = yield* SignInStore
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      const poll = pollOf(sql, signIns)

      return DeviceCodes.of({
        start: Effect.fn("DeviceCodes.start")(function* ({ clientName, kind }) {
          const at = now()
          const deviceCode = randomBytes(32).toString("base64url")
          const userCode = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join("")
          yield* sql`DELETE FROM device_codes WHERE created_at <= ${oldest(at)}`
          yield* sql`INSERT INTO device_codes ${sql.insert({
            device_hash: sha256(deviceCode),
            user_code_hash: sha256(userCode),
            kind,
            client_name: clientName ?? null,
            interval_s: INTERVAL,
            created_at: at
          })}`
          return {
            deviceCode,
            userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`,
            expiresInSeconds: TTL / 1_000,
            intervalSeconds: INTERVAL
          }
        }),

        ask: Effect.fn("DeviceCodes.ask")(function* (deviceCode) {
          // Fails after the transaction: a denied code is deleted, and the deletion must not be rolled back.
          const result = yield* sql.withTransaction(poll(sha256(deviceCode), now()))
          if (result === undefined)
            return yield* new Unauthorized({ message: "The code has expired. Start again." })
          if (result === "denied") return yield* new PermissionDenied({ message: "The sign-in was refused." })
          return result
        }),

        waiting: Effect.fn("DeviceCodes.waiting")(function* (userCode) {
          const row = yield* waitingCodeRows.first(sql`
            SELECT kind, client_name, created_at FROM device_codes
            WHERE user_code_hash = ${userHash(userCode)} AND decision IS NULL AND created_at > ${oldest(now())}`)
          if (row === undefined) return yield* notWaiting()
          const { client_name, created_at, kind } = row
          return {
            kind,
            ...(client_name === null ? {} : { clientName: client_name }),
            startedAt: created_at.toISOString()
          }
        }),

        answer: Effect.fn("DeviceCodes.answer")(function* (userId, userCode, decision) {
          const answered = yield* sql`
            UPDATE device_codes SET decision = ${decision}, user_id = ${userId}
            WHERE user_code_hash = ${userHash(userCode)} AND decision IS NULL AND created_at > ${oldest(now())}
            RETURNING kind`
          if (answered.length === 0) return yield* notWaiting()
        })
      })
    })
  )
}

const oldest = (at: Date) => new Date(at.getTime() - TTL)

/** Answers a program that polls with its device code: the sign-in, the refusal, or the seconds to wait. */
const pollOf = (sql: SqlClient.SqlClient, signIns: SignInStore["Service"]) =>
  Effect.fnUntraced(function* (hash: Buffer, at: Date) {
    const row = yield* deviceCodeRows.first(sql`
      SELECT kind, client_name, interval_s, asked_at, decision, user_id FROM device_codes
      WHERE device_hash = ${hash} AND created_at > ${oldest(at)} FOR UPDATE`)
    if (row === undefined) return undefined
    if (row.decision === null) {
      const early = row.asked_at !== null && at.getTime() - row.asked_at.getTime() < row.interval_s * 1_000
      const interval = early ? row.interval_s + SLOWER : row.interval_s
      yield* sql`UPDATE device_codes SET asked_at = ${at}, interval_s = ${interval} WHERE device_hash = ${hash}`
      return { waitSeconds: interval }
    }
    yield* sql`DELETE FROM device_codes WHERE device_hash = ${hash}`
    if (row.decision === "deny" || row.user_id === null) return "denied" as const
    return yield* signIns.issue(row.user_id, row.kind, { clientName: row.client_name })
  })

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Hash of a user code as people type it: with or without the dash, in any case. */
const userHash = (userCode: string): Buffer => sha256(userCode.toUpperCase().replaceAll(/[\s-]/g, ""))

const notWaiting = () => new PermissionDenied({ message: "No sign-in is waiting for this code." })
