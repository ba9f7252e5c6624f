/**
 * What a run in place changed in the repository without an explanation, and what was there before, so that a person can put it back. Files in
 * the Edge's home, which no run sees.
 *
 * Guarantees: nothing is put back by itself, and only if the repository is still as the run left it.
 * Does not: bring back objects. What the run deleted cannot be named again.
 */
import { type Conflict, NotFound } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import { copyFileSync, constants, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { smallFileBytes } from "../workspace/SmallFile.ts"
import type { Move, NamedChange, RepositoryDifference, ValueChange } from "./RepositoryDifference.ts"
import { isContent, valueOfContent } from "./RepositoryFiles.ts"
import { restoreRepository } from "./RepositoryRestore.ts"
import { repositoryPlace, type RepositoryState } from "./RepositoryState.ts"

/** Largest file whose content is kept. */
const MAX_FILE = 16_777_216

export interface RecordedChange {
  /** The workspace. */
  readonly root: string
  /** The run has made the repository. */
  readonly isMade: boolean
  readonly refs: ReadonlyArray<NamedChange>
  readonly files: ReadonlyArray<NamedChange>
  readonly head?: Move
  readonly index?: Move
}

/** The first value of the earlier changes, and the last one of the new changes. */
const merged = (
  earlier: ReadonlyArray<NamedChange> = [],
  changes: ReadonlyArray<NamedChange>
): ReadonlyArray<NamedChange> => {
  const found = new Map(earlier)
  for (const [name, { from, to }] of changes) {
    const first = found.has(name) ? found.get(name)?.from : from
    const change: ValueChange = {
      ...(first === undefined ? {} : { from: first }),
      ...(to === undefined ? {} : { to })
    }
    found.set(name, change)
  }
  return [...found]
}

const moved = (earlier: Move | undefined, change: Move | undefined): Move | undefined =>
  change === undefined ? earlier : { from: earlier?.from ?? change.from, to: change.to }

export class RepositoryRecord {
  readonly #file: string

  /** `home`: the Edge's. */
  constructor(home: string, runId: RunId) {
    this.#file = join(home, "repositories", runId)
  }

  /** Keeps a copy of the index and of the other files as they are now. */
  keep(root: string, { files, index }: RepositoryState): void {
    const place = repositoryPlace(root)
    if (place === undefined) return
    makeFolder(join(this.#file, ".."))
    this.#keepIndex(join(place.folder, "index"), index)
    for (const [name, value] of files) {
      const copy = this.#copyOf(value)
      if (!isContent(value) || existsSync(copy)) continue
      const bytes = smallFileBytes(join(place.common, name), MAX_FILE)
      if (bytes === undefined || valueOfContent(bytes) !== value) continue
      makeFolder(join(copy, ".."))
      writeFileSync(copy, bytes, { mode: 0o600 })
    }
  }

  /** Adds a change to what the run has changed before. */
  add(root: string, isMade: boolean, { files, head, index, refs }: RepositoryDifference): void {
    const earlier = this.#read()
    const [headMove, indexMove] = [moved(earlier?.head, head), moved(earlier?.index, index)]
    const change: RecordedChange = {
      root,
      isMade,
      refs: merged(earlier?.refs, refs),
      files: merged(earlier?.files, files),
      ...(headMove === undefined ? {} : { head: headMove }),
      ...(indexMove === undefined ? {} : { index: indexMove })
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
    for (const end of ["json", "new", "index", "files"])
      rmSync(`${this.#file}.${end}`, { recursive: true, force: true })
  }

  /** Puts back what the run changed. `program`: absolute path of git. */
  restore(program: string): Effect.Effect<void, NotFound | Conflict> {
    return Effect.suspend((): Effect.Effect<void, NotFound | Conflict> => {
      const change = this.#read()
      if (change === undefined)
        return Effect.fail(new NotFound({ message: "This run changed nothing in the repository." }))
      return restoreRepository(program, change, {
        content: (value) => this.#contentOf(value),
        index: smallFileBytes(`${this.#file}.index`, Number.MAX_SAFE_INTEGER)
      })
    }).pipe(Effect.andThen(Effect.sync(() => this.remove())))
  }

  #keepIndex(source: string, value: string): void {
    const copy = `${this.#file}.index`
    rmSync(copy, { force: true })
    if (value.startsWith("unread")) return
    try {
      copyFileSync(source, copy, constants.COPYFILE_FICLONE)
    } catch {
      // There is none, or it cannot be copied: then it cannot be put back.
    }
  }

  #copyOf(value: string): string {
    return join(`${this.#file}.files`, value.slice(1))
  }

  #contentOf(value: string): Buffer | undefined {
    return isContent(value) ? smallFileBytes(this.#copyOf(value), MAX_FILE) : undefined
  }

  #read(): RecordedChange | undefined {
    try {
      // This program wrote the file.
      return JSON.parse(readFileSync(`${this.#file}.json`, "utf8")) as RecordedChange
    } catch {
      return undefined
    }
  }
}
