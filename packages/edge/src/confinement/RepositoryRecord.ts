/**
 * What a run in place changed in the repository without an explanation, and what was there before, so that a person can put it back. Files in
 * the Edge's home, which no run sees.
 *
 * Guarantees: nothing is put back by itself, and only if the repository is still as the run left it.
 * Does not: bring back objects. What the run deleted cannot be named again.
 */
import { Conflict, NotFound } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import {
  copyFileSync,
  constants,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { git } from "../workspace/Git.ts"
import { isWholeRepository } from "../workspace/GitFolder.ts"
import { type RepositoryDifference, type RepositoryState, repositoryState } from "./RepositoryState.ts"

const TIME_LIMIT_MS = 60_000
const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

interface RecordedChange {
  /** The workspace's `.git`. */
  readonly repository: string
  readonly refs: ReadonlyArray<
    readonly [name: string, change: { readonly from?: string; readonly to?: string }]
  >
  readonly head?: { readonly from: string; readonly to: string }
  /** The index that the run left. */
  readonly index?: string
}

export class RepositoryRecord {
  readonly #file: string

  /** `home`: the Edge's. */
  constructor(home: string, runId: RunId) {
    this.#file = join(home, "repositories", runId)
  }

  /** Keeps a copy of the index as it is now. */
  keepIndex(repository: string): void {
    const source = join(repository, "index")
    makeFolder(join(this.#file, ".."))
    rmSync(`${this.#file}.index`, { force: true })
    try {
      copyFileSync(source, `${this.#file}.index`, constants.COPYFILE_FICLONE)
    } catch {
      // There is none, or it cannot be copied: then it cannot be put back.
    }
  }

  /** Adds a change to what the run has changed before. */
  add(repository: string, { head, index, refs }: RepositoryDifference): void {
    const earlier = this.#read()
    const merged = new Map(earlier?.refs)
    for (const [name, { from, to }] of refs) {
      const first = merged.has(name) ? merged.get(name)?.from : from
      merged.set(name, {
        ...(first === undefined ? {} : { from: first }),
        ...(to === undefined ? {} : { to })
      })
    }
    const change: RecordedChange = {
      repository,
      refs: [...merged],
      ...(earlier?.head === undefined && head === undefined
        ? {}
        : {
            head: { from: earlier?.head?.from ?? head?.from ?? "", to: head?.to ?? earlier?.head?.to ?? "" }
          }),
      ...(index === undefined && earlier?.index === undefined ? {} : { index: index ?? earlier?.index ?? "" })
    }
    makeFolder(join(this.#file, ".."))
    writeFileSync(`${this.#file}.new`, JSON.stringify(change), { mode: 0o600 })
    renameSync(`${this.#file}.new`, `${this.#file}.json`)
  }

  get hasChanges(): boolean {
    return existsSync(`${this.#file}.json`)
  }

  /** Removes everything. */
  remove(): void {
    for (const end of ["json", "new", "index"]) rmSync(`${this.#file}.${end}`, { force: true })
  }

  /** Puts back what the run changed. `program`: absolute path of git. */
  restore(program: string): Effect.Effect<void, NotFound | Conflict> {
    return Effect.gen({ self: this }, function* () {
      const change = this.#read()
      if (change === undefined)
        return yield* new NotFound({ message: "This run changed no refs and no index." })
      const now = repositoryState(change.repository)
      if (!isWholeRepository(change.repository) || !isAsLeft(change, now))
        return yield* new Conflict({
          message: "The repository has changed since the run. Nothing was put back.",
          details: { reason: "repository_changed" }
        })
      yield* git({
        program,
        cwd: change.repository,
        args: ["-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "--stdin"],
        env: { GIT_DIR: change.repository },
        stdin: Buffer.from(change.refs.map(updateOf).join("")),
        timeoutMs: TIME_LIMIT_MS
      }).pipe(
        Effect.andThen(Effect.try({ try: () => this.#restoreFiles(change), catch: String })),
        Effect.catch((cause) =>
          Effect.andThen(
            Effect.logWarning("failed to restore a repository", { cause: String(cause) }),
            Effect.fail(
              new Conflict({
                message: "Git refused to put back the repository. The commits may be gone.",
                details: { reason: "not_restored" }
              })
            )
          )
        )
      )
      this.remove()
    })
  }

  #read(): RecordedChange | undefined {
    try {
      // This program wrote the file.
      return JSON.parse(readFileSync(`${this.#file}.json`, "utf8")) as RecordedChange
    } catch {
      return undefined
    }
  }

  /** A lock of git's kind keeps other programs away. */
  #restoreFiles({ head, index, repository }: RecordedChange): void {
    if (head !== undefined) replaceLocked(join(repository, "HEAD"), Buffer.from(`${head.from}\n`))
    if (index === undefined) return
    const copy = `${this.#file}.index`
    if (existsSync(copy)) replaceLocked(join(repository, "index"), readFileSync(copy))
  }
}

const replaceLocked = (path: string, content: Buffer): void => {
  const temporary = `${path}.corral`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, content, { mode: 0o644, flag: "wx" })
  try {
    linkSync(temporary, `${path}.lock`)
    renameSync(`${path}.lock`, path)
  } finally {
    rmSync(temporary, { force: true })
  }
}

const isAsLeft = ({ head, index, refs }: RecordedChange, now: RepositoryState): boolean =>
  refs.every(
    ([name, { from, to }]) =>
      now.refs.get(name) === to && [from, to].every((id) => id === undefined || ID.test(id))
  ) &&
  (head === undefined || now.head === head.to) &&
  (index === undefined || now.index === index)

const updateOf = ([name, { from, to }]: RecordedChange["refs"][number]): string => {
  if (from === undefined) return to === undefined ? "" : `delete ${name} ${to}\n`
  return to === undefined ? `create ${name} ${from}\n` : `update ${name} ${from} ${to}\n`
}
