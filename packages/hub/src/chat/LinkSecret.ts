/** Hashes of a link's code, number and browser key. The database has only these. */
import { createHash } from "node:crypto"

export const secretHash = (secret: string): Buffer => createHash("sha256").update(secret).digest()

/** Includes the code of the link, so that equal numbers have different hashes. */
export const numberHash = (codeHash: Uint8Array, number: string): Buffer =>
  createHash("sha256").update(codeHash).update(number).digest()
