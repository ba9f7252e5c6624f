import type { UsageReport, UsageSums } from "@corral/domain/usage/UsageReport"
import { assert, describe, it } from "@effect/vitest"
import { limitRows, usageTable } from "../../src/show/UsageTable.ts"

const sums = (fields: Partial<UsageSums>): UsageSums => ({
  runs: 1,
  liveRuns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  turns: 0,
  costUsd: 0,
  estimatedUsd: 0,
  runsWithoutCost: 0,
  ...fields
})

const linesOf = (rows: ReturnType<typeof usageTable>): ReadonlyArray<string> =>
  rows.map((row) =>
    row
      .map(({ text }) => text)
      .join("")
      .trimEnd()
  )

describe("usageTable", () => {
  it("has aligned columns, notes and a total, and no control characters", () => {
    const report: UsageReport = {
      from: "2026-11-01",
      to: "2026-11-30",
      by: ["agent", "model"],
      rows: [
        {
          agentId: "claude" as never,
          model: "big\u001b[31m",
          ...sums({ runs: 1_200, inputTokens: 1_234_567, outputTokens: 34_000, costUsd: 1_204.5 })
        },
        {
          agentId: "codex" as never,
          model: "模型",
          ...sums({ inputTokens: 800, outputTokens: 90, costUsd: 0.004, estimatedUsd: 0.004 })
        },
        { agentId: "copilot" as never, model: null, ...sums({ inputTokens: 5, runsWithoutCost: 1 }) }
      ],
      total: sums({
        runs: 1_202,
        inputTokens: 1_235_372,
        outputTokens: 34_090,
        costUsd: 1_204.504,
        estimatedUsd: 0.004,
        runsWithoutCost: 1
      })
    }
    assert.deepStrictEqual(linesOf(usageTable(report)), [
      "agent    model          runs  input  output       cost",
      "claude   big␛[31m      1,200   1.2M  34,000  $1,204.50",
      "codex    模型              1    800      90    $0.0040  $0.0040 estimated",
      "copilot  not reported      1      5       0          –  1 run without a price",
      "total                  1,202   1.2M  34,090  $1,204.50  $0.0040 estimated, 1 run without a price"
    ])
  })
})

describe("limitRows", () => {
  it("says what is used and reserved of each limit today", () => {
    const limits = {
      projectId: "prj_1" as never,
      timeZone: "Europe/Berlin",
      day: "2026-11-29",
      dayEndsAt: "2026-11-29T23:00:00.000Z",
      limits: []
    }
    assert.deepStrictEqual(limitRows({ ...limits, today: [] }), [])
    const rows = limitRows({
      ...limits,
      today: [
        {
          subject: "everyone",
          limit: { costUsd: 10, tokens: 2_000_000 },
          used: { costUsd: 8.5, tokens: 1_000 },
          reserved: { costUsd: 1, tokens: 0 },
          state: "near"
        },
        {
          subject: "usr_1" as never,
          name: "Ana",
          limit: { costUsd: 2 },
          used: { costUsd: 2.1, tokens: 5 },
          reserved: { costUsd: 0, tokens: 0 },
          state: "reached"
        }
      ]
    })
    assert.deepStrictEqual(linesOf(rows), [
      "limits of 2026-11-29 (Europe/Berlin)",
      "everyone  $8.50 of $10.00 used, $1.00 reserved; 1,000 of 2M tokens used",
      "Ana       $2.10 of $2.00 used"
    ])
  })
})
