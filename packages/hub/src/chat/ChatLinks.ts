/**
 * Links between chat accounts and users. A link starts in the chat. The user confirms it in a browser where they are signed in, then
 * types the number from the browser in the chat. A person who forwards the link to another user never sees the number.
 *
 * Guarantees: a link is valid for ten minutes and one use; a newer link of the account ends it. The database has only hashes of the
 * code, the number and the browser key.
 *
 * Does not: check who may confirm, or how recently they signed in.
 * Each attempt to complete a link is recorded and counted, also a refused one. After too many wrong numbers the link ends.
 */
import {
  type ChatAccount,
  type ChatBinding,
  type ChatLink,
  encodeChatAccount
} from "@corral/domain/chat/ChatAccount"
import { BindingRequired, Conflict, PermissionDenied, RateLimited } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { ChatBindings } from "./ChatBindings.ts"
import {
  accountColumns,
  accountCondition,
  bindingOf,
  CHAT_LINK_COLUMNS,
  chatLinkExpiryRows,
  chatLinkIdRows,
  type ChatLinkRow,
  chatLinkRows,
  chatLinkStartRows,
  type ConfirmedLinkRow,
  confirmedLinkRows,
  lockAccount
} from "./ChatRows.ts"

// Hashes of a link's code, number and browser key. The database has only these.

const secretHash = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** Includes the code of the link, so that equal numbers have different hashes. */
const numberHash = (codeHash: Uint8Array, number: string): Buffer =>
  createHash("sha256").update(codeHash).update(number).digest()

/** Wrong numbers after which a link ends. */
const MAX_TRIES = 5

/** Actor of a change that no user made. */
export const GATEWAY_ACTOR = "gateway"

type Refusal = BindingRequired | Conflict

const alreadyBound = () => new Conflict({ message: "This chat account is already linked. Unlink it first." })

/** Condition of the links that can still be used. */
const isOpenAt = (sql: SqlClient.SqlClient, at: Date) => sql`ended_at IS NULL AND expires_at > ${at}`

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

const linkCompletion = Effect.gen(function* () {
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

const TTL = 600_000
const HOUR = 3_600_000
/** Links that an account may start in an hour. */
const MAX_STARTS = 5
/** Display names of a chat account. */
export interface AccountNames {
  readonly name: string | undefined
  readonly tenantName: string | undefined
}

export interface StartedLink {
  /** Id in the audit; not the code. */
  readonly id: string
  /** Returned only here; the database has its hash. */
  readonly code: string
  readonly expiresAt: Date
}

export interface ConfirmedLink {
  readonly id: string
  /** Returned only here; the database has its hash. */
  readonly number: string
  readonly expiresAt: Date
}

export class ChatLinks extends Context.Service<
  ChatLinks,
  {
    /** Starts a link of an account that is not bound. Ends the previous link. */
    readonly start: (
      account: ChatAccount,
      names: AccountNames
    ) => Effect.Effect<StartedLink, Conflict | RateLimited | SqlError.SqlError>
    /** Id of the link with a code; `undefined` if there is none. */
    readonly idOf: (code: string) => Effect.Effect<string | undefined, SqlError.SqlError>
    /** The link with a code. Before confirmation, any user with the code can see it; afterwards, the user who confirmed it. */
    readonly look: (
      userId: UserId,
      code: string
    ) => Effect.Effect<ChatLink, PermissionDenied | SqlError.SqlError>
    /** Binds an open link to the first browser that opens its page. Other browsers change nothing. */
    readonly open: (browser: string, code: string) => Effect.Effect<void, SqlError.SqlError>
    /** Confirms an open link in the browser that opened its page. Another confirmation by the user replaces the number. */
    readonly confirm: (
      userId: UserId,
      browser: string,
      code: string
    ) => Effect.Effect<ConfirmedLink, PermissionDenied | SqlError.SqlError>
    /** Ends a link that is open, or that this user has confirmed. */
    readonly refuse: (
      userId: UserId,
      code: string
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** Binds the account to the user who saw the number. Records each attempt: a wrong number counts although it is refused. */
    readonly bind: (
      account: ChatAccount,
      number: string
    ) => Effect.Effect<ChatBinding, BindingRequired | Conflict | SqlError.SqlError, CurrentRequestId>
  }
>()("corral/hub/ChatLinks") {
  static readonly layer = Layer.effect(
    ChatLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bindings = yield* ChatBindings
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      const complete = yield* linkCompletion

      return ChatLinks.of({
        start: Effect.fn("ChatLinks.start")(function* (account, { name, tenantName }) {
          yield* lockAccount(sql, account)
          const at = now()
          if ((yield* bindings.find(account)) !== undefined) return yield* alreadyBound()
          yield* sql`DELETE FROM chat_links WHERE created_at <= ${new Date(at.getTime() - HOUR)}`
          yield* limitStarts(sql, account, at)
          yield* sql`UPDATE chat_links SET ended_at = ${at} WHERE ${accountCondition(sql, account)} AND ended_at IS NULL`
          const code = randomBytes(32).toString("base64url")
          const id = mint<string>("lnk", at.getTime())
          const expiresAt = new Date(at.getTime() + TTL)
          yield* sql`INSERT INTO chat_links ${sql.insert({
            id,
            code_hash: secretHash(code),
            ...accountColumns(account),
            name: name ?? null,
            tenant_name: tenantName ?? null,
            created_at: at,
            expires_at: expiresAt
          })}`
          return { id, code, expiresAt }
        }, sql.withTransaction),

        idOf: Effect.fn("ChatLinks.idOf")(function* (code) {
          const row = yield* chatLinkIdRows.first(
            sql`SELECT id FROM chat_links WHERE code_hash = ${secretHash(code)}`
          )
          return row?.id
        }),

        look: Effect.fn("ChatLinks.look")(function* (userId, code) {
          const row = yield* chatLinkRows.first(sql`
            SELECT ${sql.literal(CHAT_LINK_COLUMNS)}
            FROM chat_links WHERE code_hash = ${secretHash(code)} AND expires_at > ${now()}`)
          const state = row && stateOf(row, userId)
          return row === undefined || state === undefined ? yield* unusable() : linkOf(row, state)
        }),

        open: Effect.fn("ChatLinks.open")(function* (browser, code) {
          yield* sql`
            UPDATE chat_links SET browser_hash = ${secretHash(browser)}
            WHERE code_hash = ${secretHash(code)} AND browser_hash IS NULL AND ${isOpenAt(sql, now())}`
        }),

        confirm: Effect.fn("ChatLinks.confirm")(function* (userId, browser, code) {
          const number = String(randomInt(1_000_000)).padStart(6, "0")
          const [codeHash, browserHash] = [secretHash(code), secretHash(browser)]
          const row = yield* chatLinkExpiryRows.first(sql`
            UPDATE chat_links
            SET user_id = ${userId}, number_hash = ${numberHash(codeHash, number)}
            WHERE code_hash = ${codeHash} AND ${isOpenAt(sql, now())} AND browser_hash = ${browserHash}
              AND (user_id IS NULL OR user_id = ${userId})
            RETURNING id, expires_at`)
          return row === undefined ? yield* unusable() : { id: row.id, number, expiresAt: row.expires_at }
        }),

        refuse: Effect.fn("ChatLinks.refuse")(function* (userId, code) {
          const at = now()
          const ended = yield* sql`
            UPDATE chat_links SET ended_at = ${at}
            WHERE code_hash = ${secretHash(code)} AND ${isOpenAt(sql, at)} AND (user_id IS NULL OR user_id = ${userId})
            RETURNING id`
          if (ended.length === 0) return yield* unusable()
        }),

        bind: Effect.fn("ChatLinks.bind")(function* (account, number) {
          return yield* complete(account, number, now())
        })
      })
    })
  )
}

/** Refuses an account that has started too many links. */
const limitStarts = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, account: ChatAccount, at: Date) {
  const starts = yield* chatLinkStartRows.all(sql`
    SELECT created_at FROM chat_links
    WHERE ${accountCondition(sql, account)} AND created_at > ${new Date(at.getTime() - HOUR)} ORDER BY created_at`)
  const [first] = starts
  if (first === undefined || starts.length < MAX_STARTS) return
  const wait = first.created_at.getTime() + HOUR - at.getTime()
  return yield* new RateLimited({ details: { retryAfterSeconds: Math.ceil(wait / 1_000) } })
})

/** The same refusal for every link that the caller may not see. */
const unusable = () =>
  new PermissionDenied({ message: "This link was used, has expired, or belongs to another user." })

/** State of the link; `undefined` if the user may not see it. */
const stateOf = (
  { binding_id, ended_at, user_id }: ChatLinkRow,
  userId: UserId
): ChatLink["state"] | undefined => {
  if (user_id !== null && user_id !== userId) return undefined
  if (binding_id !== null) return "linked"
  if (ended_at !== null) return undefined
  return user_id === null ? "open" : "confirmed"
}

const linkOf = (
  { account, created_at, expires_at, name, platform, tenant, tenant_name }: ChatLinkRow,
  state: ChatLink["state"]
): ChatLink => ({
  state,
  platform,
  tenant,
  account,
  ...(name === null ? {} : { name }),
  ...(tenant_name === null ? {} : { tenantName: tenant_name }),
  requestedAt: created_at.toISOString(),
  expiresAt: expires_at.toISOString()
})
