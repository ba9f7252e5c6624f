import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import type { ProjectId } from "../../src/identity/Ids.ts"
import { MAX_LAST_CHOICES, mergedFields, withChoice } from "../../src/preference/ChangedPreferences.ts"
import { type PreferenceChanges, Preferences, readableFields } from "../../src/preference/Preferences.ts"

const nullable = <A>(value: fc.Arbitrary<A>) => fc.option(value, { freq: 3 })

const changes: fc.Arbitrary<PreferenceChanges> = fc.record(
  {
    theme: nullable(fc.constantFrom("system", "light", "dark")),
    language: nullable(fc.constantFrom("en", "zh")),
    singleKeys: nullable(fc.boolean()),
    notifications: nullable(fc.record({ browser: fc.boolean() }))
  },
  { requiredKeys: [] }
)

describe("Preferences", () => {
  it("has of each field what the last change with it says", () => {
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 12 }), (all) => {
        const merged = all.reduce((stored, each) => mergedFields(stored, each), { later: { kept: [1] } })
        const expected: Record<string, unknown> = { later: { kept: [1] } }
        for (const change of all)
          for (const [name, value] of Object.entries(change))
            if (value === null) delete expected[name]
            else expected[name] = value
        assert.deepStrictEqual({ ...merged }, expected)
      })
    )
  })

  it("reads a document of another version as far as this one has its fields", () => {
    const isPreferences = Schema.is(Preferences)
    const names = fc.constantFrom(...Object.keys(Preferences.fields), "later", "constructor")
    fc.assert(
      fc.property(fc.dictionary(names, fc.jsonValue()), changes, (stored, readable) => {
        const fields = readableFields({ ...stored, ...mergedFields({}, readable) })
        assert.isTrue(isPreferences({ version: 3, ...fields }))
        assert.deepInclude(fields, mergedFields({}, readable))
      })
    )
  })

  it("has one last choice per project, the last used first", () => {
    const project = fc
      .integer({ min: 10, max: 60 })
      .map((n) => `prj_01JBX0000000000000000000${n}` as ProjectId)
    fc.assert(
      fc.property(fc.array(project, { maxLength: 80 }), (used) => {
        const choices = used.reduce<ReturnType<typeof withChoice>>(
          (stored, projectId) => withChoice(stored, { projectId }),
          []
        )
        assert.deepStrictEqual(
          choices.map(({ projectId }) => projectId),
          [...new Set(used.toReversed())].slice(0, MAX_LAST_CHOICES)
        )
      })
    )
  })

  it("leaves room in the document for other preferences, also with long names", () => {
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 40 }), (models) => {
        const choices = models.reduce<ReturnType<typeof withChoice>>(
          (stored, model, n) => withChoice(stored, { projectId: `prj_${n}` as ProjectId, model }),
          []
        )
        assert.isAtMost(new TextEncoder().encode(JSON.stringify(choices)).length, 12_288)
        assert.strictEqual(choices[0]?.model, models.at(-1))
      })
    )
  })
})
