/**
 * Copy of a JSON document that has, of some of its objects, the entry of one workspace only. The rest is copied as it is, without parsing it:
 * runtimes keep documents of many megabytes.
 *
 * Guarantees: the work is linear, and a step reads about 32 KiB. Fails with a `SyntaxError` if the parts of the document cannot be told from each
 * other.
 * Does not: check the values that it copies.
 */
import { Buffer } from "node:buffer"

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
