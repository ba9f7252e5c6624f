/**
 * New ids, and ids that follow from another one, so that a repetition finds the same resource. Adds the time and the randomness to the pure encoding of `domain`.
 *
 * Guarantees: ids of one process and one millisecond are in the order in which they were made.
 */
import { encodeUlid } from "@corral/domain/identity/Ids"
import { randomBytes, createHash } from "node:crypto"

let pool = Buffer.alloc(0)
let at = 0

/** Bytes of an id behind its time that order ids of one millisecond. Those after them are random in each id. */
const RANK_BYTES = 5
const RANKS = 2 ** (8 * RANK_BYTES)
/** Longest step from one rank to the next, in bytes. */
const STEP_BYTES = 2

let newest = Number.NaN
let rank = 0

const setRank = (random: Buffer, unixMillis: number): void => {
  // The upper half of the ranks is left for later ids of the millisecond.
  rank =
    unixMillis === newest
      ? (rank + 1 + random.readUIntBE(0, STEP_BYTES)) % RANKS
      : random.readUIntBE(0, RANK_BYTES) % (RANKS / 2)
  newest = unixMillis
  random.writeUIntBE(rank, 0, RANK_BYTES)
}

/** `mint("run", now)` → `run_01K…`. The caller names the brand that belongs to the prefix. */
export const mint = <Id extends string>(prefix: string, unixMillis: number): Id => {
  if (at + 10 > pool.length) {
    pool = randomBytes(1_280)
    at = 0
  }
  at += 10
  const random = pool.subarray(at - 10, at)
  setRank(random, unixMillis)
  return `${prefix}_${encodeUlid(unixMillis, random)}` as Id
}

/** The same time and source give the same id. The caller names the brand that belongs to the prefix. */
export const derivedId = <Id extends string>(prefix: string, unixMillis: number, source: string): Id =>
  `${prefix}_${encodeUlid(unixMillis, createHash("sha256").update(source).digest())}` as Id
