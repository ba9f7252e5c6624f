/** The key under which a form is sent: the same for every try of the same text, another once the text is. A try that was lost is not done twice. */
import { useRef } from "react"

export const useIdempotencyKey = (): ((payload: unknown) => { readonly "idempotency-key": string }) => {
  const last = useRef({ text: "", key: "" })
  return (payload) => {
    const text = JSON.stringify(payload)
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() }
    return { "idempotency-key": last.current.key }
  }
}
