import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { editedLabel } from "../../src/run/EditedLabel.ts"

const fields = fc.constantFrom("command", "cmd", "path", "url")
const verbs = fc.constantFrom("Run ", "Write ", "Fetch ", "")
const texts = fc.string({ minLength: 1, maxLength: 400 })

describe("editedLabel", () => {
  it("names what was allowed, with the verb of the label, for every action", () => {
    fc.assert(
      fc.property(fields, verbs, texts, texts, (field, verb, requested, allowed) => {
        fc.pre(verb !== "" || !requested.endsWith("…"))
        const label = `${verb}${requested}`
        assert.strictEqual(
          editedLabel(label, { timeout: 5, [field]: requested }, { timeout: 5, [field]: allowed }),
          `${verb}${allowed}`
        )
      })
    )
  })

  it.each([
    [
      "a long label that was cut",
      "npm run bui…",
      { command: "npm run build" },
      { command: "npm ci" },
      "npm ci"
    ],
    ["a command of words", "Run ls", { command: ["ls"] }, { command: ["ls", "-l"] }, "Run ls -l"],
    ["an input without a target", "Run ls", { command: "ls" }, { timeout: 5 }, "Run ls"],
    ["a tool that the label names", "Use query of db", { query: "x" }, { query: "y" }, "Use query of db"]
  ])("keeps what it can of %s", (_, label, requested, allowed, expected) => {
    assert.strictEqual(editedLabel(label, requested, allowed), expected)
  })
})
