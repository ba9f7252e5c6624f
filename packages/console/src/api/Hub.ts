/** The Hub that serves this page. Authenticates by the browser's cookie. Writes repeat the CSRF token. */
import { csrfHeaders, hubCalls } from "@corral/client/Hub"
import { Transport } from "@corral/client/http/Transport"

/** For event streams, which pages load when they need them. */
export const hubTransport = new Transport({ url: "", headers: csrfHeaders })

export const hubApi = hubCalls(hubTransport)

/** For messages: the Hub stores one before any device is asked. Their writer learns soon that one did not arrive. */
export const messageLimit = { timeoutMs: 15_000 } as const
