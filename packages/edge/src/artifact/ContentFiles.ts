/**
 * Contents as files named by their hash: `ab/<sha256>` in one folder, mode 0600, each content once.
 *
 * Guarantees: a content is written under a temporary name, made durable, then renamed. A name has its whole content or does not exist.
 *
 * Does not: read rows. The caller of `removeUnnamed` provides the hashes that rows name, and the earliest time of pending rows.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { createHash, randomUUID } from "node:crypto"
import { readdirSync, rmSync, statSync, unlinkSync, utimesSync } from "node:fs"
import { open, rename, rm, statfs } from "node:fs/promises"
import { dirname, join } from "node:path"

export interface StoredContent {
  readonly sha256: string
  readonly size: number
}

/** Chunk that is hashed and written at a time, so that the event loop is not blocked for longer. */
const PIECE = 1_048_576

const contentName = /^[0-9a-f]{64}$/

export class ContentFiles {
  readonly #folder: string
  readonly #now: () => number

  constructor(folder: string, now: () => number) {
    this.#folder = folder
    this.#now = now
    // Temporary files of an earlier process.
    rmSync(this.#incoming, { recursive: true, force: true })
    makeFolder(this.#incoming)
  }

  get #incoming(): string {
    return join(this.#folder, "incoming")
  }

  path(sha256: string): string {
    return join(this.#folder, sha256.slice(0, 2), sha256)
  }

  /** Free space of the disk for an ordinary user, in bytes. */
  async free(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#folder)
    return bavail * bsize
  }

  /** Succeeds when the content is durable under its hash. */
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

  /** Deletes a content unless rows name it, or it was written at `since` (Unix milliseconds) or later. */
  removeUnnamed(sha256: string, since: number, isNamed: (sha256: string) => boolean): void {
    const path = this.path(sha256)
    const stats = statSync(path, { throwIfNoEntry: false })
    // Check and removal are synchronous: no write can reuse the content in between.
    if (stats !== undefined && stats.mtimeMs < since && !isNamed(sha256)) unlinkSync(path)
  }

  /** The first two digits of the stored contents' hashes. */
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

  /** Updates the time of a stored content; false if it is not stored completely. */
  #touch({ sha256, size }: StoredContent): boolean {
    const path = this.path(sha256)
    if (statSync(path, { throwIfNoEntry: false })?.size !== size) return false
    const now = new Date(this.#now())
    utimesSync(path, now, now)
    return true
  }

  async #settle(incoming: string, path: string): Promise<void> {
    makeFolder(dirname(path))
    const now = new Date(this.#now())
    utimesSync(incoming, now, now)
    await rename(incoming, path)
    // Makes the name durable too: in its folder, and the folder in its parent.
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
