/**
 * Requests of an agent that wait for a response, by the keys that the run uses for them.
 *
 * An agent may reuse the id of a request after its response. A key is used once.
 */
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import type { RpcId } from "./JsonRpc.ts"

/** A permission request that waits for a decision. */
export interface OpenPermission {
  readonly id: RpcId
  /** As the agent sent them. */
  readonly options: unknown
  readonly callId: string
}

/** A question, a form or a plan that waits for a person. */
export interface OpenQuestion {
  readonly id: RpcId
  /** The result of the request. Without an answer of a person it contains no choice. */
  readonly toResult: (response: InputResponse) => object
  /** Id under which the agent reports the end of a link. */
  readonly linkId?: string | undefined
  /** The result has the comment on a plan. Otherwise it is the next message. */
  readonly takesComment?: boolean | undefined
  /** The call that the request belongs to as its permission. */
  readonly callId?: string | undefined
}

/** The number 1 and the string "1" are two ids. */
const nameOf = (id: RpcId): string => (typeof id === "number" ? `${id}` : JSON.stringify(id))

export class WaitingRequests<Request extends { readonly id: RpcId }> {
  readonly #waiting = new Map<string, Request>()
  /** The last key of each id. */
  readonly #keys = new Map<string, { readonly key: string; readonly uses: number }>()

  /** Whether a request with this id waits. */
  has(id: RpcId): boolean {
    const last = this.#keys.get(nameOf(id))
    return last !== undefined && this.#waiting.has(last.key)
  }

  /** Adds a request. Returns its key. */
  add(request: Request): string {
    const name = nameOf(request.id)
    const uses = this.#keys.get(name)?.uses ?? 0
    const key = uses === 0 ? name : `${name}/${uses}`
    this.#keys.set(name, { key, uses: uses + 1 })
    this.#waiting.set(key, request)
    return key
  }

  /** Removes and returns the request with this key. */
  take(key: string): Request | undefined {
    const request = this.#waiting.get(key)
    this.#waiting.delete(key)
    return request
  }

  /** The key of the waiting request with this id. */
  keyOf(id: unknown): string | undefined {
    const key = this.#keys.get(JSON.stringify(id) ?? "")?.key
    return key !== undefined && this.#waiting.has(key) ? key : undefined
  }

  /** The key of the first waiting request that `isWanted` accepts. */
  find(isWanted: (request: Request) => boolean): string | undefined {
    for (const [key, request] of this.#waiting) if (isWanted(request)) return key
    return undefined
  }
}
