/** Decryption of Feishu's bodies: base64 of an initialization vector and AES-256-CBC under the hash of the Encrypt Key. */
import { createDecipheriv, createHash } from "node:crypto"

const IV_BYTES = 16

/** The decrypted bytes; undefined for invalid input. Never throws. */
export const decrypt = (encrypted: string, key: string): Buffer | undefined => {
  const bytes = Buffer.from(encrypted, "base64")
  if (bytes.length < 2 * IV_BYTES || bytes.length % IV_BYTES !== 0) return undefined
  const hashed = createHash("sha256").update(key, "utf8").digest()
  try {
    const decipher = createDecipheriv("aes-256-cbc", hashed, bytes.subarray(0, IV_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
