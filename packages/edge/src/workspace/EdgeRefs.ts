/**
 * Refs that the Edge has written in repositories of workspaces, one file for each run, in the Edge's home. A watch over a repository takes every
 * other value of such a ref as a change, regardless of its name.
 *
 * Guarantees: a value is recorded before git writes it, and the earlier one counts until git has. So a crash in between causes no false report. The
 * record of a removed worktree stays until its run is forgotten.
 * Does not: know the refs of another Edge.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { folderEntries } from "./UntrustedFiles.ts"

/** Values that a ref may have. The empty one means that it does not exist. */
export type RefValues = ReadonlyArray<string>

interface RefRecord {
  /** The workspace's `.git`. */
  readonly repository: string
  readonly refs: Readonly<Record<string, RefValues>>
}

/** Values of one ref until git has written one of them. */
const MAX_VALUES = 8
const FOLDER = "edge-refs"

/** `checkout`: folder of the worktree in the Edge's home. */
const recordOf = (checkout: string): string =>
  join(dirname(dirname(checkout)), FOLDER, `${basename(checkout)}.json`)

const read = (file: string): RefRecord | undefined => {
  try {
    // This program wrote the file.
    return JSON.parse(readFileSync(file, "utf8")) as RefRecord
  } catch {
    return undefined
  }
}

/** The record of one worktree. */
export class EdgeRefRecord {
  readonly #file: string
  readonly #repository: string

  /** `checkout`: folder of the worktree in the Edge's home. `repository`: the workspace's `.git`. */
  constructor(checkout: string, repository: string) {
    this.#file = recordOf(checkout)
    this.#repository = repository
  }

  /** Before git writes `value` to a ref that has `earlier`. */
  announce(name: string, value: string, earlier: string): void {
    const values = read(this.#file)?.refs[name] ?? []
    this.#write(name, [...new Set([...values, earlier, value])].slice(-MAX_VALUES))
  }

  /** Git has written the value. */
  confirm(name: string, value: string): void {
    this.#write(name, [value])
  }

  #write(name: string, values: RefValues): void {
    const record: RefRecord = {
      repository: this.#repository,
      refs: { ...read(this.#file)?.refs, [name]: values }
    }
    makeFolder(dirname(this.#file))
    writeFileSync(`${this.#file}.new`, JSON.stringify(record), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
  }
}

/** Removes the record of a worktree. */
export const forgetEdgeRefs = (checkout: string): void => {
  for (const end of ["", ".new"]) rmSync(`${recordOf(checkout)}${end}`, { force: true })
}

/** All records of an Edge, for one watch. A record that has not changed is not read again. */
export class EdgeRefs {
  readonly #folder: string
  #read: ReadonlyMap<string, { readonly stamp: string; readonly record: RefRecord | undefined }> = new Map()

  /** `home`: the Edge's. */
  constructor(home: string) {
    this.#folder = join(home, FOLDER)
  }

  /** The refs of the repository, a `.git`, by their full names. */
  of(repository: string): ReadonlyMap<string, RefValues> {
    const found = new Map<string, RefValues>()
    const now = new Map<string, { readonly stamp: string; readonly record: RefRecord | undefined }>()
    for (const { name } of folderEntries(this.#folder)) {
      const file = join(this.#folder, name)
      const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false })
      if (!name.endsWith(".json") || stat === undefined) continue
      const stamp = `${stat.ino} ${stat.ctimeNs}`
      const earlier = this.#read.get(name)
      const current = earlier?.stamp === stamp ? earlier : { stamp, record: read(file) }
      now.set(name, current)
      if (current.record?.repository !== repository) continue
      for (const [ref, values] of Object.entries(current.record.refs)) found.set(ref, values)
    }
    this.#read = now
    return found
  }
}
