import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { jsonColumn, storedRows, Timestamp } from "../../src/store/StoredRows.ts"

const rows = storedRows(
  "tasks",
  Schema.Struct({
    id: Schema.String.check(Schema.isPattern(/^tsk_/)),
    state: Schema.Literals(["queued", "running"]),
    request: jsonColumn(
      Schema.Struct({ input: Schema.String, env: Schema.Record(Schema.String, Schema.Int) })
    ),
    created_at: Timestamp
  })
)

const created_at = new Date(0)
const request = JSON.stringify({ input: "fix it", env: { A: 1 } })
const stored = { id: "tsk_1", state: "queued", request, created_at } as const
const decoded = { ...stored, request: { input: "fix it", env: { A: 1 } } }

describe("Statements of the Hub", () => {
  it("return columns under their names, and decode them", () => {
    const source = fileURLToPath(new URL("../../src/", import.meta.url))
    const otherDialect = /\bsql<|\bAS "[a-z]+[A-Z]/
    assert.match("sql<{ readonly id: string }>`SELECT 1`", otherDialect)
    assert.match('SELECT target_id AS "targetId"', otherDialect)
    assert.deepStrictEqual(
      globSync("**/*.ts", { cwd: source }).filter((file) =>
        otherDialect.test(readFileSync(source + file, "utf8"))
      ),
      []
    )
  })
})

describe("storedRows", () => {
  it.effect("decodes every row, and drops columns that the codec does not name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rows.all(Effect.succeed([{ ...stored, extra: 1 }, stored])), [
        decoded,
        decoded
      ])
      assert.deepStrictEqual(yield* rows.all(Effect.succeed([])), [])
    })
  )

  it.effect("returns the first row, or undefined", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rows.first(Effect.succeed([stored, { id: "damaged" }])), decoded)
      assert.isUndefined(yield* rows.first(Effect.succeed([])))
    })
  )

  it.effect("passes on the failure of the statement", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(rows.all(Effect.fail("offline"))), "offline")
    })
  )

  const SECRET = "hunter2"
  const damaged: ReadonlyArray<readonly [column: string, row: object]> = [
    ["id", { ...stored, id: SECRET }],
    ["state", { ...stored, state: SECRET }],
    ["created_at", { ...stored, created_at: SECRET }],
    ["created_at", { id: "tsk_1", state: "queued", request }],
    ["request", { ...stored, request: `{"input": "${SECRET}` }],
    ["request.input", { ...stored, request: JSON.stringify({ input: [SECRET], env: {} }) }],
    ["request.env.*", { ...stored, request: JSON.stringify({ input: "", env: { [SECRET]: SECRET } }) }]
  ]
  it.effect.each(damaged)(
    "dies with table and column, without content, where %s is damaged or missing",
    ([column, row]) =>
      Effect.gen(function* () {
        for (const read of [
          Effect.asVoid(rows.all(Effect.succeed([row]))),
          Effect.asVoid(rows.first(Effect.succeed([row])))
        ]) {
          const exit = yield* Effect.exit(read)
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          const text = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
          assert.include(text, `StoredRowDamaged: A row of the table tasks is damaged. ${column}: `)
          assert.notInclude(text, SECRET)
        }
      })
  )
})
