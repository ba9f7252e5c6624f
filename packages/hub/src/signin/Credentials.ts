/**
 * What a caller may hold, a sign-in, an API key or a Gateway's token, told apart by its token: for requests and for streams alike.
 *
 * A key is judged by its scopes before anything is done; what it may not do whatever its scopes is here too. A Gateway acts as whoever the
 * chat account that it names is bound to, looked up each time, and as nobody without naming one.
 */
import type { ApiKeyScope } from "@corral/domain/identity/ApiKey"
import { decodeChatAccount } from "@corral/domain/chat/ChatAccount"
import { type BindingRequired, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import { Context, Effect, Layer, Option } from "effect"
import type { SqlError } from "effect/sql"
import { ChatBindings, notBound } from "../chat/ChatBindings.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { chatMay } from "./ChatEndpoints.ts"
import { GatewayTokens } from "./GatewayTokens.ts"
import { SignIns } from "./SignIns.ts"

/** The tokens of a request; the guard has seen that there is one of them at most. */
export interface Credential {
  readonly bearer: string | undefined
  readonly cookie: string | undefined
  /** For whose chat account it is meant: with a Gateway's token, and nothing without. */
  readonly chatAccount?: string | undefined
}

/** An endpoint of the contract. Not the path as it was sent, which has many spellings. */
export interface Endpoint {
  readonly method: string
  /** With its parameters: `/client/projects/:id`. */
  readonly path: string
}

export class Credentials extends Context.Service<
  Credentials,
  {
    /** Who sent that, where they may call the endpoint with it. */
    readonly judge: (
      credential: Credential,
      endpoint: Endpoint
    ) => Effect.Effect<Principal, BindingRequired | PermissionDenied | Unauthorized | SqlError.SqlError>
    /** Whether what somebody came with is still worth something. Looking is no use of it. */
    readonly lives: (principal: Principal) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const signIns = yield* SignIns
      const bindings = yield* ChatBindings
      const gateways = yield* GatewayTokens

      const boundTo = Effect.fnUntraced(function* (named: string | undefined, endpoint: Endpoint) {
        const account = Option.getOrUndefined(decodeChatAccount(named ?? ""))
        if (account === undefined) return yield* new Unauthorized({ message: UNNAMED })
        if (!chatMay(endpoint)) return yield* new PermissionDenied({ message: NOT_IN_CHAT })
        return (yield* bindings.find(account)) ?? (yield* notBound())
      })

      return Credentials.of({
        judge: Effect.fnUntraced(function* ({ bearer, chatAccount, cookie }, endpoint) {
          if (bearer !== undefined && gateways.holds(bearer)) return yield* boundTo(chatAccount, endpoint)
          const token = bearer ?? cookie
          const signIn = token === undefined ? undefined : yield* signIns.find(token)
          if (signIn !== undefined) return signIn
          // A browser's cookie never holds a key.
          const key = bearer === undefined ? undefined : yield* keys.find(bearer)
          if (key === undefined) return yield* new Unauthorized()
          return keyMay(key.scopes, endpoint) ? key : yield* new PermissionDenied({ message: OUTSIDE })
        }),
        lives: ({ kind, signInId }) => {
          if (kind === "chat") return bindings.lives(signInId)
          return kind === "key" ? keys.lives(signInId) : signIns.lives(signInId)
        }
      })
    })
  )
}

/** Whether a key with those scopes may call that endpoint. */
export const keyMay = (scopes: ReadonlyArray<ApiKeyScope>, { method, path }: Endpoint): boolean => {
  if (method === "GET" || method === "HEAD")
    return scopes.includes("read") && (!path.startsWith("/client/auth/") || path === "/client/auth/me")
  return scopes.includes("write") && !keptFromKeys.some((kept) => kept.test(path))
}

/**
 * What a person does with a sign-in alone: sign-ins and keys, chat accounts, members, devices, lest a key that was lost makes others; and
 * approvals, which are a person's word.
 */
const keptFromKeys = [
  /^\/client\/auth\//,
  /^\/client\/chat-(bindings|links)(\/|$)/,
  /^\/client\/projects\/:id\/members(\/|$)/,
  /^\/client\/devices(\/|$)/,
  /^\/client\/approvals(\/|$)/
]

const UNNAMED = "Name the chat account for which this is meant."
const NOT_IN_CHAT = "This is not done from a chat."
const OUTSIDE = "This key's scopes do not reach so far."
