/** Scenes of several agents on one task: two, and five that differ. */
import type { CheckResult } from "@corral/domain/run/Check"
import type { ScriptedFile } from "./ScriptedChanges.ts"
import type { ScriptedCandidate, ScriptedGroup } from "./ScriptedGroup.ts"
import { hoursFile } from "./ChangeScenes.ts"
import type { ScriptedHub } from "./ScriptedHub.ts"

export const prompt = "On public holidays the shop opens at 10 and closes at 14. Add that, and a test for it."

const check = (name: string, command: string, more: Partial<CheckResult>): CheckResult => ({
  name,
  command,
  state: "passed",
  durationMs: 8_200,
  exitCode: 0,
  output: "ok 1 - opens at 9 on weekdays\nok 2 - opens at 10 on public holidays\n\n# pass 2\n# fail 0\n",
  ...more
})

const failed: Partial<CheckResult> = {
  state: "failed",
  exitCode: 1,
  output:
    "ok 1 - opens at 9 on weekdays\nnot ok 2 - opens at 10 on public holidays\n  expected: 10\n  actual: 9\n\n# pass 1\n# fail 1\n"
}

const tests = (more: Partial<CheckResult> = {}) => check("tests", "npm test", more)
const lint = (more: Partial<CheckResult> = {}) =>
  check("lint", "npm run lint", { durationMs: 2_100, output: "", ...more })

const hours = (lines: ReadonlyArray<string>, more: ReadonlyArray<string> = []): ScriptedFile => ({
  path: "src/hours.js",
  hunks: [
    {
      start: 4,
      lines: [" export const weekdays = {", "   from: open(9),", "-  until: open(18),", ...lines, " }"]
    },
    ...(more.length === 0
      ? []
      : [{ start: 31, lines: [" export const hoursOn = (date) => {", "-  return weekdays", ...more, " }"] }])
  ]
})

const holidays = (from: string): ScriptedFile => ({
  path: "src/holidays.js",
  status: "added",
  whole: "added",
  hunks: [
    {
      start: 1,
      lines: [
        "+/** Public holidays, by their dates. */",
        `+export const holidays = ${from}`,
        "+",
        "+export const isHoliday = (date) => holidays.includes(date)"
      ]
    }
  ]
})

const changelog: ScriptedFile = {
  path: "CHANGELOG.md",
  hunks: [{ start: 3, lines: [" ## Pending", " ", "+- The shop opens at 10 on public holidays.", " "] }]
}

const testFile = (name: string): ScriptedFile => ({
  path: "test/hours.test.js",
  hunks: [
    {
      start: 12,
      lines: [" ", `+test("${name}", () => {`, '+  assert.equal(hoursOn("2026-12-25").from, 10)', "+})"]
    }
  ]
})

const two: ReadonlyArray<ScriptedCandidate> = [
  {
    label: "Claude Code",
    agentId: "claude",
    model: "opus-5",
    state: "completed",
    answer:
      "On public holidays the shop now opens at 10 and closes at 14. The dates are in `src/holidays.js`, and a test covers 25 December.",
    files: [
      hours(
        ["+  until: open(18),", "+  holidays: { from: open(10), until: open(14) },"],
        ["+  if (isHoliday(date)) return weekdays.holidays", "+  return weekdays"]
      ),
      holidays('["2026-12-25", "2026-12-26"]'),
      testFile("opens at 10 on public holidays"),
      changelog
    ],
    checks: [tests(), lint()],
    usage: { inputTokens: 41_200, outputTokens: 3_100, costUsd: 0.3412 },
    durationMs: 134_000
  },
  {
    label: "Codex",
    agentId: "codex",
    state: "completed",
    answer:
      "Holidays come from the library that the page already uses. One test still fails, because the library has no 2026 calendar.",
    files: [
      hours(["+  until: open(holiday ? 14 : 18),"], ["+  return isHoliday(date) ? holidayHours : weekdays"]),
      holidays('calendar.of("national")'),
      changelog
    ],
    checks: [tests(failed), lint()],
    usage: { inputTokens: 22_800, outputTokens: 1_900, costUsd: 0.0871 },
    durationMs: 71_000
  }
]

const five: ReadonlyArray<ScriptedCandidate> = [
  ...two,
  {
    label: "Claude Code",
    agentId: "claude",
    model: "sonnet-5",
    state: "completed",
    answer: "Added the holidays and their hours. I also renamed the test file.",
    files: [
      hours(
        ["+  until: open(18),", "+  holidays: { from: open(10), until: open(14) },"],
        ["+  if (isHoliday(date)) return weekdays.holidays", "+  return weekdays"]
      ),
      holidays("loadHolidays()"),
      changelog
    ],
    checks: [
      tests(),
      lint({ state: "failed", exitCode: 2, output: "src/holidays.js: 'loadHolidays' is not defined\n" })
    ],
    usage: { inputTokens: 18_300, outputTokens: 2_700, costUsd: 0.0623 },
    durationMs: 58_000
  },
  {
    label: "Gemini",
    agentId: "gemini",
    state: "completed",
    answer: "The opening hours on public holidays are 10 to 14.",
    files: [hours(["+  until: open(14),"]), changelog],
    checks: [
      tests({ state: "timed_out", durationMs: 120_000, output: "ok 1 - opens at 9 on weekdays\n" }),
      lint()
    ],
    usage: { inputTokens: 9_400, outputTokens: 800 },
    durationMs: 29_000
  },
  {
    label: "Qwen",
    agentId: "qwen",
    state: "completed",
    answer: "Done.",
    files: [holidays("[]"), changelog],
    checks: [
      tests({
        state: "unavailable",
        durationMs: 0,
        output: "",
        reason: "The check was not executed: the workspace is not confined."
      }),
      lint()
    ],
    usage: { inputTokens: 7_100, outputTokens: 600, costUsd: 0.0041 },
    durationMs: 41_000
  }
]

/** A session whose first turn is done, and a task for these agents. */
export const openGroup = (
  hub: ScriptedHub,
  candidates: ReadonlyArray<ScriptedCandidate> = two
): ScriptedGroup => {
  hub.run("Correct the opening hours.")
  hub.push({ type: "run.completed", payload: { resultText: "Done." } } as never)
  return hub.startGroup(prompt, candidates)
}

export const candidates = { two, five }

/** Three that are not done: one works, one waits, one has failed. */
export const inProgress: ReadonlyArray<ScriptedCandidate> = [
  two[0] ?? { label: "Claude Code", agentId: "claude", state: "waiting" },
  { label: "Codex", agentId: "codex", state: "running", usage: { inputTokens: 4_000, outputTokens: 200 } },
  { label: "Gemini", agentId: "gemini", state: "failed", durationMs: 31_000 },
  { label: "Qwen", agentId: "qwen", state: "waiting" }
]

/** The files of the review with a suggestion. */
export const reviewed = [hoursFile]
