/**
 * Contents as files, named by their hash: `ab/<sha256>` below one folder, 0600, each content once.
 *
 * Guarantees: a content is written under a temporary name, made durable, then renamed. A name has its whole content or does not exist.
 *
 * Does not: know rows. The caller of `removeUnnamed` says which contents are named, and since when a content may have a row in preparation.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdirSync, readdirSync, rmSync, statSync, unlinkSync, utimesSync } from "node:fs"
import { mkdir, open, rename, rm, statfs } from "node:fs/promises"
import { dirname, join } from "node:path"

export interface StoredContent {
  readonly sha256: string
  readonly size: number
}

/** What is hashed and written in one go: the event loop is never held for longer. */
const PIECE = 1_048_576

const contentName = /^[0-9a-f]{64}$/

export class ContentFiles {
  readonly #folder: string
  readonly #now: () => number

  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
    // What a predecessor was writing when it died.
    rmSync(this.#incoming, { recursive: true, force: true })
    mkdirSync(this.#incoming, { recursive: true, mode: 0o700 })
  }

  get #incoming(): string {
    return join(this.#folder, "incoming")
  }

  path(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256)
  }

  /** Bytes that the disk has left for an ordinary user. */
  async free(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#folder)
    return bavail * bsize
  }

  /** Succeeds when the content is on disk under its hash. */
  async write(bytes: Uint8Array): Promise<StoredContent> {
    const incoming = join(this.#incoming, randomUUID())
    try {
      const content = { sha256: await this.#writeTo(incoming, bytes), size: bytes.length }
      if (!this.#touch(content)) await this.#settle(incoming, this.path(content.sha256))
      return content
    } finally {
      await rm(incoming, { force: true })
    }
  }

  /** Removes that content unless it is named, or was asked for at `since` (Unix milliseconds) or later. */
  removeUnnamed(sha256: string, since: number, isNamed: (sha256: string) => boolean): void {
    const path = this.path(sha256)
    const stats = statSync(path, { throwIfNoEntry: false })
    // Check and removal are synchronous: no write can reuse the content in between.
    if (stats !== undefined && stats.mtimeMs < since && !isNamed(sha256)) unlinkSync(path)
  }

  /** The first two digits of the contents that are there. */
  prefixes(): ReadonlyArray<string> {
    return readdirSync(this.#folder).filter((name) => /^[0-9a-f]{2}$/.test(name))
  }

  contents(prefix: string): ReadonlyArray<string> {
    return readdirSync(join(this.#folder, prefix)).filter((name) => contentName.test(name))
  }

  async #writeTo(path: string, bytes: Uint8Array): Promise<string> {
    const hash = createHash("sha256")
    const file = await open(path, "wx", 0o600)
    try {
      for (let at = 0; at < bytes.length; at += PIECE) {
        const piece = bytes.subarray(at, at + PIECE)
        hash.update(piece)
        await file.writeFile(piece)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    return hash.digest("hex")
  }

  /** Marks a content that is there as asked for; false where it is not there whole. */
  #touch({ sha256, size }: StoredContent): boolean {
    const path = this.path(sha256)
    if (statSync(path, { throwIfNoEntry: false })?.size !== size) return false
    const now = new Date(this.#now())
    utimesSync(path, now, now)
    return true
  }

  async #settle(incoming: string, path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const now = new Date(this.#now())
    utimesSync(incoming, now, now)
    await rename(incoming, path)
    // The name, too, is on disk: in its folder, and its folder in ours.
    await syncFolder(dirname(path))
    await syncFolder(this.#folder)
  }
}

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
