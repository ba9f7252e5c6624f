/**
 * First message of each account that is not linked yet, until the account is linked, for a day at most.
 *
 * Guarantees: a message is stored encrypted, with a key that only Gateways have. The number of messages and their size are bounded.
 */
import { type ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import { InboxRow } from "../inbox/SenderQueues.ts"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { queryRow, timedStore } from "../store/RowQueries.ts"

const DAY_MS = 86_400_000
/** Of an event, in characters. A longer first message is not kept. */
const MAX_EVENT = 65_536
/** Accounts with a kept message. */
const MAX_KEPT = 10_000

const StoredEvent = Schema.fromJsonString(Schema.Struct({ ...InboxRow.fields, receivedAt: Schema.Number }))
const encodeEvent = Schema.encodeSync(StoredEvent)
const decodeEvent = Schema.decodeOption(StoredEvent)

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Codec of the table `kept_messages`. */
const KeptRow = Schema.Struct({ sealed: Schema.Uint8Array })

export class KeptMessages extends Context.Service<
  KeptMessages,
  {
    /** Keeps the message, unless an earlier one is kept. Returns whether the account has a kept message. */
    readonly keep: (account: ChatAccount, inbound: Inbound) => Effect.Effect<boolean, SqlError.SqlError>
    readonly find: (account: ChatAccount) => Effect.Effect<Inbound | undefined, SqlError.SqlError>
    readonly remove: (account: ChatAccount) => Effect.Effect<void, SqlError.SqlError>
    /** Deletes messages that are a day old. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/KeptMessages") {
  /** `secret` is the same for all Gateways of one Hub. */
  static readonly layer = (secret: Redacted.Redacted) =>
    Layer.effect(
      KeptMessages,
      Effect.gen(function* () {
        const { at, sql } = yield* timedStore
        const { open, seal } = makeSeal(secret)
        const find = queryRow({
          Request: Schema.String,
          Result: KeptRow,
          execute: (key) => sql`
            SELECT sealed FROM kept_messages WHERE key = ${key} AND kept_at > ${at(-DAY_MS)}`
        })
        return KeptMessages.of({
          keep: Effect.fn("KeptMessages.keep")(function* (account, inbound) {
            const key = encodeChatAccount(account)
            const event = encodeEvent(inbound)
            if (event.length <= MAX_EVENT)
              yield* sql`
                INSERT INTO kept_messages (key, sealed, kept_at)
                SELECT ${key}, ${seal(key, event)}, ${at()}
                WHERE (SELECT count(*) FROM kept_messages) < ${MAX_KEPT}
                ON CONFLICT (key) DO UPDATE SET sealed = EXCLUDED.sealed, kept_at = EXCLUDED.kept_at
                WHERE kept_messages.kept_at <= ${at(-DAY_MS)}`
            return (yield* find(key)) !== undefined
          }),
          find: Effect.fn("KeptMessages.find")(function* (account) {
            const key = encodeChatAccount(account)
            const row = yield* find(key)
            if (row === undefined) return undefined
            return Option.getOrUndefined(Option.flatMap(open(key, row.sealed), decodeEvent))
          }),
          remove: Effect.fn("KeptMessages.remove")(function* (account) {
            yield* sql`DELETE FROM kept_messages WHERE key = ${encodeChatAccount(account)}`
          }),
          deleteOld: Effect.suspend(
            () => sql`DELETE FROM kept_messages WHERE kept_at <= ${at(-DAY_MS)}`
          ).pipe(Effect.asVoid, Effect.withSpan("KeptMessages.deleteOld"))
        })
      })
    )
}

/** Authenticated encryption of a text, bound to the key of its row. */
const makeSeal = (secret: Redacted.Redacted) => {
  const key = Buffer.from(
    hkdfSync("sha256", Redacted.value(secret), "", "first messages of chat accounts", 32)
  )
  return {
    seal: (row: string, text: string): Uint8Array => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(row))
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
    },
    /** Nothing if the secret has changed. */
    open: (row: string, sealed: Uint8Array): Option.Option<string> => {
      try {
        const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES))
          .setAAD(Buffer.from(row))
          .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        const text = [decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]
        return Option.some(Buffer.concat(text).toString("utf8"))
      } catch {
        return Option.none()
      }
    }
  }
}
