/**
 * Map in the order of insertion, with versions: a change returns a new version and costs the same for every size.
 *
 * The newest version has the entries. An earlier one has the change that its successor made, and copies the entries when it is read.
 *
 * Guarantees: no version changes for its readers. As with `Map`, a key that is replaced keeps its place.
 * Does not: share entries between two successors of one version. That costs a copy, so a fold must continue with the newest version.
 */
interface Entry<V> {
  readonly value: V
  readonly place: number
}

interface Entries<K, V> {
  readonly byKey: Map<K, Entry<V>>
  nextPlace: number
}

/** The entry of a key before the next version. */
interface Change<K, V> {
  readonly key: K
  readonly before: Entry<V> | undefined
  readonly next: VersionedMap<K, V>
}

const nothing: ReadonlyMap<never, never> = new Map<never, never>()

export class VersionedMap<K, V> {
  readonly size: number
  /** Of the newest version, unless it is empty. */
  #entries: Entries<K, V> | undefined
  #change: Change<K, V> | undefined

  private constructor(entries: Entries<K, V> | undefined) {
    this.#entries = entries
    this.size = entries?.byKey.size ?? 0
  }

  static empty<K, V>(): VersionedMap<K, V> {
    return new VersionedMap<K, V>(undefined)
  }

  static of<K, V>(entries: Iterable<readonly [K, V]>): VersionedMap<K, V> {
    let map = VersionedMap.empty<K, V>()
    for (const [key, value] of entries) map = map.set(key, value)
    return map
  }

  has(key: K): boolean {
    return this.#read().has(key)
  }

  get(key: K): V | undefined {
    return this.#read().get(key)?.value
  }

  keys(): ReadonlyArray<K> {
    return [...this.#read().keys()]
  }

  values(): ReadonlyArray<V> {
    return this.first(this.size)
  }

  /** The first values. */
  first(count: number): ReadonlyArray<V> {
    const values: Array<V> = []
    for (const { value } of this.#read().values()) {
      if (values.length >= count) break
      values.push(value)
    }
    return values
  }

  entries(): ReadonlyArray<readonly [K, V]> {
    return [...this.#read()].map(([key, { value }]) => [key, value])
  }

  set(key: K, value: V): VersionedMap<K, V> {
    const entries = this.#ensureEntries()
    const before = entries.byKey.get(key)
    entries.byKey.set(key, { value, place: before?.place ?? entries.nextPlace++ })
    return this.#succeed(entries, key, before)
  }

  delete(key: K): VersionedMap<K, V> {
    const before = this.#read().get(key)
    if (before === undefined) return this
    // The entries stay with this version: an empty one needs none.
    if (this.size === 1) return VersionedMap.empty()
    const entries = this.#ensureEntries()
    entries.byKey.delete(key)
    return this.#succeed(entries, key, before)
  }

  #succeed(entries: Entries<K, V>, key: K, before: Entry<V> | undefined): VersionedMap<K, V> {
    const next = new VersionedMap(entries)
    // An empty version is often shared, and must not lead to all its successors.
    if (this.size > 0) {
      this.#entries = undefined
      this.#change = { key, before, next }
    }
    return next
  }

  #read(): ReadonlyMap<K, Entry<V>> {
    return this.size === 0 ? nothing : this.#ensureEntries().byKey
  }

  #ensureEntries(): Entries<K, V> {
    if (this.size === 0) return { byKey: new Map(), nextPlace: 0 }
    this.#entries ??= this.#copied()
    this.#change = undefined
    return this.#entries
  }

  /** The entries of the newest version without the changes since this one. */
  #copied(): Entries<K, V> {
    const changes: Array<Change<K, V>> = []
    let newest: Entries<K, V> | undefined
    for (let change = this.#change; change !== undefined; change = change.next.#change) {
      changes.push(change)
      newest = change.next.#entries
    }
    const byKey = new Map(newest?.byKey)
    for (const { before, key } of changes.toReversed()) {
      if (before === undefined) byKey.delete(key)
      else byKey.set(key, before)
    }
    const inOrder = [...byKey].toSorted(([, a], [, b]) => a.place - b.place)
    return { byKey: new Map(inOrder), nextPlace: (inOrder.at(-1)?.[1].place ?? -1) + 1 }
  }
}
