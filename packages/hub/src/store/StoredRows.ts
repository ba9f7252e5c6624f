/**
 * Decoding of stored rows. Each table has one codec, in the folder that owns the table: in the module that reads it, or in its own (`TaskRow`,
 * `DeviceRow`). Also the text that a column can store.
 *
 * Guarantees: a row that does not decode is a defect, since only Hubs write rows. It names the table and the column, never the content. A
 * decoder is compiled once per module. A row costs 0.2 to 2 µs, little next to its statement, so hot paths decode as well.
 * Does not use `SqlSchema`: its failures carry the content of the row, and it encodes requests, which are typed already.
 */
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { Effect, Result, Schema, SchemaIssue, SchemaParser } from "effect"

// Text of a runtime as a column can store it: PostgreSQL takes neither U+0000 nor half a surrogate pair.

export const storableText = (text: string): string => text.replaceAll("\0", "").toWellFormed()

type Statement<E, R> = Effect.Effect<ReadonlyArray<object>, E, R>

/** Decoder of the rows that a statement returns. */
export interface StoredRows<Row> {
  readonly all: <E, R>(statement: Statement<E, R>) => Effect.Effect<ReadonlyArray<Row>, E, R>
  /** The first row; `undefined` if there is none. */
  readonly first: <E, R>(statement: Statement<E, R>) => Effect.Effect<Row | undefined, E, R>
}

/** Decoder of one row. Throws `StoredRowDamaged`, so call it inside an effect. */
export const storedDecoder = <S extends Schema.ConstraintDecoder<unknown>>(
  table: string,
  row: S
): ((stored: object) => S["Type"]) => {
  const parse = SchemaParser.decodeUnknownResult(row)
  return (stored) => {
    const parsed = parse(stored)
    if (Result.isSuccess(parsed)) return parsed.success
    throw new StoredRowDamaged(table, parsed.failure)
  }
}

export const storedRows = <S extends Schema.ConstraintDecoder<unknown>>(
  table: string,
  row: S
): StoredRows<S["Type"]> => {
  const decode = storedDecoder(table, row)
  return {
    all: (statement) => Effect.map(statement, (rows) => rows.map(decode)),
    first: (statement) => Effect.map(statement, ([stored]) => stored && decode(stored))
  }
}

/** Defect: a row that no Hub has written in this form. */
export class StoredRowDamaged extends Error {
  override readonly name = "StoredRowDamaged"

  constructor(table: string, issue: SchemaIssue.Issue) {
    const details = issuesOf(issue).map(({ message, path }) => `${path}: ${message}`)
    super(`A row of the table ${table} is damaged. ${details.join(", ")}`)
  }
}

/** A `timestamptz` column, as PostgreSQL's client returns it. */
export const Timestamp = Schema.Date

/**
 * A `text` column that holds JSON. A declaration with a compiled parser takes less than half the time of `Schema.fromJsonString`; every push
 * reads two such columns.
 */
export const jsonColumn = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const parse = SchemaParser.decodeUnknownResult(schema)
  return Schema.declareConstructor<S["Type"], string>()(
    [],
    () => (text, ast) => {
      const json = typeof text === "string" ? parsedJson(text) : undefined
      if (json === undefined) return Effect.fail(new SchemaIssue.InvalidType(ast, text))
      return Effect.fromResult(parse(json.value))
    },
    { expected: "JSON" }
  )
}

const parsedJson = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
