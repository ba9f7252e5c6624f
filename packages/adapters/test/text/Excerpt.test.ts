import { assert, describe, it } from "@effect/vitest"
import { MAX_TITLE, beginningOf, endingOf, titleLine } from "../../src/text/FirstLine.ts"

describe.each(["", "x", "xy"])("a text of characters with two units after %j", (before) => {
  const text = before + "😀".repeat(400)

  it("has no half of one in its beginning, its end and its title", () => {
    for (let most = 1; most < 12; most++) {
      assert.isTrue(beginningOf(text, most).isWellFormed())
      assert.isTrue(endingOf(`${text} ${text}`, most + text.length).isWellFormed())
    }
    assert.isTrue(titleLine(text).isWellFormed())
    assert.isAtMost(titleLine(text).length, MAX_TITLE + 1)
  })
})
