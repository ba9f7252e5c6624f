/** Feishu's signature: a hash over the headers as they came, the Encrypt Key and the body's bytes. */
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

const TIMESTAMP = "x-lark-request-timestamp"
const NONCE = "x-lark-request-nonce"
const SIGNATURE = "x-lark-signature"

/** Whether a request claims to be signed. The trial of an address may come unsigned. */
export const claimsSignature = (headers: IncomingHttpHeaders): boolean => headers[SIGNATURE] !== undefined

/** The timestamp that is signed, as it came. */
export const timestampOf = (headers: IncomingHttpHeaders): string => one(headers, TIMESTAMP)

/** Header values as bytes of their own: Node reads them as Latin-1. */
export const feishuSignature = (timestamp: string, nonce: string, key: string, body: Uint8Array): string =>
  createHash("sha256")
    .update(Buffer.from(timestamp + nonce, "latin1"))
    .update(key, "utf8")
    .update(body)
    .digest("hex")

export const isSigned = (headers: IncomingHttpHeaders, key: string, body: Uint8Array): boolean =>
  same(one(headers, SIGNATURE), feishuSignature(one(headers, TIMESTAMP), one(headers, NONCE), key, body))

/** Takes a time that says nothing of where two texts differ. */
export const same = (given: string, wanted: string): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const one = (headers: IncomingHttpHeaders, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : ""
}
