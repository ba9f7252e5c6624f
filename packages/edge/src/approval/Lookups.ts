/**
 * What the file system says about paths while one request is judged: each path is looked up once, and no more than a number of them.
 *
 * Does not: see what changes after the first look at a path. It lives as long as the judgement of one request.
 */
import { lstatSync, readlinkSync, type Stats } from "node:fs"

/** The calls that are made. */
export interface FileSystem {
  readonly lstat: (path: string) => Stats | undefined
  readonly readlink: (path: string) => string
}

/** The one of this machine. */
export const fileSystem: FileSystem = {
  lstat: (path) => lstatSync(path, { throwIfNoEntry: false }),
  readlink: (path) => readlinkSync(path)
}

/** Calls for one request. */
export const MAX_CALLS = 4_096

export class Lookups {
  /** A look was refused, because there were too many before it. */
  isExhausted = false
  /** Calls so far. */
  calls = 0
  readonly #files: FileSystem
  readonly #stats = new Map<string, Stats | undefined>()
  readonly #links = new Map<string, string>()

  constructor(files: FileSystem) {
    this.#files = files
  }

  /** Throws where the path cannot be looked up, and beyond the limit. */
  stats(path: string): Stats | undefined {
    const known = this.#stats.get(path)
    if (known !== undefined || this.#stats.has(path)) return known
    this.#count()
    const found = this.#files.lstat(path)
    this.#stats.set(path, found)
    return found
  }

  /** What an earlier look at a path found. */
  known(path: string): Stats | undefined {
    return this.#stats.get(path)
  }

  /** Where a link leads, as it is written. */
  linkAt(path: string): string {
    const known = this.#links.get(path)
    if (known !== undefined) return known
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
