import { assert, describe, it } from "@effect/vitest"
import { byteRange } from "../../src/preview/ByteRange.ts"

describe("byteRange", () => {
  it("gives the one range that is asked for, as far as there are bytes", () => {
    const cases: ReadonlyArray<readonly [header: string, start: number, end: number]> = [
      ["bytes=0-0", 0, 0],
      ["bytes=2-5", 2, 5],
      ["bytes=9-", 9, 9],
      ["bytes=5-99", 5, 9],
      ["bytes=-3", 7, 9],
      ["bytes=-99", 0, 9]
    ]
    for (const [header, start, end] of cases)
      assert.deepStrictEqual(byteRange(header, 10), { start, end }, header)
  })

  it("asks for the whole where there is none, several, or one that cannot be served", () => {
    const headers = [
      undefined,
      "",
      "bytes=-",
      "bytes=10-",
      "bytes=5-4",
      "bytes=-0",
      "bytes=0-1,3-4",
      "lines=0-1",
      "bytes=a-b",
      "bytes=0x1-2",
      " bytes=0-1"
    ]
    for (const header of headers) assert.isUndefined(byteRange(header, 10), header)
    assert.isUndefined(byteRange("bytes=0-", 0))
    assert.isUndefined(byteRange("bytes=-1", 0))
  })
})
