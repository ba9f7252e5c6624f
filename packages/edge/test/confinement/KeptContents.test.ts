import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { KeptContents } from "../../src/confinement/RepositoryRecord.ts"
import { openFolder } from "../Folder.ts"

describe("KeptContents", () => {
  const contents = new Map([
    ["=a", Buffer.from([0, 255, 10, 34])],
    ["=b", Buffer.from("")]
  ])

  it("gives back what was added, also to a later Edge", () => {
    const path = join(openFolder(), "files")
    const record = new KeptContents(path)
    assert.isFalse(record.has("=a"))
    record.add(contents)
    for (const each of [record, new KeptContents(path)]) {
      assert.isTrue(each.has("=a") && each.has("=b"))
      for (const [value, bytes] of contents) assert.deepStrictEqual(each.of(value), bytes)
      assert.isUndefined(each.of("=c"))
    }
  })

  it("reads the whole contents of a file that was cut anywhere, and adds to it", () => {
    const path = join(openFolder(), "files")
    new KeptContents(path).add(contents)
    const whole = readFileSync(path)
    for (let at = 0; at <= whole.length; at++) {
      writeFileSync(path, whole.subarray(0, at))
      const record = new KeptContents(path)
      for (const [value, bytes] of contents)
        if (record.has(value)) assert.deepStrictEqual(record.of(value), bytes)
      record.add(contents)
      for (const [value, bytes] of contents)
        assert.deepStrictEqual(new KeptContents(path).of(value), bytes, `${at}`)
    }
  })
})
