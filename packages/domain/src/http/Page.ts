/**
 * Pages of lists: the response, the page size and the cursor.
 *
 * A cursor is a position with a checksum of the position, the filter and the caller. The checksum detects mistakes: a damaged cursor, another
 * list, another caller. A cursor grants nothing: each page contains only what its caller may see.
 */
import { Effect, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import { RequestId } from "../identity/Ids.ts"

/** Schema of one page. `nextCursor` is null on the last page. */
export const page = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({ items: Schema.Array(item), nextCursor: Schema.NullOr(Schema.String), requestId: RequestId })

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200

/** Page size: 1 to 200, 50 by default. Other values are refused. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT })).pipe(
  Schema.withDecodingDefaultKey(Effect.succeed(DEFAULT_LIMIT))
)

/** Opaque text of at most 1,024 characters that continues a list. */
export const Cursor = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,1024}$/u, { expected: "a cursor from this list" })
)

/** Query of every list. */
export const listQuery = { cursor: Schema.optionalKey(Cursor), limit: Limit }

/** Binding of a cursor. `filter` is any canonical text of the list and its filters; `principal` identifies the caller. */
export interface CursorScope {
  readonly filter: string
  readonly principal: string
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** FNV-1a with 32 bits. Every step is a bijection, so texts of equal length that differ in one byte have different hashes. */
const fnv1a = (bytes: Uint8Array, offset: number): string => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, "0")
}

const SEAL_LENGTH = 16
const seal = (position: string, scope: CursorScope): string => {
  const bytes = bytesOf(JSON.stringify([position, scope.filter, scope.principal]))
  return fnv1a(bytes, 0x811c9dc5) + fnv1a(bytes, 0x2f0b4c47)
}

/** Cursor of the last row of a page. `position` is the key of the row, usually its id: at most 700 bytes, without U+0000. */
export const encodeCursor = (cursor: CursorScope & { readonly position: string }): string =>
  Base64Url.encode(seal(cursor.position, cursor) + cursor.position)

const invalidCursor = new SchemaValidationFailed({
  details: { issues: [{ path: "cursor", message: "Expected a cursor from this list" }] }
})

const decodeText = (cursor: string): string | undefined => {
  const bytes = Base64Url.decode(cursor)
  // Base64 has several spellings of the same bytes. Only the canonical one is valid.
  if (Result.isFailure(bytes) || Base64Url.encode(bytes.success) !== cursor) return undefined
  try {
    return textOf.decode(bytes.success)
  } catch {
    return undefined
  }
}

/** Position in a cursor. Fails if the cursor is damaged or belongs to another filter or principal. */
export const decodeCursor = (
  cursor: string,
  scope: CursorScope
): Result.Result<string, SchemaValidationFailed> => {
  const text = decodeText(cursor)
  if (text === undefined || text.length < SEAL_LENGTH) return Result.fail(invalidCursor)
  const position = text.slice(SEAL_LENGTH)
  // Some stores reject U+0000.
  return text.slice(0, SEAL_LENGTH) === seal(position, scope) && !position.includes("\0")
    ? Result.succeed(position)
    : Result.fail(invalidCursor)
}
