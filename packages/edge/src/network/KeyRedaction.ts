/**
 * Keys in responses, replaced by asterisks of the same length, also across the chunks of a stream.
 *
 * Guarantees: bytes wait only while they may be the beginning of a key, so at most the length of a key.
 *
 * Does not: find a key in another encoding. Compressed responses to requests with a key are refused.
 */
import { Transform, type TransformCallback } from "node:stream"

const ASTERISK = 42

export class KeyRedaction extends Transform {
  readonly #keys: ReadonlyArray<Buffer>
  #waiting: Buffer = Buffer.alloc(0)

  constructor(keys: ReadonlyArray<string>) {
    super()
    this.#keys = keys.map((key) => Buffer.from(key))
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const bytes = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk])
    for (const key of this.#keys) {
      for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length))
        bytes.fill(ASTERISK, at, at + key.length)
    }
    const ready = bytes.length - this.#unfinished(bytes)
    this.#waiting = bytes.subarray(ready)
    done(null, bytes.subarray(0, ready))
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#waiting)
  }

  /** Length of the end that may be the beginning of a key. */
  #unfinished(bytes: Buffer): number {
    const longest = Math.max(0, ...this.#keys.map(({ length }) => length - 1))
    for (let length = Math.min(longest, bytes.length); length > 0; length--) {
      const end = bytes.subarray(bytes.length - length)
      if (this.#keys.some((key) => key.length > length && key.subarray(0, length).equals(end))) return length
    }
    return 0
  }
}

/** A header's value without keys. */
export const redactedHeader = <A extends number | string | ReadonlyArray<string> | undefined>(
  keys: ReadonlyArray<string>,
  value: A
): A | string | ReadonlyArray<string> => {
  const redact = (text: string) =>
    keys.reduce((rest, key) => rest.replaceAll(key, "*".repeat(key.length)), text)
  if (typeof value === "string") return redact(value)
  return Array.isArray(value) ? value.map((each: string) => redact(each)) : value
}
