/** Feishu's signature: a hash of the unchanged headers, the Encrypt Key and the bytes of the body. */
import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { isSameSecret } from "@corral/service/SecretComparison"

const TIMESTAMP = "x-lark-request-timestamp"
const NONCE = "x-lark-request-nonce"
const SIGNATURE = "x-lark-signature"

/** Whether a request has a signature. A URL verification may have none. */
export const hasSignature = (headers: IncomingHttpHeaders): boolean => headers[SIGNATURE] !== undefined

/** The signed timestamp, unchanged. */
export const timestampOf = (headers: IncomingHttpHeaders): string => headerOf(headers, TIMESTAMP)

/** Header values are hashed as Latin-1, which is how Node reads them. */
const feishuSignature = (timestamp: string, nonce: string, key: string, body: Uint8Array): string =>
  createHash("sha256")
    .update(Buffer.from(timestamp + nonce, "latin1"))
    .update(key, "utf8")
    .update(body)
    .digest("hex")

export const isSignatureValid = (headers: IncomingHttpHeaders, key: string, body: Uint8Array): boolean =>
  isSameSecret(
    headerOf(headers, SIGNATURE),
    feishuSignature(headerOf(headers, TIMESTAMP), headerOf(headers, NONCE), key, body)
  )

const headerOf = (headers: IncomingHttpHeaders, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : ""
}
