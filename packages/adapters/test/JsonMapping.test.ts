/** A map finds what was printed, in a line of any depth, and nothing that a line's object only inherits. */
import { assert, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { replay } from "@corral/conformance/Replay"
import { spawnSync } from "node:child_process"
import { makeJsonLines } from "../src/JsonMapping.ts"
import type { JsonMap } from "../src/one-shot/MappedLines.ts"

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

const outputsOf = (map: JsonMap, ...lines: ReadonlyArray<object>) =>
  replay(makeJsonLines({ ...program, map }), { start, exit }, [
    Buffer.from(lines.map((each) => `${JSON.stringify(each)}\n`).join(""))
  ])

it("fails a result by the value of a field", () => {
  const map: JsonMap = {
    type: "type",
    toolCall: { when: ["call"], id: "id", name: "name" },
    toolResult: { when: ["result"], id: "id", failed: "status", failedWhen: ["error", "1"] }
  }
  for (const [status, expected] of [
    ["ok", "completed"],
    ["error", "failed"],
    [1, "failed"],
    [0, "completed"],
    [undefined, "completed"]
  ] as const) {
    const outputs = outputsOf(
      map,
      { type: "call", id: "c", name: "grep" },
      { type: "result", id: "c", ...(status === undefined ? {} : { status }) }
    )
    const results = outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.tool.result" ? [output.event.payload.status] : []
    )
    assert.deepStrictEqual(results, [expected])
  }
})

it("shows the diff of a changed file", () => {
  const map: JsonMap = { type: "type", fileChange: { when: ["file"], path: "path", patch: "diff" } }
  const patch = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-a\n+b\n"
  const types = outputsOf(map, { type: "file", path: "a.ts", diff: patch }).flatMap((output) =>
    output._tag === "Event" ? [output.event.type] : []
  )
  assert.includeMembers(types, ["run.patch.proposed", "run.file.changed"])
  const without = outputsOf(map, { type: "file", path: "a.ts", diff: "" })
  assert.isFalse(
    without.some((output) => output._tag === "Event" && output.event.type === "run.patch.proposed")
  )
})

it("gives a prompt on a stdin that a program can open by name", () => {
  const { bridge } = makeJsonLines({ ...program, stdin: "prompt", map: { type: "type" } }).command(start)
  const [shell = "", ...args] = bridge ?? []
  const { stdout } = spawnSync(shell, [...args, "/bin/cat", "/dev/stdin"], {
    input: "Do it.",
    encoding: "utf8"
  })
  assert.strictEqual(stdout, "Do it.")
})
