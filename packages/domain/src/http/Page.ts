/**
 * Lists: the envelope, the page size and the cursor.
 *
 * A cursor is a position sealed with a fingerprint of the filter and the principal it was made for. The seal finds mistakes (a damaged
 * cursor, another list, another person); it is not an authority, so each page is still checked against what the principal may see.
 */
import { Effect, Result, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import { RequestId } from "../identity/Ids.ts"

/** One page: `nextCursor` is null when nothing follows. */
export const page = <Item extends Schema.Top>(item: Item) =>
  Schema.Struct({ items: Schema.Array(item), nextCursor: Schema.NullOr(Schema.String), requestId: RequestId })

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 200

/** Page size: 1 to 200, 50 when absent; outside is refused, never clamped. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_LIMIT })).pipe(
  Schema.withDecodingDefaultKey(Effect.succeed(DEFAULT_LIMIT))
)

/** Opaque to clients, at most 1,024 characters. */
export const Cursor = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,1024}$/u, { expected: "a cursor that this list gave out" })
)

/** The query of every list. */
export const listQuery = { cursor: Schema.optionalKey(Cursor), limit: Limit }

/** What a cursor is bound to. `filter` is any canonical text of the list and its filters; `principal` is who asks. */
export interface CursorScope {
  readonly filter: string
  readonly principal: string
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textOf = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** FNV-1a over 32 bits. Every step is a bijection, so texts of one length that differ in one byte never meet. */
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

/** A cursor for the row after which the next page starts. `position` is a keyset of at most 700 bytes without U+0000, an id as a rule. */
export const encodeCursor = (cursor: CursorScope & { readonly position: string }): string =>
  Base64Url.encode(seal(cursor.position, cursor) + cursor.position)

const refused = new SchemaValidationFailed({
  details: { issues: [{ path: "cursor", message: "Expected a cursor that this list gave out" }] }
})

const decodeText = (cursor: string): string | undefined => {
  const bytes = Base64Url.decode(cursor)
  // Base64 has several spellings of the same bytes; only ours counts.
  if (Result.isFailure(bytes) || Base64Url.encode(bytes.success) !== cursor) return undefined
  try {
    return textOf.decode(bytes.success)
  } catch {
    return undefined
  }
}

/** The position inside a cursor, or the 422 of a cursor that is damaged or belongs to another filter or principal. */
export const decodeCursor = (
  cursor: string,
  scope: CursorScope
): Result.Result<string, SchemaValidationFailed> => {
  const text = decodeText(cursor)
  if (text === undefined || text.length < SEAL_LENGTH) return Result.fail(refused)
  const position = text.slice(SEAL_LENGTH)
  // No position holds U+0000, which a store may choke on.
  return text.slice(0, SEAL_LENGTH) === seal(position, scope) && !position.includes("\0")
    ? Result.succeed(position)
    : Result.fail(refused)
}
