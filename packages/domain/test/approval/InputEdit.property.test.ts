import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { inputChanges } from "../../src/approval/InputEdit.ts"

const json = Arbitrary.schema(Schema.fromJsonString(Schema.Unknown).pipe(Schema.toType))
const fields = Arbitrary.schema(
  Schema.Record(
    Schema.Literals(["command", "cwd", "files", "__proto__x"]),
    Schema.Union([Schema.String, Schema.Boolean, Schema.Null, Schema.Array(Schema.String)])
  )
)

describe("inputChanges", () => {
  it.prop("finds nothing between an input and its copy", [fields], ([input]) => {
    assert.deepStrictEqual(inputChanges(input, structuredClone(input)), [])
  })

  it.prop("gives changes that turn the requested input into the allowed one", [fields, fields], ([a, b]) => {
    const edited: Record<string, unknown> = { ...a }
    for (const { allowed, name } of inputChanges(a, b)) {
      if (Object.hasOwn(b, name)) edited[name] = allowed
      else delete edited[name]
    }
    assert.deepStrictEqual(edited, { ...b })
  })

  it.prop("treats an input that is not an object as one value", [json], ([value]) => {
    const changes = inputChanges({ command: "ls" }, [value])
    assert.deepStrictEqual(changes, [{ name: "", requested: { command: "ls" }, allowed: [value] }])
  })
})
