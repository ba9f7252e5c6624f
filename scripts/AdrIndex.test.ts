import { assert, describe, it } from "@effect/vitest"
import { adrIndex, misplaced, recordOf, records } from "./AdrIndex.ts"

const all = records()

describe("decision records", () => {
  it("have one subject each, and their title begins with their number", () => {
    assert.deepStrictEqual(misplaced(all), [])
    for (const { file, number, title } of all) {
      assert.strictEqual(Number(file.slice(0, 4)), number)
      assert.notStrictEqual(title, file)
    }
  })

  it("are named by the earlier records that they change", () => {
    const wrong = all.flatMap(({ amendedBy, number }) => {
      const later = all.filter(({ amends }) => amends.includes(number)).map((record) => record.number)
      const differ = [
        ...later.filter((each) => !amendedBy.includes(each)),
        ...amendedBy.filter((each) => !later.includes(each))
      ]
      return differ.map((each) => `${number} and ${each}`)
    })
    assert.deepStrictEqual(wrong, [])
  })

  it("fail the index where a new one has no subject", () => {
    const added = recordOf("9999-new.md", "# 9999. A new decision\n\nStatus: accepted.\n\n## Context\n")
    assert.deepStrictEqual(misplaced([...all, added]), [9999])
    assert.throws(() => adrIndex([...all, added]), /9999/)
    assert.throws(() => adrIndex(all.slice(1)), /\b1\b/)
  })

  it("say in their status what they change, across lines and in several sentences", () => {
    const text = `# 12. Title

Status: accepted, November 2026. Changes the part of [ADR 2](0002-stores.md) about
files, and completes [3](0003-log.md). Uses [ADR 4](0004-run.md). Added to by [ADR 13](0013-a.md) and
[ADR 14](0014-b.md).

## Context

Changes [ADR 5](0005-node.md).
`
    const { amendedBy, amends } = recordOf("0012-title.md", text)
    assert.deepStrictEqual(
      [amends, amendedBy],
      [
        [2, 3],
        [13, 14]
      ]
    )
  })
})
