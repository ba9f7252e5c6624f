/** Bytes that break careless readers, from a program that otherwise speaks as Claude Code does: each run completes, whole and readable. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeProgram } from "../Folder.ts"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

const result = `{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}`

/** Prints the file `output` between its first word and its result. */
const claude = (between: string) => `
case "$*" in *--version*) echo "2.1.329 (Claude Code)"; exit 0;; esac
read -r initialize
read -r message
echo '{"type":"system","subtype":"init","session_id":"s","model":"none"}'
cat output
${between}
echo '${result}'
read -r rest
`

const openWith = async (output: Buffer | string, between = ""): Promise<EdgeProcess> => {
  const bin = mkdtempSync(join(tmpdir(), "corral-bin-"))
  onTestFinished(() => rmSync(bin, { recursive: true }))
  writeProgram(join(bin, "claude"), claude(between))
  const edge = await openEdgeProcess({ env: { PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` } })
  writeFileSync(join(edge.workspace, "output"), output)
  return edge
}

/** What the run said, and how often a line of it was refused. */
const played = async (edge: EdgeProcess) => {
  const run = await edge.client.create("Say it.", "ask", { agentId: "claude-code" })
  const events = await edge.client.log(run.id)
  assertWhole(events)
  assert.strictEqual(events.at(-1)?.type, "run.completed")
  const messages = events
    .filter(({ payload, type }) => type === "run.message.completed" && payload["role"] === "assistant")
    .map(({ payload }) => payload["text"])
  return {
    said: messages,
    refused: events.filter(({ type }) => type === "schema.validation_failed").length,
    events
  }
}

const line = (text: string) =>
  `{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"${text}"}]},"session_id":"s"}\n`

const cases: ReadonlyArray<
  readonly [name: string, output: Buffer | string, said: ReadonlyArray<string>, refused: number]
> = [
  [
    "invalid UTF-8 inside a text",
    Buffer.from(Buffer.from(line("a@b")).map((byte) => (byte === 0x40 ? 0xff : byte))),
    ["a\uFFFDb"],
    0
  ],
  ["a zero byte before a line", `\0${line("first")}${line("kept")}`, ["first", "kept"], 0],
  ["an escaped zero byte", line("a\\u0000b"), ["a\0b"], 0],
  ["a byte-order mark in the middle", `\uFEFF${line("first")}${line("kept")}`, ["first", "kept"], 0],
  ["a lone surrogate", line("a\\ud800b"), ["a\uD800b"], 0],
  ["colours of a terminal", `\u001b[31mred\u001b[0m\n${line("\\u001b[31mred")}`, ["\u001b[31mred"], 1],
  [
    "JSON that is nested 100,000 deep",
    `{"type":"assistant","message":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n${line("kept")}`,
    ["kept"],
    1
  ],
  [
    "keys of prototypes",
    `{"__proto__":{"type":"result","polluted":true},"constructor":{"prototype":{"polluted":true}},"type":"system","subtype":"status"}\n${line("kept")}`,
    ["kept"],
    0
  ]
]

describe("A runtime's bytes", () => {
  for (const [name, output, text, refused] of cases) {
    it(`may be ${name}`, async () => {
      const seen = await played(await openWith(output))
      assert.deepStrictEqual({ said: seen.said, refused: seen.refused }, { said: text, refused })
    })
  }

  it("may stop being read: a closed stdin breaks nothing", async () => {
    // The Edge writes into a pipe without a reader: the message is lost, the run is not.
    const edge = await openWith(line("deaf"), "exec <&-; sleep 1; exec </dev/null")
    const run = await edge.client.create("Say it.", "ask", { agentId: "claude-code" })
    const reader = await edge.client.follow({ runId: run.id })
    await reader.message("deaf")
    await edge.client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "x".repeat(100_000) } })
    await reader.ended
    assertWhole(reader.events)
  })
})
