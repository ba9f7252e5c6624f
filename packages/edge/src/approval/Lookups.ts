/**
 * File system lookups for one request. Each path is read once, up to a maximum number of lookups.
 *
 * Does not: see changes after the first lookup of a path. A value lives as long as the check of one request.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs"

/** The calls that lookups make. */
export interface FileSystem {
  readonly lstat: (path: string) => Stats | undefined
  readonly readlink: (path: string) => string
}

/** The file system of this machine. */
export const fileSystem: FileSystem = {
  lstat: (path) => lstatSync(path, { throwIfNoEntry: false }),
  readlink: (path) => readlinkSync(path)
}

/** Maximum number of calls per request. */
export const MAX_CALLS = 4_096

export class Lookups {
  /** Whether a lookup was refused because of the maximum. */
  isExhausted = false
  /** Number of calls so far. */
  calls = 0
  readonly #files: FileSystem
  readonly #stats = new Map<string, Stats | undefined>()
  readonly #links = new Map<string, string>()

  constructor(files: FileSystem) {
    this.#files = files
  }

  /** Throws if the path cannot be read, and beyond the maximum. */
  stats(path: string): Stats | undefined {
    const cached = this.#stats.get(path)
    if (cached !== undefined || this.#stats.has(path)) return cached
    this.#count()
    const found = this.#files.lstat(path)
    this.#stats.set(path, found)
    return found
  }

  /** Cached result of an earlier lookup. */
  cachedStats(path: string): Stats | undefined {
    return this.#stats.get(path)
  }

  /** Target of a link, as written. */
  linkAt(path: string): string {
    const cached = this.#links.get(path)
    if (cached !== undefined) return cached
    this.#count()
    const to = this.#files.readlink(path)
    this.#links.set(path, to)
    return to
  }

  #count(): void {
    this.isExhausted ||= this.calls >= MAX_CALLS
    if (this.isExhausted) throw new Error("Too much was looked up for one request.")
    this.calls++
  }
}
