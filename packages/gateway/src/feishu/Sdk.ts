/**
 * Feishu's library with safe options: it logs nothing, times out after ten seconds, and follows no redirect. Concurrent calls share one
 * request for a token.
 *
 * The library is loaded on first use, because it is larger than the rest of the Gateway. Its errors may contain the token, the secret and the
 * message, so only `toFeishuFailure` reads them.
 */
import type * as Lark from "@larksuiteoapi/node-sdk"
import { Redacted } from "effect"

const TIMEOUT_MS = 10_000
/** More than any response to the Gateway's calls. */
const MAX_RESPONSE_BYTES = 1_048_576

export interface FeishuCredentials {
  readonly appId: string
  readonly appSecret: Redacted.Redacted
  /** Origin of the platform's API. */
  readonly domain: string
  /** Timeout of one call; 10 seconds by default. */
  readonly timeoutMs?: number | undefined
}

/** A CommonJS module. Its `default` has all exports, bundled or not. */
export type LarkModule = (typeof Lark)["default"]

export const loadLark = async (): Promise<LarkModule> => (await import("@larksuiteoapi/node-sdk")).default

/** Logger that drops everything, because the library logs secrets, tokens and messages. `onError` runs for each error. */
export const silentLogger = (onError: () => void = () => undefined): Lark.Logger => {
  const nothing = () => undefined
  return { error: () => onError(), warn: nothing, info: nothing, debug: nothing, trace: nothing }
}

/** HTTP client whose responses are bodies, as the library expects. */
export const makeHttpClient = (
  lark: LarkModule,
  timeout = TIMEOUT_MS,
  bodyOf: (body: unknown) => unknown = (body) => body
): Lark.HttpInstance => {
  const http = lark.defaultHttpInstance.create({
    timeout,
    maxRedirects: 0,
    maxContentLength: MAX_RESPONSE_BYTES
  })
  http.interceptors.response.use((response) => bodyOf(response.data) as typeof response)
  // The library's default is such an instance too, with a narrower type.
  return http as unknown as Lark.HttpInstance
}

export interface Sdk {
  readonly client: Lark.Client
  /** Resolves once there is a token; concurrent callers share one request. Returns the argument of `dropToken`. */
  readonly token: () => Promise<object>
  /** Drops a token that the platform rejected, unless it was renewed since. */
  readonly dropToken: (token: object) => void
}

/** Client of one bot. */
export const makeSdk = async ({ appId, appSecret, domain, timeoutMs }: FeishuCredentials): Promise<Sdk> => {
  const lark = await loadLark()
  let cache = new lark.DefaultCache()
  const client = new lark.Client({
    appId,
    appSecret: Redacted.value(appSecret),
    domain,
    logger: silentLogger(),
    httpInstance: makeHttpClient(lark, timeoutMs),
    cache: {
      get: (key, options) => cache.get(key, options),
      set: (key, value, expire, options) => cache.set(key, value, expire, options)
    }
  })
  let tokenRequest: Promise<unknown> | undefined
  return {
    client,
    token: async () => {
      const current = cache
      tokenRequest ??= client.tokenManager.getTenantAccessToken().finally(() => {
        tokenRequest = undefined
      })
      await tokenRequest
      return current
    },
    dropToken: (token) => {
      if (token === cache) cache = new lark.DefaultCache()
    }
  }
}
