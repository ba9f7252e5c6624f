/**
 * Files of a run that become artifacts: those that its program puts into the folder that `CORRAL_ARTIFACTS` names, published after tool calls and
 * when its processes have ended, and those that a tool of the owner publishes from the run's folder.
 *
 * Guarantees: a name with a content is published once, also by a later Edge. A file that changes while it is read is published when it no longer
 * changes, at the latest at the end. Only regular files with one name are read. What is not published is said in a notice. A file that a tool
 * publishes is read from one opened file inside the folder; files of git and files that hold credentials are refused.
 *
 * Does not: read below subfolders, delete files, or take secrets out of contents.
 */
import { type Artifacts, MAX_ARTIFACT_BYTES, type StoredArtifact } from "../artifact/Artifacts.ts"
import { artifactsFolderIn } from "../process/ProgramFiles.ts"
import { pathBytes, pathText } from "../workspace/PathText.ts"
import { type FileFailure, fileMediaType, openInside } from "../workspace/WorkspaceFiles.ts"
import { type FailureOf, NotFound, Overloaded, PayloadTooLarge } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { MAX_PUBLISHED, type PublishArtifact } from "@corral/domain/run/Artifact"
import { firstCharacters } from "@corral/domain/text/Cut"
import { Clock, Effect, Latch, Semaphore } from "effect"
import { type BigIntStats, lstatSync, read, realpathSync } from "node:fs"
import { opendir } from "node:fs/promises"
import { basename, join } from "node:path"
import { promisify } from "node:util"

const readInto = promisify(read)

/** Reads as many bytes as the file had when it was opened, fewer if it has shrunk. */
const readAll = async (descriptor: number, size: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(size)
  let at = 0
  while (at < size) {
    const { bytesRead } = await readInto(descriptor, bytes, at, size - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes.subarray(0, at)
}

/** Stores the content. It is an artifact once the run has committed its row. `root`: real path of the run's folder. */
export const storeFile = Effect.fn("ProgramArtifacts.storeFile")(function* (
  artifacts: Artifacts["Service"],
  runId: RunId,
  root: string,
  { mediaType, name, path }: PublishArtifact,
  open: typeof openInside = openInside
): Effect.fn.Return<StoredArtifact, FileFailure | PayloadTooLarge | Overloaded> {
  const content = yield* open(root, path).pipe(
    Effect.flatMap(({ descriptor, stats }): Effect.Effect<Buffer, NotFound | PayloadTooLarge> => {
      if (!stats.isFile()) return Effect.fail(new NotFound({ message: "The path is not a file." }))
      return stats.size > MAX_ARTIFACT_BYTES
        ? Effect.fail(new PayloadTooLarge({ message: "The file is larger than 50 MiB." }))
        : // A started read is completed: the file closes after it.
          Effect.uninterruptible(
            Effect.tryPromise({ try: () => readAll(descriptor, stats.size), catch: () => new NotFound() })
          )
    }),
    Effect.scoped
  )
  const createdAt = new Date(yield* Clock.currentTimeMillis).toISOString()
  const artifact = {
    runId,
    name: name ?? basename(path),
    mediaType: mediaType ?? fileMediaType(path, content)
  }
  return yield* artifacts
    .store({ ...artifact, content, createdAt })
    .pipe(
      Effect.mapError(({ message, reason }) =>
        reason === "too_large" ? new PayloadTooLarge({ message }) : new Overloaded({ message })
      )
    )
})

/** What a look has found. */
export interface FoundArtifacts {
  readonly stored: ReadonlyArray<StoredArtifact>
  /** Sentences about files that are not published. */
  readonly notices: ReadonlyArray<string>
}

/** Takes what was found; false if the run cannot take it now. */
type Report = (found: FoundArtifacts) => boolean

/** Entries of the folder that are looked at. */
const MAX_ENTRIES = 1_000
/** Notices of one run. */
const MAX_NOTICES = 20
/** Artifacts of a run whose names and contents are compared. */
const MAX_COMPARED = 10_000

const reasons = {
  payload_too_large: "it is larger than 50 MiB",
  permission_denied: "it may hold credentials",
  overloaded: "it can't be stored now"
} as const

export class ProgramArtifacts {
  readonly #artifacts: Artifacts["Service"]
  readonly #runId: RunId
  readonly #temporary: string
  /** Takes secrets out of a name. */
  readonly #redact: (name: string) => string
  readonly #due = Latch.makeUnsafe(false)
  readonly #one = Semaphore.makeUnsafe(1)
  /** Last state of each file that was published, or that a notice has named. */
  readonly #seen = new Map<string, string>()
  /** Names and contents of the run's artifacts. */
  #published: Set<string> | undefined
  #notices = 0
  /** Files that were stored. One more than a run may publish tells the run that there are too many. */
  #count = 0

  constructor(
    artifacts: Artifacts["Service"],
    runId: RunId,
    temporary: string,
    redact: (name: string) => string
  ) {
    this.#artifacts = artifacts
    this.#redact = redact
    this.#runId = runId
    this.#temporary = temporary
  }

  /** A tool call has ended. */
  callEnded(): void {
    this.#due.openUnsafe()
  }

  /** Looks after tool calls. Never succeeds. */
  readonly follow = (report: Report): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        yield* this.#due.await
        this.#due.closeUnsafe()
        yield* this.look(report, false)
      }
    })

  /** Looks once. `isLast`: no process of the run is alive. */
  readonly look = (report: Report, isLast: boolean): Effect.Effect<void> =>
    this.#look(report, isLast).pipe(
      this.#one.withPermits(1),
      Effect.catchCause((cause) =>
        Effect.logWarning("failed to publish files of a run", { runId: this.#runId }, cause)
      )
    )

  #look(report: Report, isLast: boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { entries, problem } = yield* Effect.promise(() => entriesOf(this.#temporary))
      const stored: Array<StoredArtifact> = []
      const problems: Array<string> = []
      const states = new Map<string, string>()
      if (problem !== undefined && this.#seen.get("") !== problem) {
        problems.push(problem)
        states.set("", problem)
      }
      for (const { name, path, stats } of entries) {
        const state = stateOf(stats)
        if (this.#seen.get(name) === state) continue
        // Everything beyond the limit would be read and stored for nothing.
        if (stats.isFile() && this.#count + stored.length > MAX_PUBLISHED) {
          states.set(name, state)
          continue
        }
        const found = unfitReason(stats) ?? (yield* this.#store(name))
        const now = lstatSync(path, { bigint: true, throwIfNoEntry: false })
        if (!isLast && (now === undefined || stateOf(now) !== state)) continue
        if (found === undefined && now === undefined) continue
        states.set(name, state)
        if (typeof found === "object") {
          if (this.#isNew(found)) stored.push(found)
        } else
          problems.push(`${quoted(this.#redact(name))} is not published: ${found ?? "it can't be read"}.`)
      }
      const notices = this.#limited(problems)
      if (stored.length + notices.length > 0 && !report({ stored, notices })) return
      this.#notices += problems.length
      for (const [name, state] of states) this.#seen.set(name, state)
      this.#count += stored.length
      for (const one of stored) this.#published?.add(keyOf(one))
    })
  }

  /** The stored file, why it is not stored, or `undefined` for one that is gone or can't be read. */
  #store(name: string): Effect.Effect<StoredArtifact | string | undefined> {
    const folder = artifactsFolderIn(realpathSync(this.#temporary))
    return storeFile(this.#artifacts, this.#runId, folder, { path: name, name: this.#redact(name) }).pipe(
      Effect.catch(
        ({ code }: FailureOf<keyof typeof reasons | "not_found" | "workspace_outside_allowlist">) =>
          Effect.succeed(code in reasons ? reasons[code as keyof typeof reasons] : undefined)
      )
    )
  }

  #isNew(one: StoredArtifact): boolean {
    this.#published ??= new Set(
      this.#artifacts.page(this.#runId, undefined, MAX_COMPARED).map((artifact) => keyOf({ artifact }))
    )
    return !this.#published.has(keyOf(one))
  }

  /** As many as the run may still have, and then one about all others. */
  #limited(problems: ReadonlyArray<string>): ReadonlyArray<string> {
    const room = MAX_NOTICES - this.#notices
    if (problems.length <= room) return problems
    return room < 0 ? [] : [...problems.slice(0, room), "Further files of the run are not published."]
  }
}

interface Entry {
  readonly name: string
  readonly path: Buffer
  readonly stats: BigIntStats
}

/** Entries of the folder, by name. A program may have replaced the folder itself. */
const entriesOf = async (
  temporary: string
): Promise<{ readonly entries: ReadonlyArray<Entry>; readonly problem?: string }> => {
  const folder = artifactsFolderIn(temporary)
  const status = lstatSync(folder, { throwIfNoEntry: false })
  if (status === undefined) return { entries: [] }
  if (!status.isDirectory())
    return { entries: [], problem: "The folder for artifacts was replaced. Nothing of it is published." }
  const entries: Array<Entry> = []
  try {
    // A name is bytes. The option's type has no word for them.
    for await (const { name: bytes } of await opendir(folder, { encoding: "buffer" as BufferEncoding })) {
      if (entries.length === MAX_ENTRIES)
        return {
          entries,
          problem: `The folder for artifacts has more than ${MAX_ENTRIES} entries. Others are not published.`
        }
      const name = pathText(Buffer.from(bytes))
      const path = pathBytes(join(folder, name))
      const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
      if (stats !== undefined) entries.push({ name, path, stats })
    }
  } catch {
    return { entries, problem: "The folder for artifacts can't be read." }
  }
  return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
}

const stateOf = ({ ctimeNs, ino, mtimeNs, size }: BigIntStats): string =>
  [ino, size, mtimeNs, ctimeNs].join(" ")

/** Why an entry is not read: a link could lead to what the run cannot read itself. */
const unfitReason = (stats: BigIntStats): string | undefined => {
  if (stats.isSymbolicLink()) return "it is a link"
  if (stats.isDirectory()) return "it is a folder"
  if (!stats.isFile()) return "it is not a regular file"
  return stats.nlink > 1n ? "it is a link" : undefined
}

const keyOf = ({ artifact: { name, sha256 } }: Pick<StoredArtifact, "artifact">): string =>
  `${sha256} ${name}`

/** A name for people. A program has chosen it. */
const quoted = (name: string): string => JSON.stringify(firstCharacters(name.toWellFormed(), 100))
