/**
 * Credentials of callers, for requests and streams: a sign-in, an API key or a Gateway's token. Also the tokens of Gateways, and the endpoints that a
 * chat account may call.
 *
 * Guarantees: the scopes of a key, and the endpoints that no key may call, are checked before the handler runs. A Gateway acts as the user
 * whose chat account it names. The binding is looked up for each request; a Gateway without an account acts as no user.
 */
import type { ApiKeyScope } from "@corral/domain/identity/ApiKey"
import { decodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { type BindingRequired, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { SqlError } from "effect/sql"
import { ChatBindings, accountNotBound } from "../chat/ChatBindings.ts"
import { ApiKeyStore } from "./ApiKeyStore.ts"
import { SignInStore } from "./SignInStore.ts"
import { createHash, timingSafeEqual } from "node:crypto"
import { HubConfig } from "../config/HubConfig.ts"

// Tokens of Gateways, from the settings. Several are valid during a rotation; without any, no Gateway is admitted.

export class GatewayTokens extends Context.Service<
  GatewayTokens,
  {
    /** Whether a token is one of them. The comparison takes constant time. */
    readonly isGatewayToken: (token: string) => boolean
  }
>()("corral/hub/GatewayTokens") {
  static readonly layer = Layer.effect(
    GatewayTokens,
    Effect.map(HubConfig, ({ gatewayTokens = [] }) => {
      const hashes = gatewayTokens.map((token) => sha256(Redacted.value(token)))
      return GatewayTokens.of({
        isGatewayToken: (token) => {
          const hash = sha256(token)
          return hashes.filter((stored) => timingSafeEqual(stored, hash)).length > 0
        }
      })
    })
  )
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

// Endpoints that a chat account may call: those to follow and do work. Other endpoints require a sign-in.

/** Method and path, as in the contract. */
export const chatEndpoints: ReadonlySet<string> = new Set([
  "GET /client/auth/me",
  "GET /client/sessions",
  "POST /client/sessions",
  "GET /client/sessions/:id",
  "GET /client/sessions/:id/messages",
  "POST /client/sessions/:id/messages",
  "GET /client/sessions/:id/messages/:messageId",
  "PATCH /client/sessions/:id/messages/:messageId",
  "POST /client/sessions/:id/messages/:messageId/withdraw",
  "POST /client/sessions/:id/agents",
  "PATCH /client/sessions/:id/agents/:agentInstanceId",
  "POST /client/sessions/:id/agents/:agentInstanceId/continue",
  "GET /client/projects",
  "GET /client/projects/:id",
  "GET /client/projects/:id/members",
  "GET /client/targets",
  "GET /client/agents",
  "POST /web/agent-tasks",
  "GET /client/tasks",
  "GET /client/tasks/:id",
  "POST /client/tasks/:id/cancel",
  "GET /client/runs",
  "GET /client/runs/:id",
  "GET /client/runs/:id/events",
  "POST /client/runs/:id/cancel",
  "POST /client/runs/:id/finish",
  "POST /client/runs/:id/input",
  "GET /client/runs/:id/approvals",
  "GET /client/approvals",
  "GET /client/approvals/:id",
  "POST /client/approvals/:id/decide",
  "GET /client/inputs",
  "GET /client/inputs/:id",
  "POST /client/inputs/:id/answer",
  "GET /client/events"
])

export const isOpenToChat = ({ method, path }: Endpoint): boolean => chatEndpoints.has(`${method} ${path}`)

/** Tokens of a request. The guard admits at most one of `bearer` and `cookie`. */
export interface Credential {
  readonly bearer: string | undefined
  readonly cookie: string | undefined
  /** Chat account for which a Gateway acts; ignored without a Gateway's token. */
  readonly chatAccount?: string | undefined
}

/** An endpoint of the contract. Paths as sent have several spellings. */
export interface Endpoint {
  readonly method: string
  /** With its parameters: `/client/projects/:id`. */
  readonly path: string
  /** Scope of the keys that may call it; `undefined` if no key may. */
  readonly keyScope: ApiKeyScope | undefined
}

export class HubCredentials extends Context.Service<
  HubCredentials,
  {
    /** Verifies a credential for an endpoint and returns its principal. */
    readonly verify: (
      credential: Credential,
      endpoint: Endpoint
    ) => Effect.Effect<Principal, BindingRequired | PermissionDenied | Unauthorized | SqlError.SqlError>
    /** Whether the credential of a principal is still valid. The check does not count as a use. */
    readonly isValid: (principal: Principal) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/Credentials") {
  static readonly layer = Layer.effect(
    HubCredentials,
    Effect.gen(function* () {
      const keys = yield* ApiKeyStore
      const signIns = yield* SignInStore
      const bindings = yield* ChatBindings
      const gateways = yield* GatewayTokens

      const boundTo = Effect.fnUntraced(function* (named: string | undefined, endpoint: Endpoint) {
        const account = Option.getOrUndefined(decodeChatAccount(named ?? ""))
        if (account === undefined) return yield* new Unauthorized({ message: ACCOUNT_MISSING })
        if (!isOpenToChat(endpoint)) return yield* new PermissionDenied({ message: NOT_IN_CHAT })
        return (yield* bindings.find(account)) ?? (yield* accountNotBound())
      })

      return HubCredentials.of({
        // Untraced, as all that runs for reads (ADR 38).
        verify: Effect.fnUntraced(function* ({ bearer, chatAccount, cookie }, endpoint) {
          if (bearer !== undefined && gateways.isGatewayToken(bearer))
            return yield* boundTo(chatAccount, endpoint)
          const token = bearer ?? cookie
          const signIn = token === undefined ? undefined : yield* signIns.find(token)
          if (signIn !== undefined) return signIn
          // A browser's cookie never holds a key.
          const key = bearer === undefined ? undefined : yield* keys.find(bearer)
          if (key === undefined) return yield* new Unauthorized()
          const { keyScope } = endpoint
          return keyScope !== undefined && key.scopes.includes(keyScope)
            ? key
            : yield* new PermissionDenied({ message: OUT_OF_SCOPE })
        }),
        isValid: Effect.fn("HubCredentials.isValid")(function* ({ kind, signInId }) {
          if (kind === "chat") return yield* bindings.isValid(signInId)
          return yield* kind === "key" ? keys.isValid(signInId) : signIns.isValid(signInId)
        })
      })
    })
  )
}

const ACCOUNT_MISSING = "Name the chat account that this request is for."
const NOT_IN_CHAT = "This isn't available in a chat. Use the console."
const OUT_OF_SCOPE = "The scopes of this key don't allow this."
