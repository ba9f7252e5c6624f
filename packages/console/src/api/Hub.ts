/** The Hub that serves this page, and the keys of its writes. Authenticates by the browser's cookie. Writes repeat the CSRF token. */
import { Transport } from "@corral/client/http/Transport"
import { csrfHeaders, hubCalls } from "@corral/client/Hub"
import { useRef } from "react"

/** For event streams, which pages load when they need them. */
export const hubTransport = new Transport({ url: "", headers: csrfHeaders })

export const hubApi = hubCalls(hubTransport)

/** For messages: the Hub stores one before any device is asked. Their writer learns soon that one did not arrive. */
export const messageLimit = { timeoutMs: 15_000 } as const

/** Idempotency key of a form: the same for every attempt with the same payload, so that a retry has no second effect. */
export const useIdempotencyKey = (): ((payload: unknown) => { readonly "idempotency-key": string }) => {
  const last = useRef({ text: "", key: "" })
  return (payload) => {
    const text = JSON.stringify(payload)
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() }
    return { "idempotency-key": last.current.key }
  }
}
