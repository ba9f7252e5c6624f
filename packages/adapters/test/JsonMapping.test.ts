/** A map finds what was printed, in a line of any depth, and nothing that a line's object only inherits. */
import { assert, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { replay } from "@corral/conformance/Replay"
import { makeJsonLines } from "../src/JsonMapping.ts"

const program = { label: "A program", command: ["program"], stdin: "none", install: "" } as const
const start = { prompt: "Do it.", mode: "full_access", workspacePath: "/workspace" } as const
const exit = { code: 0, signal: null, stderr: "" }

const textOf = (path: string, line: string): string | undefined => {
  const adapter = makeJsonLines({
    ...program,
    map: { type: "type", message: { when: ["said"], text: path } }
  })
  const outputs = replay(adapter, { start, exit }, [Buffer.from(`${line}\n`)])
  const outcome = outputs.find((output) => output._tag === "Outcome")?.outcome
  assert(outcome?._tag === "Completed")
  return outcome.text
}

it("finds a text at any depth, in objects and lists", () => {
  assert.strictEqual(textOf("text", '{"type":"said","text":"a"}'), "a")
  assert.strictEqual(textOf("data.text", '{"type":"said","data":{"text":"b"}}'), "b")
  assert.strictEqual(textOf("data.parts.1.text", '{"type":"said","data":{"parts":[{},{"text":"c"}]}}'), "c")
})

it("finds nothing where nothing was printed", () => {
  for (const path of ["text", "data.text", "data.0.text", "type.text", "type.length.text"])
    assert.isUndefined(textOf(path, '{"type":"said","data":null}'))
  for (const path of ["__proto__", "constructor.name", "toString", "data.__proto__.text", "data.at.name"])
    assert.isUndefined(textOf(path, '{"type":"said","data":[]}'))
})

it("takes an empty message for none", () => {
  assert.isUndefined(textOf("text", '{"type":"said","text":""}'))
})
