/**
 * Idempotency keys of the steps that start a session. They survive a reload, so a retry after a failure makes no second session.
 *
 * Guarantees: a step with the same request has the same key until the start has succeeded.
 */
import { newIdempotencyKey } from "@corral/client/http/Transport"

type KeyStorage = Pick<Storage, "getItem" | "removeItem" | "setItem">

/** Steps with several requests: the user has chosen something else before a retry. */
const MAX_KEYS = 20

const readKeys = (name: string, storage: KeyStorage): ReadonlyArray<readonly [string, string]> => {
  try {
    const stored: unknown = JSON.parse(storage.getItem(name) ?? "[]")
    return Array.isArray(stored)
      ? stored.filter(
          (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((each) => typeof each === "string")
        )
      : []
  } catch {
    return []
  }
}

export class StartKeys {
  private readonly name: string
  private readonly storage: KeyStorage
  private readonly keys: Map<string, string>

  constructor(userId: string, storage: KeyStorage = sessionStorage) {
    this.name = `corral.starting.${userId}`
    this.storage = storage
    this.keys = new Map(readKeys(this.name, storage))
  }

  /** Headers of one step. */
  headersOf(step: "agent" | "session", request: unknown): { readonly "idempotency-key": string } {
    const name = `${step} ${JSON.stringify(request)}`
    const key = this.keys.get(name) ?? newIdempotencyKey()
    this.keys.set(name, key)
    try {
      this.storage.setItem(this.name, JSON.stringify([...this.keys].slice(-MAX_KEYS)))
    } catch {
      // Without storage the keys last as long as the page.
    }
    return { "idempotency-key": key }
  }

  /** The next start makes another session. */
  clear(): void {
    this.keys.clear()
    this.storage.removeItem(this.name)
  }
}
