/**
 * Artifacts of runs. The content is a file named by its hash, `ab/<sha256>` in one folder, mode 0600, each content once; its description is a row.
 *
 * Guarantees: a content is written under a temporary name, made durable, then renamed: a name has its whole content or does not exist. A content is
 * on disk before its row, so a row always has its content. A crash may leave a content without a row; it is removed after the next start.
 *
 * Does not: interpret the content.
 */
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"
import { NotFound } from "@corral/domain/errors/Failures"
import type { ArtifactId, RunId } from "@corral/domain/identity/Ids"
import type { Artifact } from "@corral/domain/run/Artifact"
import { capped } from "@corral/domain/text/CappedPattern"
import { firstCharacters } from "@corral/domain/text/Cut"
import { mint } from "@corral/service/Identifiers"
import { makeFolder } from "@corral/service/MakeFolder"
import { NodeStream } from "@effect/platform-node"
import { Clock, Context, Data, Effect, Layer, Stream } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { createReadStream, readdirSync, rmSync, statSync, unlinkSync, utimesSync } from "node:fs"
import { open, rename, rm, statfs } from "node:fs/promises"
import { dirname, join } from "node:path"

interface StoredContent {
  readonly sha256: string
  readonly size: number
}

/** Chunk that is hashed and written at a time, so that the event loop is not blocked for longer. */
const PIECE = 1_048_576

const contentName = /^[0-9a-f]{64}$/

/** Contents as files named by their hash. */
class ContentFiles {
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

// Rows of artifacts: their descriptions without the content. Written in the transaction of the events that name them.

interface Row {
  readonly artifact: string
}

const insertArtifact = (artifact: Artifact): Write => [
  "INSERT INTO artifacts (id, run_id, sha256, artifact) VALUES (?, ?, ?, ?)",
  artifact.id,
  artifact.runId,
  artifact.sha256,
  JSON.stringify(artifact)
]

const deleteArtifactsOf = (runId: RunId): Write => ["DELETE FROM artifacts WHERE run_id = ?", runId]

// This program wrote the row from a value of type Artifact.
const parse = (row: Row): Artifact => parseStored<Artifact>(row.artifact, "artifact")

const findArtifact = (store: Store["Service"], id: ArtifactId): Artifact | undefined => {
  const row = store.get<Row>("SELECT artifact FROM artifacts WHERE id = ?", id)
  return row === undefined ? undefined : parse(row)
}

/** Up to `limit` artifacts after `after`, oldest first. */
const pageOfArtifacts = (
  store: Store["Service"],
  runId: RunId,
  after: string | undefined,
  limit: number
): ReadonlyArray<Artifact> =>
  store
    .all<Row>(
      "SELECT artifact FROM artifacts WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?",
      runId,
      after ?? "",
      limit
    )
    .map(parse)

/** The distinct hashes of a run's contents. */
const contentsOf = (store: Store["Service"], runId: RunId): ReadonlyArray<string> =>
  store
    .all<{ readonly sha256: string }>("SELECT DISTINCT sha256 FROM artifacts WHERE run_id = ?", runId)
    .map(({ sha256 }) => sha256)

/** Whether any artifact of any run has this content. */
const isNamed = (store: Store["Service"], sha256: string): boolean =>
  store.get("SELECT 1 FROM artifacts WHERE sha256 = ? LIMIT 1", sha256) !== undefined

/** An artifact to store. */
export interface NewArtifact {
  readonly runId: RunId
  readonly name: string
  /** The `Content-Type`; an invalid one becomes `application/octet-stream`. */
  readonly mediaType: string
  readonly content: string | Uint8Array
  /** ISO 8601. */
  readonly createdAt: string
}

/** An artifact whose content is on disk. It is visible once `row` is committed. */
export interface StoredArtifact {
  readonly artifact: Artifact
  readonly row: Write
}

/** The artifact could not be stored. The run continues without it. */
export class ArtifactNotStored extends Data.TaggedError("ArtifactNotKept")<{
  readonly reason: "too_large" | "disk_full" | "failed"
  readonly message: string
}> {}

/** Bytes from `start` to `end`, inclusive. */
export interface Part {
  readonly start: number
  readonly end: number
}

export interface ReadableArtifact {
  readonly artifact: Artifact
  /** Reads at the reader's pace, with up to 64 KiB in memory. */
  readonly bytes: (range?: Part) => Stream.Stream<Uint8Array>
}

export const MAX_ARTIFACT_BYTES = 52_428_800
/** Free space that stays for the log and other programs. */
const MIN_FREE_BYTES = 268_435_456

/** Time after which an unnamed content is deleted: much longer than from the content to the commit of its row. */
const PENDING_ROW_MS = 600_000

export interface ArtifactOptions {
  readonly home: string
  /** Minimum free space of the disk, in bytes. */
  readonly minFreeBytes?: number
}

export class Artifacts extends Context.Service<
  Artifacts,
  {
    /** Succeeds when the content is durable. The caller commits `row` together with the events that name the artifact. */
    readonly store: (artifact: NewArtifact) => Effect.Effect<StoredArtifact, ArtifactNotStored>
    readonly get: (id: ArtifactId) => Effect.Effect<Artifact, NotFound>
    /** Up to `limit` artifacts of a run after `after`, oldest first. */
    readonly page: (runId: RunId, after: string | undefined, limit: number) => ReadonlyArray<Artifact>
    readonly open: (id: ArtifactId) => Effect.Effect<ReadableArtifact, NotFound>
    /** Deletes a run's artifacts, then the contents that no other run has. */
    readonly forgetRun: (runId: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/artifact/Artifacts") {
  static readonly layer = (options: ArtifactOptions) => Layer.effect(Artifacts, make(options))
}

const make = Effect.fnUntraced(function* ({ home, minFreeBytes = MIN_FREE_BYTES }: ArtifactOptions) {
  const store = yield* Store
  const clock = yield* Clock.Clock
  const files = new ContentFiles(join(home, "artifacts"), () => clock.currentTimeMillisUnsafe())
  const named = (sha256: string): boolean => isNamed(store, sha256)

  // Contents from before this start have no pending row.
  const start = clock.currentTimeMillisUnsafe()
  const sweep = Effect.forEach(
    files.prefixes(),
    (prefix) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() =>
          files.contents(prefix).forEach((sha256) => files.removeUnnamed(sha256, start, named))
        )
      ),
    { discard: true }
  )
  yield* Effect.forkScoped(
    Effect.catchCause(sweep, (cause) => Effect.logWarning("failed to remove unused artifacts", cause))
  )

  const storeArtifact = Effect.fn("Artifacts.store")(function* ({
    runId,
    name,
    mediaType,
    content,
    createdAt
  }: NewArtifact) {
    const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content
    if (bytes.length > MAX_ARTIFACT_BYTES) return yield* notStored("too_large", "It is larger than 50 MiB.")
    const free = yield* attempt(() => files.free())
    if (free - bytes.length < minFreeBytes) return yield* notStored("disk_full", "The disk is nearly full.")
    const { sha256, size } = yield* attempt(() => files.write(bytes))
    const artifact: Artifact = {
      id: mint<ArtifactId>("art", clock.currentTimeMillisUnsafe()),
      runId,
      name: plainName(name),
      mediaType: mediaTypeShape.test(mediaType) ? mediaType : "application/octet-stream",
      size,
      sha256,
      createdAt
    }
    return { artifact, row: insertArtifact(artifact) }
  })

  const get = (id: ArtifactId): Effect.Effect<Artifact, NotFound> =>
    Effect.suspend(() => {
      const artifact = findArtifact(store, id)
      return artifact === undefined ? Effect.fail(new NotFound()) : Effect.succeed(artifact)
    })

  return Artifacts.of({
    store: storeArtifact,
    get,
    page: (runId, after, limit) => pageOfArtifacts(store, runId, after, limit),
    open: Effect.fn("Artifacts.open")(function* (id) {
      const artifact = yield* get(id)
      const path = files.path(artifact.sha256)
      // A missing file is reported before the response starts.
      if (statSync(path, { throwIfNoEntry: false })?.size !== artifact.size) return yield* new NotFound()
      return { artifact, bytes: (range) => read(path, artifact.size, range) }
    }),
    forgetRun: Effect.fn("Artifacts.forgetRun")(function* (runId) {
      const contents = contentsOf(store, runId)
      if (contents.length === 0) return
      // Rows first: after a crash there are contents without rows, which the next start deletes.
      yield* store.commit([deleteArtifactsOf(runId)])
      const since = clock.currentTimeMillisUnsafe() - PENDING_ROW_MS
      yield* Effect.sync(() => contents.forEach((sha256) => files.removeUnnamed(sha256, since, named)))
    })
  })
})

const notStored = (reason: ArtifactNotStored["reason"], message: string) =>
  Effect.fail(new ArtifactNotStored({ reason, message }))

const attempt = <A>(io: () => Promise<A>): Effect.Effect<A, ArtifactNotStored> =>
  Effect.tryPromise({
    try: io,
    catch: (cause) => {
      const { code, message } = cause as NodeJS.ErrnoException
      return new ArtifactNotStored({ reason: code === "ENOSPC" ? "disk_full" : "failed", message })
    }
  }).pipe(
    // A started write is completed: the sweep removes files, but does not close them.
    Effect.uninterruptible
  )

const read = (path: string, size: number, range?: Part): Stream.Stream<Uint8Array> =>
  // An empty range has no bytes: a stream to the byte before the first would read the first.
  size === 0
    ? Stream.empty
    : NodeStream.fromReadable<Uint8Array>({ evaluate: () => createReadStream(path, { ...range }) }).pipe(
        Stream.orDie
      )

/** RFC 9110 §8.3.1, with a simplified form of parameters. */
const mediaTypeShape = capped(
  2_048,
  /^[A-Za-z0-9!#$&^_.+-]{1,127}\/[A-Za-z0-9!#$&^_.+-]{1,127}( *; *[A-Za-z0-9!#$&^_.+-]{1,64}=[A-Za-z0-9!#$&^_.+-]{1,127}){0,4}$/
)

const MAX_NAME = 200

/** Valid name: one line, no path, no direction marks that would make it look like another name. */
const plainName = (name: string): string => {
  const plain = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\]+/gu, " ")
    .trim()
  const short = firstCharacters(plain, MAX_NAME)
  return /^\.*$/.test(short) ? "artifact" : short
}
