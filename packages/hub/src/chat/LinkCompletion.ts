/**
 * Completion of a link: the number that the browser shows is typed in the chat, and the account is bound to the user.
 *
 * Guarantees: each attempt is recorded and counted, also a refused one. After too many wrong numbers the link ends.
 */
import { type ChatAccount, type ChatBinding, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { BindingRequired, Conflict } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, timingSafeEqual } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import {
  type ConfirmedLinkRow,
  accountColumns,
  accountCondition,
  bindingOf,
  confirmedLinkRows,
  lockAccount
} from "./ChatRows.ts"
import { ChatBindings } from "./ChatBindings.ts"

// Hashes of a link's code, number and browser key. The database has only these.

export const secretHash = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** Includes the code of the link, so that equal numbers have different hashes. */
export const numberHash = (codeHash: Uint8Array, number: string): Buffer =>
  createHash("sha256").update(codeHash).update(number).digest()

/** Wrong numbers after which a link ends. */
const MAX_TRIES = 5

/** Actor of a change that no user made. */
export const GATEWAY_ACTOR = "gateway"

type Refusal = BindingRequired | Conflict

export const alreadyBound = () =>
  new Conflict({ message: "This chat account is already linked. Unlink it first." })

/** Condition of the links that can still be used. */
export const isOpenAt = (sql: SqlClient.SqlClient, at: Date) => sql`ended_at IS NULL AND expires_at > ${at}`

const makeRecords = Effect.map(Audit, (audit) => {
  const record = Effect.fnUntraced(function* (resource: string, actor: string, refusal?: Refusal) {
    yield* audit.record({
      action: "chat.bind",
      actor,
      resource,
      projectId: null,
      outcome: refusal === undefined ? "allowed" : refusal.code === "conflict" ? "failed" : "denied",
      code: refusal?.code ?? null,
      requestId: yield* CurrentRequestId
    })
  })
  return {
    recordBinding: (bindingId: string, userId: UserId) => record(bindingId, userId),
    /** Returns the refusal as a result: a failure would roll back what the transaction has counted. */
    refuse: (resource: string, refusal: Refusal) =>
      Effect.as(record(resource, GATEWAY_ACTOR, refusal), Result.fail(refusal))
  }
})

export const linkCompletion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const bindings = yield* ChatBindings
  const { recordBinding, refuse } = yield* makeRecords

  const refuseWithoutLink = Effect.fnUntraced(function* (account: ChatAccount) {
    const isBound = (yield* bindings.find(account)) !== undefined
    return yield* refuse(
      encodeChatAccount(account),
      isBound
        ? alreadyBound()
        : new BindingRequired({
            message: "No link of this account waits for a number. Start a new one.",
            details: { reason: "no_link" }
          })
    )
  })

  const refuseWrongNumber = Effect.fnUntraced(function* ({ id, tries }: ConfirmedLinkRow, at: Date) {
    const triesLeft = MAX_TRIES - tries - 1
    yield* sql`
      UPDATE chat_links SET tries = tries + 1, ended_at = ${triesLeft > 0 ? null : at} WHERE id = ${id}`
    return yield* refuse(
      id,
      new BindingRequired({
        message: "This isn't the number on the page.",
        details: { reason: "wrong_number", triesLeft }
      })
    )
  })

  const bindLink = Effect.fnUntraced(function* (link: ConfirmedLinkRow, account: ChatAccount, at: Date) {
    yield* bindings.endStale(account)
    const row = {
      id: mint<ChatBindingId>("cbd", at.getTime()),
      ...accountColumns(account),
      name: link.name,
      created_at: at
    }
    const inserted = yield* sql`
      INSERT INTO chat_bindings ${sql.insert({ ...row, user_id: link.user_id })}
      ON CONFLICT (platform, app, tenant, account) WHERE ended_at IS NULL DO NOTHING RETURNING id`
    const bindingId = inserted.length > 0 ? row.id : null
    yield* sql`UPDATE chat_links SET ended_at = ${at}, binding_id = ${bindingId} WHERE id = ${link.id}`
    if (bindingId === null) return yield* refuse(link.id, alreadyBound())
    yield* recordBinding(row.id, link.user_id)
    return Result.succeed(bindingOf(row))
  })

  const attempt = Effect.fnUntraced(function* (account: ChatAccount, number: string, at: Date) {
    yield* lockAccount(sql, account)
    const link = yield* confirmedLinkRows.first(sql`
      SELECT id, code_hash, number_hash, user_id, tries, name FROM chat_links
      WHERE ${accountCondition(sql, account)} AND number_hash IS NOT NULL AND ${isOpenAt(sql, at)} FOR UPDATE`)
    if (link === undefined) return yield* refuseWithoutLink(account)
    return timingSafeEqual(link.number_hash, numberHash(link.code_hash, number))
      ? yield* bindLink(link, account, at)
      : yield* refuseWrongNumber(link, at)
  })

  return (
    account: ChatAccount,
    number: string,
    at: Date
  ): Effect.Effect<ChatBinding, Refusal | SqlError.SqlError, CurrentRequestId> =>
    Effect.flatMap(sql.withTransaction(attempt(account, number, at)), (result) => Effect.fromResult(result))
})
