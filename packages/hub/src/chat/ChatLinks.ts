/**
 * Links between chat accounts and users. A link starts in the chat. The user confirms it in a browser where they are signed in, then types
 * the number from the browser in the chat. A person who forwards the link to another user never sees the number.
 *
 * Guarantees: a link is valid for ten minutes and one use; a newer link of the account ends it. The database has only hashes of the code,
 * the number and the browser key.
 *
 * Does not: check who may confirm, or how recently they signed in.
 */
import type { ChatAccount, ChatBinding, ChatLink } from "@corral/domain/chat/ChatAccount"
import {
  type BindingRequired,
  type Conflict,
  PermissionDenied,
  RateLimited
} from "@corral/domain/errors/Failures"
import type { UserId } from "@corral/domain/identity/Ids"
import type { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomBytes, randomInt } from "node:crypto"
import {
  CHAT_LINK_COLUMNS,
  type ChatLinkRow,
  accountColumns,
  accountCondition,
  chatLinkExpiryRows,
  chatLinkIdRows,
  chatLinkRows,
  chatLinkStartRows,
  lockAccount
} from "./ChatRows.ts"
import { ChatBindings } from "./ChatBindings.ts"
import { alreadyBound, isOpenAt, linkCompletion, numberHash, secretHash } from "./LinkCompletion.ts"

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
