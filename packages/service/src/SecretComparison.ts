/** Comparison of secrets in constant time: the duration does not depend on where two texts differ. */
import { timingSafeEqual } from "node:crypto"

export const isSameSecret = (actual: string, expected: string): boolean => {
  const [left, right] = [Buffer.from(actual), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}
