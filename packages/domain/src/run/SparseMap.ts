/**
 * Map that takes memory only while it has entries. An empty `Map` takes 200 bytes, and a run has many maps that stay empty.
 */
export class SparseMap<K, V> {
  #entries: Map<K, V> | undefined

  get size(): number {
    return this.#entries?.size ?? 0
  }

  has(key: K): boolean {
    return this.#entries?.has(key) ?? false
  }

  get(key: K): V | undefined {
    return this.#entries?.get(key)
  }

  set(key: K, value: V): void {
    this.#entries ??= new Map()
    this.#entries.set(key, value)
  }

  /** Returns whether the key was there. */
  delete(key: K): boolean {
    const isDeleted = this.#entries?.delete(key) ?? false
    if (this.#entries?.size === 0) this.#entries = undefined
    return isDeleted
  }

  keys(): ReadonlyArray<K> {
    return [...(this.#entries?.keys() ?? [])]
  }

  values(): ReadonlyArray<V> {
    return [...(this.#entries?.values() ?? [])]
  }
}
