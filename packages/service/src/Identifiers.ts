/** New ids. Adds the time and the randomness to the pure encoding of `domain`. */
import { encodeUlid } from "@corral/domain/identity/Ids"
import { randomBytes } from "node:crypto"

let pool = Buffer.alloc(0)
let at = 0

/** `mint("run", now)` → `run_01K…`. The caller names the brand that belongs to the prefix. */
export const mint = <Id extends string>(prefix: string, unixMillis: number): Id => {
  if (at + 10 > pool.length) {
    pool = randomBytes(1_280)
    at = 0
  }
  at += 10
  return `${prefix}_${encodeUlid(unixMillis, pool.subarray(at - 10, at))}` as Id
}
