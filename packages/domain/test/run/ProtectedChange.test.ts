import { assert, describe, it } from "@effect/vitest"
import {
  addProtectedChanges,
  MAX_LISTED_CHANGES,
  type ProtectedChange
} from "../../src/run/ProtectedChange.ts"

const file = (path: string): ProtectedChange => ({ path, change: "created" })

describe("addProtectedChanges", () => {
  it("adds the counts, lists the first changes, and keeps that names were left out", () => {
    const many = Array.from({ length: MAX_LISTED_CHANGES }, (_, at) => file(`.${at}`))
    const one = addProtectedChanges(undefined, { count: 1, files: [file("a")], incomplete: true })
    const both = addProtectedChanges(one, { count: 30, files: many })
    assert.strictEqual(both.count, 31)
    assert.lengthOf(both.files, MAX_LISTED_CHANGES)
    assert.deepStrictEqual(both.files[0], file("a"))
    assert.isTrue(both.incomplete)
  })
})
