/**
 * Check that an upgrade is a WebSocket handshake (RFC 6455 §4.2.1). It runs before the library, whose refusal would have no error object.
 */
import type { IncomingMessage } from "node:http"
import type { HttpRefusal } from "./Refusal.ts"

const flaw = (path: string, message: string): HttpRefusal => ({
  code: "schema_validation_failed",
  details: { issues: [{ path, message }] }
})

/** What is wrong with the handshake; `undefined` if nothing is. */
export const handshakeProblem = ({ headers, method }: IncomingMessage): HttpRefusal | undefined => {
  if (method !== "GET") return { code: "method_not_allowed" }
  if (headers.upgrade?.toLowerCase() !== "websocket") return flaw("upgrade", "Expected websocket")
  if (headers["sec-websocket-version"] !== "13") return flaw("sec-websocket-version", "Expected 13")
  return /^[A-Za-z0-9+/]{22}==$/.test(headers["sec-websocket-key"] ?? "")
    ? undefined
    : flaw("sec-websocket-key", "Expected 16 bytes as base64")
}
