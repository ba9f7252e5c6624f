/**
 * Links: how a chat account comes to act as a person. Started in the chat, confirmed by the person in a browser where they are signed in,
 * and done when the number that the browser shows is typed in the chat: whoever forwards a link to somebody else never learns the number.
 *
 * A link is good for ten minutes and once; a newer one of its account ends it. Only hashes of its code, number and browser are kept. Who
 * may confirm, and how freshly they must have signed in, is the caller's to judge.
 */
import type { ChatAccount, ChatBinding, ChatLink } from "@corral/domain/chat/ChatAccount"
import { encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { BindingRequired, Conflict, PermissionDenied, RateLimited } from "@corral/domain/errors/Failures"
import type { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { columnsOf, ofAccount } from "./AccountRow.ts"
import { bindingOf, ChatBindings } from "./ChatBindings.ts"

const TTL = 600_000
const HOUR = 3_600_000
/** Links of one account in an hour. */
const MOST_STARTS = 5
/** Wrong numbers, after which a link is worth nothing. */
const MOST_TRIES = 5

/** Who acts where it is not a person. */
export const GATEWAY = "gateway"

export interface Names {
  readonly name: string | undefined
  readonly tenantName: string | undefined
}

export interface StartedLink {
  /** Names it in the audit; not its code. */
  readonly id: string
  /** Told this once. */
  readonly code: string
  readonly expiresAt: Date
}

export interface ConfirmedLink {
  readonly id: string
  /** Told this once. */
  readonly number: string
  readonly expiresAt: Date
}

export class ChatLinks extends Context.Service<
  ChatLinks,
  {
    /** A link for an account that acts as nobody; the one before it is worth nothing then. */
    readonly start: (
      account: ChatAccount,
      names: Names
    ) => Effect.Effect<StartedLink, Conflict | RateLimited | SqlError.SqlError>
    /** What the audit calls the link of that code; undefined where there is none. */
    readonly idOf: (code: string) => Effect.Effect<string | undefined, SqlError.SqlError>
    /** The link as that person may see it: until somebody has confirmed it anyone who has its code, then whoever that was. */
    readonly look: (
      userId: UserId,
      code: string
    ) => Effect.Effect<ChatLink, PermissionDenied | SqlError.SqlError>
    /** Ties an open link to the browser that opens its page first. Another browser changes nothing. */
    readonly open: (browser: string, code: string) => Effect.Effect<void, SqlError.SqlError>
    /** Takes an open link for that person, in the browser that opened its page. The same again gives another number, and the one before is worth nothing. */
    readonly confirm: (
      userId: UserId,
      browser: string,
      code: string
    ) => Effect.Effect<ConfirmedLink, PermissionDenied | SqlError.SqlError>
    /** Ends a link that is open, or that this person has confirmed. */
    readonly refuse: (
      userId: UserId,
      code: string
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** Makes the account act as whoever was told that number. It is recorded here: a wrong number counts although it is refused. */
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
      const audit = yield* Audit
      const bindings = yield* ChatBindings
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      const live = (at: Date) => sql`ended_at IS NULL AND expires_at > ${at}`

      /** Of several that act on one account at once, one after the other. */
      const lock = (account: ChatAccount) =>
        sql`SELECT pg_advisory_xact_lock(hashtextextended(${`chat ${encodeChatAccount(account)}`}, 0))`

      const bound = (account: ChatAccount) =>
        Effect.map(bindings.find(account), (found) => found !== undefined)

      const countStarts = Effect.fnUntraced(function* (account: ChatAccount, at: Date) {
        const starts = yield* sql<{ readonly created_at: Date }>`
          SELECT created_at FROM chat_links
          WHERE ${ofAccount(sql, account)} AND created_at > ${new Date(at.getTime() - HOUR)} ORDER BY created_at`
        const [first] = starts
        if (first === undefined || starts.length < MOST_STARTS) return
        const wait = first.created_at.getTime() + HOUR - at.getTime()
        return yield* new RateLimited({ details: { retryAfterSeconds: Math.ceil(wait / 1_000) } })
      })

      const record = Effect.fnUntraced(function* (
        resource: string,
        actor: string,
        refusal?: BindingRequired | Conflict
      ) {
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

      /** A refusal is a result here: what it has counted must stay. */
      const refused = Effect.fnUntraced(function* (resource: string, refusal: BindingRequired | Conflict) {
        yield* record(resource, GATEWAY, refusal)
        return Result.fail(refusal)
      })

      const wrong = Effect.fnUntraced(function* ({ id, tries }: Waiting, at: Date) {
        const triesLeft = MOST_TRIES - tries - 1
        yield* sql`
          UPDATE chat_links SET tries = tries + 1, ended_at = ${triesLeft > 0 ? null : at} WHERE id = ${id}`
        return yield* refused(
          id,
          new BindingRequired({
            message: "That is not the number that the page shows.",
            details: { reason: "wrong_number", triesLeft }
          })
        )
      })

      const attempt = Effect.fnUntraced(function* (account: ChatAccount, number: string) {
        const at = now()
        yield* lock(account)
        const [link] = yield* sql<Waiting>`
          SELECT id, code_hash, number_hash, user_id, tries, name FROM chat_links
          WHERE ${ofAccount(sql, account)} AND number_hash IS NOT NULL AND ${live(at)} FOR UPDATE`
        const resource = encodeChatAccount(account)
        if (link === undefined)
          return yield* refused(
            resource,
            (yield* bound(account))
              ? alreadyBound()
              : new BindingRequired({
                  message: "No link of this account waits for a number. Ask for a new one.",
                  details: { reason: "no_link" }
                })
          )
        if (!timingSafeEqual(link.number_hash, numberHash(link.code_hash, number)))
          return yield* wrong(link, at)
        yield* bindings.endStale(account)
        const row = {
          id: mint<ChatBindingId>("cbd", at.getTime()),
          ...columnsOf(account),
          name: link.name,
          created_at: at
        }
        const made = yield* sql`
          INSERT INTO chat_bindings ${sql.insert({ ...row, user_id: link.user_id })}
          ON CONFLICT (platform, app, tenant, account) WHERE ended_at IS NULL DO NOTHING RETURNING id`
        const bindingId = made.length > 0 ? row.id : null
        yield* sql`UPDATE chat_links SET ended_at = ${at}, binding_id = ${bindingId} WHERE id = ${link.id}`
        if (bindingId === null) return yield* refused(link.id, alreadyBound())
        yield* record(row.id, link.user_id)
        return Result.succeed(bindingOf(row))
      })

      return ChatLinks.of({
        start: Effect.fnUntraced(function* (account, { name, tenantName }) {
          yield* lock(account)
          const at = now()
          if (yield* bound(account)) return yield* alreadyBound()
          yield* sql`DELETE FROM chat_links WHERE created_at <= ${new Date(at.getTime() - HOUR)}`
          yield* countStarts(account, at)
          yield* sql`UPDATE chat_links SET ended_at = ${at} WHERE ${ofAccount(sql, account)} AND ended_at IS NULL`
          const code = randomBytes(32).toString("base64url")
          const id = mint<string>("lnk", at.getTime())
          const expiresAt = new Date(at.getTime() + TTL)
          yield* sql`INSERT INTO chat_links ${sql.insert({
            id,
            code_hash: sha256(code),
            ...columnsOf(account),
            name: name ?? null,
            tenant_name: tenantName ?? null,
            created_at: at,
            expires_at: expiresAt
          })}`
          return { id, code, expiresAt }
        }, sql.withTransaction),

        idOf: (code) =>
          Effect.map(
            sql<{ readonly id: string }>`SELECT id FROM chat_links WHERE code_hash = ${sha256(code)}`,
            ([row]) => row?.id
          ),

        look: Effect.fnUntraced(function* (userId, code) {
          const [row] = yield* sql<LinkRow>`
            SELECT platform, tenant, account, name, tenant_name, created_at, expires_at, user_id, ended_at, binding_id
            FROM chat_links WHERE code_hash = ${sha256(code)} AND expires_at > ${now()}`
          const state = row && stateOf(row, userId)
          return row === undefined || state === undefined ? yield* gone() : linkOf(row, state)
        }),

        open: (browser, code) =>
          Effect.asVoid(sql`
            UPDATE chat_links SET browser_hash = ${sha256(browser)}
            WHERE code_hash = ${sha256(code)} AND browser_hash IS NULL AND ${live(now())}`),

        confirm: Effect.fnUntraced(function* (userId, browser, code) {
          const number = String(randomInt(1_000_000)).padStart(6, "0")
          const [codeHash, browserHash] = [sha256(code), sha256(browser)]
          const [row] = yield* sql<{ readonly id: string; readonly expires_at: Date }>`
            UPDATE chat_links
            SET user_id = ${userId}, number_hash = ${numberHash(codeHash, number)}
            WHERE code_hash = ${codeHash} AND ${live(now())} AND browser_hash = ${browserHash}
              AND (user_id IS NULL OR user_id = ${userId})
            RETURNING id, expires_at`
          return row === undefined ? yield* gone() : { id: row.id, number, expiresAt: row.expires_at }
        }),

        refuse: Effect.fnUntraced(function* (userId, code) {
          const at = now()
          const ended = yield* sql`
            UPDATE chat_links SET ended_at = ${at}
            WHERE code_hash = ${sha256(code)} AND ${live(at)} AND (user_id IS NULL OR user_id = ${userId})
            RETURNING id`
          if (ended.length === 0) return yield* gone()
        }),

        bind: (account, number) =>
          Effect.flatMap(sql.withTransaction(attempt(account, number)), Effect.fromResult)
      })
    })
  )
}

interface LinkRow {
  readonly platform: string
  readonly tenant: string
  readonly account: string
  readonly name: string | null
  readonly tenant_name: string | null
  readonly created_at: Date
  readonly expires_at: Date
  readonly user_id: UserId | null
  readonly ended_at: Date | null
  readonly binding_id: string | null
}

/** Confirmed: it has whom it belongs to and a number. */
interface Waiting {
  readonly id: string
  readonly code_hash: Buffer
  readonly number_hash: Buffer
  readonly user_id: UserId
  readonly tries: number
  readonly name: string | null
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** With its link's code, so that equal numbers do not look equal. */
const numberHash = (codeHash: Uint8Array, number: string): Buffer =>
  createHash("sha256").update(codeHash).update(number).digest()

/** One sentence for every link that is not this caller's to see. */
const gone = () => new PermissionDenied({ message: "This link is used, over, or not for you." })

const alreadyBound = () => new Conflict({ message: "This chat account is linked already. Unlink it first." })

/** Undefined where that person may not see it. */
const stateOf = (
  { binding_id, ended_at, user_id }: LinkRow,
  userId: UserId
): ChatLink["state"] | undefined => {
  if (user_id !== null && user_id !== userId) return undefined
  if (binding_id !== null) return "linked"
  if (ended_at !== null) return undefined
  return user_id === null ? "open" : "confirmed"
}

const linkOf = (
  { account, created_at, expires_at, name, platform, tenant, tenant_name }: LinkRow,
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
