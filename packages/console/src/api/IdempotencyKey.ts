/** Idempotency key of a form: the same for every attempt with the same payload, so that a retry has no second effect. */
import { useRef } from "react"

export const useIdempotencyKey = (): ((payload: unknown) => { readonly "idempotency-key": string }) => {
  const last = useRef({ text: "", key: "" })
  return (payload) => {
    const text = JSON.stringify(payload)
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() }
    return { "idempotency-key": last.current.key }
  }
}
