import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { DecideApproval } from "../../src/approval/Approval.ts"
import { EdgeCommand } from "../../src/link/EdgeCommand.ts"
import { CreatePreview } from "../../src/device/Preview.ts"
import { CreateRun } from "../../src/run/Run.ts"
import { Envelope } from "../../src/run/RunEvent.ts"
import { issuesOf } from "../../src/errors/ValidationIssues.ts"

const secret = "s3cr3t"

const schemas: Record<string, Schema.ConstraintDecoder<unknown>> = {
  CreateRun,
  DecideApproval,
  CreatePreview,
  Envelope,
  EdgeCommand,
  FromText: Schema.Struct({ at: Schema.FiniteFromString, when: Schema.DateTimeUtcFromString }),
  Refined: Schema.Struct({ a: Schema.String, b: Schema.String }).check(
    Schema.makeFilter(({ a, b }) => (a.includes(secret) ? `${a} is not ${b}` : undefined))
  )
}

/** A JSON value with the secret sown over it: as values, inside values, and as keys. */
const sow = (value: unknown, bits: number): unknown => {
  if (bits % 5 === 0) return secret
  if (Array.isArray(value)) return value.map((item, i) => sow(item, bits + i + 1))
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries([
      ...Object.entries(value).map(([key, inner], i) => [key, sow(inner, (bits >> 1) + i)]),
      ...(bits % 3 === 0 ? [[`key-${secret}`, bits]] : [])
    ])
  }
  return bits % 2 === 0 ? `${String(value)}${secret}` : value
}

const Bits = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 30 })))

describe("issuesOf", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    const sound = Arbitrary.schema(Schema.toEncoded(schema))
    it.prop(
      `never repeats what was sent as ${name}`,
      [sound, Arbitrary.schema(Schema.Json), Bits],
      ([body, json, bits]) => {
        const sown = [
          sow(body, bits),
          sow(json, bits),
          { ...(sow(body, bits + 1) as object), [secret]: secret }
        ]
        for (const input of sown) {
          const result = Schema.decodeUnknownResult(schema, {
            errors: "all",
            reportInput: true,
            onExcessProperty: "error"
          })(input)
          if (Result.isFailure(result)) {
            const issues = issuesOf(result.failure.issue)
            assert.isAbove(issues.length, 0)
            assert.notInclude(JSON.stringify(issues), secret)
          }
        }
      }
    )
  }

  it("says where and what", () => {
    const result = Schema.decodeUnknownResult(CreateRun, { errors: "all" })({
      workspace: "sample",
      agentId: "scripted",
      input: { text: "" },
      timeoutMs: 1,
      env: { TOKEN: 1 }
    })
    assert.deepStrictEqual(Result.isFailure(result) && issuesOf(result.failure.issue), [
      { path: "input.text", message: "Expected a value with a length of at least 1" },
      { path: "mode", message: "Required" },
      { path: "timeoutMs", message: "Expected a value between 1000 and 86400000" },
      { path: "env.*", message: "Expected string" }
    ])
  })
})
