/**
 * The platform's own library, made safe to hold: it logs nothing, waits for ten seconds at most, follows no redirect
 * elsewhere, keeps its token to itself and asks for it once.
 *
 * It is loaded when it is first needed: it is larger than everything else here together. What it throws may carry the token, the secret
 * and the message; `failureOf` (FeishuFailure.ts) is the only place that may look at it.
 */
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Redacted } from "effect"

const TIMEOUT_MS = 10_000
/** Nothing that is asked for here has a longer answer. */
const MAX_ANSWER_BYTES = 1_048_576

export interface FeishuCredentials {
  readonly appId: string
  readonly appSecret: Redacted.Redacted
  /** Origin of the platform's API. */
  readonly domain: string
  /** Of one call; 10 seconds where it is not said. */
  readonly timeoutMs?: number | undefined
}

/** A CommonJS module: its `default` is all of it, bundled or not. */
export type LarkModule = (typeof Lark)["default"]

export const loadLark = async (): Promise<LarkModule> => (await import("@larksuiteoapi/node-sdk")).default

/** The library prints secrets, tokens and messages with its errors. `onError` learns that there was one, and no more. */
export const silent = (onError: () => void = () => undefined): Lark.Logger => {
  const nothing = () => undefined
  return { error: () => onError(), warn: nothing, info: nothing, debug: nothing, trace: nothing }
}

/** The library expects an answer's body where others give the answer. */
export const httpOf = (
  lark: LarkModule,
  timeout = TIMEOUT_MS,
  bodyOf: (body: unknown) => unknown = (body) => body
): Lark.HttpInstance => {
  const http = lark.defaultHttpInstance.create({
    timeout,
    maxRedirects: 0,
    maxContentLength: MAX_ANSWER_BYTES
  })
  http.interceptors.response.use((response) => bodyOf(response.data) as typeof response)
  // The library's own is such an instance too; its type knows less of what may be left out.
  return http as unknown as Lark.HttpInstance
}

export interface Sdk {
  readonly client: Lark.Client
  /** Resolves with a token; concurrent callers wait for the same one. Returns the argument of `forget`. */
  readonly token: () => Promise<object>
  /** Drops a token that the platform takes no more, unless it was renewed meanwhile. */
  readonly forget: (held: object) => void
}

/** One bot's client. */
export const sdkOf = async ({ appId, appSecret, domain, timeoutMs }: FeishuCredentials): Promise<Sdk> => {
  const lark = await loadLark()
  let cache = new lark.DefaultCache()
  const client = new lark.Client({
    appId,
    appSecret: Redacted.value(appSecret),
    domain,
    logger: silent(),
    httpInstance: httpOf(lark, timeoutMs),
    cache: {
      get: (key, options) => cache.get(key, options),
      set: (key, value, expire, options) => cache.set(key, value, expire, options)
    }
  })
  let asking: Promise<unknown> | undefined
  return {
    client,
    token: async () => {
      const held = cache
      asking ??= client.tokenManager.getTenantAccessToken().finally(() => {
        asking = undefined
      })
      await asking
      return held
    },
    forget: (held) => {
      if (held === cache) cache = new lark.DefaultCache()
    }
  }
}
