/**
 * What a run in place changed in the repository without an explanation, and what was there before, so that a person can put it back. Files in the
 * Edge's home, which no run sees. Also the contents of its small files.
 *
 * Guarantees: nothing is put back by itself, and only if the repository is still as the run left it.
 * Does not: bring back objects. What the run deleted cannot be named again.
 */
import { type Conflict, NotFound } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect } from "effect"
import {
  appendFileSync,
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { endNewRepository, startNewRepository } from "../workspace/WorkspaceRepository.ts"
import { smallFileBytes } from "../workspace/UntrustedFiles.ts"
import {
  type Move,
  type NamedChange,
  type RepositoryDifference,
  repositoryPlace,
  type RepositoryState,
  type ValueChange
} from "./RepositoryState.ts"
import { isContent, valueOfContent } from "./RepositoryFiles.ts"
import { restoreRepository } from "./RepositoryRestore.ts"

// Contents of small files of a repository, by their values, in one file. A start keeps some twenty of them, and to write as many files takes
// milliseconds.
//
// Guarantees: a content is complete or not there. A write that was cut off leaves a line that is not read.

/** A value, and the bytes in base64. */
type Line = readonly [value: string, content: string]

const linesOf = (text: string): ReadonlyArray<Line> => {
  try {
    // This program wrote the line.
    return [JSON.parse(text) as Line]
  } catch {
    return []
  }
}

export class KeptContents {
  readonly #path: string
  #values: Set<string> | undefined

  constructor(path: string) {
    this.#path = path
  }

  has(value: string): boolean {
    this.#values ??= new Set(this.#lines().map(([each]) => each))
    return this.#values.has(value)
  }

  add(contents: ReadonlyMap<string, Buffer>): void {
    if (contents.size === 0) return
    const lines = [...contents].map(([value, bytes]) => JSON.stringify([value, bytes.toString("base64")]))
    // The line before may have been cut off.
    appendFileSync(this.#path, `\n${lines.join("\n")}\n`, { mode: 0o600 })
    for (const value of contents.keys()) this.#values?.add(value)
  }

  of(value: string): Buffer | undefined {
    const content = this.#lines().find(([each]) => each === value)?.[1]
    return content === undefined ? undefined : Buffer.from(content, "base64")
  }

  #lines(): ReadonlyArray<Line> {
    try {
      return readFileSync(this.#path, "utf8").split("\n").flatMap(linesOf)
    } catch {
      // Nothing was kept.
      return []
    }
  }
}

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
  readonly #home: string
  readonly #runId: RunId
  readonly #contents: KeptContents

  /** `home`: the Edge's. */
  constructor(home: string, runId: RunId) {
    this.#home = home
    this.#runId = runId
    this.#file = join(home, "repositories", runId)
    this.#contents = new KeptContents(`${this.#file}.files`)
  }

  /** The run starts in a folder without a repository. */
  startNew(root: string): void {
    startNewRepository(this.#home, { root, runId: this.#runId })
  }

  /** The repository that the run may have made was reviewed. */
  endNew(): void {
    endNewRepository(this.#home, this.#runId)
  }

  /** Keeps a copy of the index and of the other files as they are now. */
  keep(root: string, { files, index }: RepositoryState): void {
    const place = repositoryPlace(root)
    if (place === undefined) return
    makeFolder(join(this.#file, ".."))
    this.#keepIndex(join(place.folder, "index"), index)
    const contents = new Map<string, Buffer>()
    for (const [name, value] of files) {
      if (!isContent(value) || contents.has(value) || this.#contents.has(value)) continue
      const bytes = smallFileBytes(join(place.common, name), MAX_FILE)
      if (bytes !== undefined && valueOfContent(bytes) === value) contents.set(value, bytes)
    }
    this.#contents.add(contents)
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
        content: (value) => this.#contents.of(value),
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

  #read(): RecordedChange | undefined {
    try {
      // This program wrote the file.
      return JSON.parse(readFileSync(`${this.#file}.json`, "utf8")) as RecordedChange
    } catch {
      return undefined
    }
  }
}
