/**
 * Sealing of secret answers: a client encrypts for the public key of the request, the Edge opens.
 *
 * Works wherever WebCrypto does: in browsers on https and loopback, and in Node. `SealedValue` describes the format.
 * Guarantees: a value that was sealed for another request, or changed, does not open.
 */
import type { SealedValue } from "./SealedValue.ts"

/** Key pair of one request, both parts as base64url: an uncompressed P-256 point, and its scalar. */
export interface SealingKeyPair {
  readonly publicKey: string
  readonly privateKey: string
}

const curve = { name: "ECDH", namedCurve: "P-256" } as const
const POINT_BYTES = 65
const COORDINATE_BYTES = 32

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0))

/** `CryptoKey`, whose name is a type only where the types of a browser are present. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const publicKeyOf = (point: string): Promise<Key> =>
  crypto.subtle.importKey("raw", fromBase64Url(point), curve, false, [])

const privateKeyOf = ({ privateKey, publicKey }: SealingKeyPair): Promise<Key> => {
  const point = fromBase64Url(publicKey)
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: toBase64Url(point.subarray(1, 1 + COORDINATE_BYTES)),
    y: toBase64Url(point.subarray(1 + COORDINATE_BYTES, POINT_BYTES)),
    d: privateKey
  }
  return crypto.subtle.importKey("jwk", jwk, curve, false, ["deriveBits"])
}

/** The key of one value: of both parties' key pairs and the request's id. */
const sharedKey = async (ownKey: Key, other: Key, inputId: string): Promise<Key> => {
  const secret = await crypto.subtle.deriveBits({ name: "ECDH", public: other }, ownKey, 256)
  const material = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"])
  const info = new TextEncoder().encode(inputId)
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
    material,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"]
  )
}

/** Seals a text for the request with that id. `sealingKey` is the public key of the request. */
export const sealValue = async (sealingKey: string, inputId: string, text: string): Promise<SealedValue> => {
  const sender = await crypto.subtle.generateKey(curve, true, ["deriveBits"])
  const key = await sharedKey(sender.privateKey, await publicKeyOf(sealingKey), inputId)
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, new TextEncoder().encode(text))
  const point = await crypto.subtle.exportKey("raw", sender.publicKey)
  return {
    sealed: {
      key: toBase64Url(new Uint8Array(point)),
      iv: toBase64Url(iv),
      data: toBase64Url(new Uint8Array(data))
    }
  }
}

/** The text of a sealed value; `undefined` if it was not sealed for this request. */
export const openValue = async (
  keys: SealingKeyPair,
  inputId: string,
  { sealed }: SealedValue
): Promise<string | undefined> => {
  try {
    const key = await sharedKey(await privateKeyOf(keys), await publicKeyOf(sealed.key), inputId)
    const iv = fromBase64Url(sealed.iv)
    const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, fromBase64Url(sealed.data))
    return new TextDecoder().decode(text)
  } catch {
    return undefined
  }
}
