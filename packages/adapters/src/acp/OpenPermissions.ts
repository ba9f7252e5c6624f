/**
 * Permission requests that wait for a decision, by the keys that the run uses for them.
 *
 * An agent may reuse the id of a request after its response. A key is used once.
 */
import type { RpcId } from "./JsonRpc.ts"

export interface OpenPermission {
  readonly id: RpcId
  /** As the agent sent them. */
  readonly options: unknown
  readonly callId: string
}

/** The number 1 and the string "1" are two ids. */
const nameOf = (id: RpcId): string => (typeof id === "number" ? `${id}` : JSON.stringify(id))

export class OpenPermissions {
  readonly #waiting = new Map<string, OpenPermission>()
  /** The last key of each id. */
  readonly #keys = new Map<string, { readonly key: string; readonly uses: number }>()

  /** Whether a request with this id waits. */
  has(id: RpcId): boolean {
    const last = this.#keys.get(nameOf(id))
    return last !== undefined && this.#waiting.has(last.key)
  }

  /** Adds a request. Returns its key. */
  add(permission: OpenPermission): string {
    const name = nameOf(permission.id)
    const uses = this.#keys.get(name)?.uses ?? 0
    const key = uses === 0 ? name : `${name}/${uses}`
    this.#keys.set(name, { key, uses: uses + 1 })
    this.#waiting.set(key, permission)
    return key
  }

  /** Removes and returns the request with this key. */
  take(key: string): OpenPermission | undefined {
    const permission = this.#waiting.get(key)
    this.#waiting.delete(key)
    return permission
  }

  /** The key of the waiting request with this id. */
  keyOf(id: unknown): string | undefined {
    const key = this.#keys.get(JSON.stringify(id) ?? "")?.key
    return key !== undefined && this.#waiting.has(key) ? key : undefined
  }
}
