/** A storage of a browser with place for that many characters in an entry. */
export class MemoryStorage {
  readonly entries = new Map<string, string>()
  private readonly capacity: number

  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.capacity = capacity
  }

  get length(): number {
    return this.entries.size
  }
  key(index: number): string | null {
    return [...this.entries.keys()][index] ?? null
  }
  getItem(key: string): string | null {
    return this.entries.get(key) ?? null
  }
  removeItem(key: string): void {
    this.entries.delete(key)
  }
  setItem(key: string, value: string): void {
    if (value.length > this.capacity) throw new Error("QuotaExceededError")
    this.entries.set(key, value)
  }
  clear(): void {
    this.entries.clear()
  }
}
