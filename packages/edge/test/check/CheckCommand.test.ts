/** The output of a check: its first line says that the shell has started, and is not shown. */
import { Redaction } from "@corral/redaction/Redaction"
import { assert, describe, it } from "@effect/vitest"
import { OutputEnd, STARTED } from "../../src/check/CheckCommand.ts"

const outputOf = (...chunks: ReadonlyArray<string>): OutputEnd => {
  const output = new OutputEnd()
  for (const chunk of chunks) output.push(Buffer.from(chunk))
  return output
}

const shown = (output: OutputEnd) => [output.hasStarted, output.shown(new Redaction()).output]

describe("OutputEnd", () => {
  it("hides the first line, also in pieces, and shows the same text later", () => {
    assert.deepStrictEqual(shown(outputOf(`${STARTED}\none\n`)), [true, "one\n"])
    assert.deepStrictEqual(shown(outputOf(STARTED.slice(0, 5), `${STARTED.slice(5)}\n`, "one\n")), [
      true,
      "one\n"
    ])
    assert.deepStrictEqual(shown(outputOf(`${STARTED}\n${STARTED}\n`)), [true, `${STARTED}\n`])
    assert.deepStrictEqual(shown(outputOf(`${STARTED}\n`)), [true, undefined])
  })

  it("says that the shell has not started", () => {
    assert.deepStrictEqual(shown(outputOf()), [false, undefined])
    assert.isFalse(outputOf(STARTED.slice(0, 5)).hasStarted)
    assert.isFalse(outputOf("mount: failed\n").hasStarted)
  })
})
