/**
 * What of a runtime's state belongs to one workspace. Of files of conversations, in a run's private state or in the user's, a proof; a run may have
 * written the files. Of a JSON document that has entries of several workspaces, a copy with the entry of this one only. The rest is copied as it
 * is, without parsing it: runtimes keep documents of many megabytes.
 *
 * Guarantees: a file that names a workspace belongs to that one. Another file belongs to what the naming file of its conversation names. No link is
 * followed, and nothing is waited for. The work of a copy is linear, and a step reads about 32 KiB. It fails with a `SyntaxError` if the parts of
 * the document cannot be told from each other.
 * Does not: check the values that it copies.
 */
import type { ConversationFiles, JsonPath } from "@corral/domain/run/RuntimeFolders"
import { Buffer } from "node:buffer"
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import {
  entriesMatching,
  type PatternBindings,
  type PatternFacts,
  type StateEntry,
  StatePattern
} from "./StateFiles.ts"

const MAX_LINE = 1_048_576

/** The value of a member in the first line. */
const firstLineMember = (text: string, at: JsonPath): unknown => {
  try {
    return at.reduce<unknown>(
      (value, name) => (typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined),
      JSON.parse(text.split("\n", 1)[0] ?? "")
    )
  } catch {
    return undefined
  }
}

/** The start of a regular file; `undefined` if it is something else. */
const startOf = async (path: string): Promise<string | undefined> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined
  )
  if (file === undefined) return undefined
  try {
    if (!(await file.stat()).isFile()) return undefined
    const bytes = Buffer.alloc(MAX_LINE)
    const { bytesRead } = await file.read(bytes, 0, MAX_LINE, 0)
    return bytes.toString("utf8", 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Whether a file of a conversation says that it is of the workspace. */
export const namesWorkspace = async (
  path: string,
  { at, file }: NonNullable<ConversationFiles["workspace"]>,
  workspace: string
): Promise<boolean> => {
  if (at === undefined && file.includes("{workspace")) return true
  const text = await startOf(path)
  if (text === undefined) return false
  return (at === undefined ? text.trim() : firstLineMember(text, at)) === workspace
}

const isBound = (a: string | undefined, b: string | undefined): boolean =>
  a === undefined || b === undefined || a === b

const belongTogether = (a: PatternBindings, b: PatternBindings): boolean =>
  isBound(a.session, b.session) && isBound(a.project, b.project)

/** Whether a file below `root` belongs to the workspace. `isAccepted`: whether a file that names it counts. */
export const workspaceProof = async (
  root: string,
  { workspace: naming }: ConversationFiles,
  facts: PatternFacts,
  isAccepted: (entry: StateEntry) => Promise<boolean>
): Promise<(entry: StateEntry) => boolean> => {
  if (naming === undefined) return () => true
  const pattern = new StatePattern(naming.file, facts)
  const proofs = new Map<string, PatternBindings>()
  for (const entry of await entriesMatching(root, [pattern])) {
    const { bindings, path, stat } = entry
    const isNaming = stat.isFile() && (await namesWorkspace(join(root, path), naming, facts.workspace))
    if (isNaming && (await isAccepted(entry))) proofs.set(path, bindings)
  }
  return ({ bindings, path }) =>
    pattern.matches(path)
      ? proofs.has(path)
      : [...proofs.values()].some((proof) => belongTogether(proof, bindings))
}

export const STEP_BYTES = 32_768
/** A longer name is not that of a workspace. */
const MAX_NAME = 65_536

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

type Steps<A> = Generator<undefined, A, undefined>

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

class DocumentScan {
  at = 0
  #nextStep = STEP_BYTES
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get byte(): number | undefined {
    return this.#bytes[this.at]
  }

  *#paused(): Steps<void> {
    if (this.at < this.#nextStep) return
    this.#nextStep = this.at + STEP_BYTES
    yield
  }

  *space(): Steps<void> {
    while (isSpace(this.byte)) {
      this.at++
      yield* this.#paused()
    }
  }

  /** Reads one byte, and the space around it. */
  *expect(byte: number): Steps<void> {
    yield* this.space()
    if (this.byte !== byte) throw new SyntaxError(`unexpected byte at ${this.at}`)
    this.at++
    yield* this.space()
  }

  /** Reads a string. */
  *string(): Steps<void> {
    if (this.byte !== QUOTE) throw new SyntaxError(`no string at ${this.at}`)
    for (this.at++; this.byte !== QUOTE; this.at++) {
      if (this.byte === undefined) throw new SyntaxError("a string has no end")
      if (this.byte === BACKSLASH) this.at++
      if (this.at >= this.#nextStep) yield* this.#paused()
    }
    this.at++
  }

  /** Reads a value of any kind. */
  *value(): Steps<void> {
    const start = this.at
    let depth = 0
    for (;;) {
      const { byte } = this
      const isEnd = byte === undefined || byte === CLOSE || byte === CLOSE_LIST
      if (depth === 0 && this.at > start && (isEnd || byte === COMMA || isSpace(byte))) return
      if (byte === undefined || (depth === 0 && isEnd)) throw new SyntaxError(`no value at ${this.at}`)
      if (byte === QUOTE) yield* this.string()
      else this.at++
      if (byte === OPEN || byte === OPEN_LIST) depth++
      else if (byte === CLOSE || byte === CLOSE_LIST) depth--
      if (this.at >= this.#nextStep) yield* this.#paused()
    }
  }

  /** Reads an object. `member` reads a value, whose name starts at `start`. */
  *object(member: (name: string | undefined, start: number) => Steps<void>): Steps<void> {
    yield* this.expect(OPEN)
    while (this.byte !== CLOSE) {
      const start = this.at
      yield* this.string()
      const name = this.#nameAt(start)
      yield* this.expect(COLON)
      yield* member(name, start)
      yield* this.space()
      if (this.byte === CLOSE) break
      yield* this.expect(COMMA)
    }
    this.at++
    yield* this.space()
  }

  #nameAt(start: number): string | undefined {
    if (this.at - start > MAX_NAME) return undefined
    const name: unknown = JSON.parse(this.#bytes.toString("utf8", start, this.at))
    return typeof name === "string" ? name : undefined
  }
}

const joined = (parts: ReadonlyArray<Buffer>): Buffer => {
  const comma = Buffer.from(",")
  const separated = parts.flatMap((part, at) => (at === 0 ? [part] : [comma, part]))
  return Buffer.concat([Buffer.from("{"), ...separated, Buffer.from("}")])
}

/** The copy. `names`: members whose entries are those of workspaces. */
export function* forWorkspace(bytes: Buffer, names: ReadonlyArray<string>, workspace: string): Steps<Buffer> {
  const scan = new DocumentScan(bytes)
  yield* scan.space()
  if (scan.byte !== OPEN) return bytes
  const members: Array<Buffer> = []
  yield* scan.object(function* (name, start) {
    const valueAt = scan.at
    if (name === undefined || !names.includes(name) || scan.byte !== OPEN) {
      yield* scan.value()
      members.push(bytes.subarray(start, scan.at))
      return
    }
    const entries: Array<Buffer> = []
    yield* scan.object(function* (path, entryAt) {
      yield* scan.value()
      if (path === workspace) entries.push(bytes.subarray(entryAt, scan.at))
    })
    members.push(Buffer.concat([bytes.subarray(start, valueAt), joined(entries)]))
  })
  if (scan.byte !== undefined) throw new SyntaxError(`unexpected byte at ${scan.at}`)
  return joined(members)
}
