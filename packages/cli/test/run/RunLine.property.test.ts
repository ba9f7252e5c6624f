import type { Run } from "@corral/domain/run/Run"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { formatRun } from "../../src/commands/runs.ts"
import { columnsOf, makePaint } from "../../src/terminal/Rows.ts"

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constant("语言".repeat(50))
)

const anyRun = fc
  .record({
    state: fc.constantFrom(...HubRunStatus.literals),
    paused: fc.constantFrom(true, undefined),
    agentId: anyText,
    workspace: anyText,
    text: anyText
  })
  .map(({ text, ...run }) => ({
    ...run,
    id: `run_${"0".repeat(26)}`,
    createdAt: "2026-11-23T07:21:33.000Z",
    input: { text }
    // Lists use these fields only.
  })) as fc.Arbitrary<unknown> as fc.Arbitrary<Run>

const now = Date.parse("2026-11-23T07:26:33.000Z")

describe("formatRun", () => {
  it("is never wider than the terminal, from 44 columns on", () => {
    fc.assert(
      fc.property(anyRun, fc.integer({ min: 44, max: 240 }), (run, width) => {
        const lines = formatRun(run, makePaint(false), width, now).split("\n")
        assert.strictEqual(lines.pop(), "")
        for (const line of lines) assert.isAtMost(columnsOf(line), width, JSON.stringify(line))
        assert.include(lines[0], run.id)
        const isPaused =
          run.paused === true && run.state !== "waiting_approval" && run.state !== "waiting_input"
        assert.include(lines.join("\n"), isPaused ? "paused" : run.state)
      })
    )
  })

  it("keeps one line with agent and workspace where the output is not a terminal", () => {
    const [run] = fc.sample(anyRun, 1)
    const plain = {
      ...run,
      state: "waiting_approval",
      agentId: "scripted",
      workspace: "site",
      input: { text: "say hello" }
    } as Run
    const text = formatRun(plain, makePaint(false), undefined, now)
    assert.match(text, /^run_0+ {2}\w+ +2026-11-2\d \d\d:\d1 {2}scripted in site {2}say hello\n$/)
  })

  it.each([
    ["bubblewrap", "scripted in site, confined  say hello"],
    ["seatbelt", "scripted in site, confined  say hello"],
    ["landlock", "scripted in site, files confined  say hello"],
    ["none", "scripted in site, not confined  say hello"]
  ] as const)("says whether the run is confined: %s", (kind, expected) => {
    const [run] = fc.sample(anyRun, 1)
    const plain = { ...run, agentId: "scripted", workspace: "site", input: { text: "say hello" } } as Run
    assert.include(formatRun({ ...plain, confinement: { kind } }, makePaint(false), undefined, now), expected)
  })
})
