/**
 * The permissions that an agent waits for, by the keys under which the run knows them.
 *
 * An agent may use the id of a request again once it is answered; a key is used once.
 */
import type { RpcId } from "./JsonRpc.ts"

export interface OpenPermission {
  readonly id: RpcId
  /** As the agent offers them. */
  readonly options: unknown
  readonly callId: string
}

/** A number and a text that reads like it are two ids. */
const nameOf = (id: RpcId): string => (typeof id === "number" ? `${id}` : JSON.stringify(id))

export class OpenPermissions {
  readonly #waiting = new Map<string, OpenPermission>()
  /** The last key of each id. */
  readonly #keys = new Map<string, { readonly key: string; readonly uses: number }>()

  /** Whether a request of that id waits. */
  has(id: RpcId): boolean {
    const last = this.#keys.get(nameOf(id))
    return last !== undefined && this.#waiting.has(last.key)
  }

  /** The key of a request that now waits. */
  add(asked: OpenPermission): string {
    const name = nameOf(asked.id)
    const uses = this.#keys.get(name)?.uses ?? 0
    const key = uses === 0 ? name : `${name}/${uses}`
    this.#keys.set(name, { key, uses: uses + 1 })
    this.#waiting.set(key, asked)
    return key
  }

  /** The request of that key, which waits no longer. */
  take(key: string): OpenPermission | undefined {
    const asked = this.#waiting.get(key)
    this.#waiting.delete(key)
    return asked
  }

  /** The key of the waiting request of that id. */
  keyOf(id: unknown): string | undefined {
    const key = this.#keys.get(JSON.stringify(id) ?? "")?.key
    return key !== undefined && this.#waiting.has(key) ? key : undefined
  }
}
