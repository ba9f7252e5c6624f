/** The correlation id that a caller may send. */
import type { RequestId } from "@corral/domain/identity/Ids"

const shape = /^[A-Za-z0-9._-]{1,128}$/

/** The caller's id where it has the right shape. */
export const sentRequestId = (id: unknown): RequestId | undefined =>
  typeof id === "string" && shape.test(id) ? (id as RequestId) : undefined
