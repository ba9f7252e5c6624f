/** Ids that follow from another id, so that a repetition finds the same resource. */
import { encodeUlid } from "@corral/domain/identity/Ids"
import { createHash } from "node:crypto"

/** The same time and source give the same id. The caller names the brand that belongs to the prefix. */
export const derivedId = <Id extends string>(prefix: string, unixMillis: number, source: string): Id =>
  `${prefix}_${encodeUlid(unixMillis, createHash("sha256").update(source).digest())}` as Id
