/** Scenes of changes that wait for a decision, as a run in its own worktree leaves them. */
import { draft } from "@corral/domain/run/RunEvent"
import { saysText } from "./InputScenes.ts"
import { ScriptedChanges, type ScriptedFile } from "./ScriptedChanges.ts"
import type { ScriptedHub } from "./ScriptedHub.ts"

export const hoursFile: ScriptedFile = {
  path: "src/hours.js",
  above: ["/** Opening hours of the shop. */", 'import { open } from "./open.js"', ""],
  hunks: [
    {
      start: 4,
      lines: [
        " export const weekdays = {",
        "   from: open(9),",
        "-  until: open(18),",
        "+  until: open(20),",
        "+  // Friday is as long as every other day.",
        "   lunch: undefined",
        " }"
      ]
    },
    {
      start: 31,
      lines: [
        " export const hoursOn = (date) => {",
        "-  return weekdays",
        "+  if (isHoliday(date)) return holidays",
        "+  return isSunday(date) ? closed : weekdays",
        " }"
      ]
    },
    { start: 60, lines: [" const table = [", "-  [1,2],", "+  [ 1, 2 ],", " ]"] }
  ]
}

const holidays: ScriptedFile = {
  path: "src/holidays.js",
  status: "added",
  whole: "added",
  hunks: [
    {
      start: 1,
      lines: [
        "+/** Public holidays, by their dates. */",
        '+export const holidays = ["2026-12-25", "2026-12-26"]',
        "+",
        "+export const isHoliday = (date) => holidays.includes(date)"
      ]
    }
  ]
}

export const files: ReadonlyArray<ScriptedFile> = [
  hoursFile,
  holidays,
  {
    path: "docs/old-hours.md",
    status: "deleted",
    whole: "deleted",
    hunks: [{ start: 1, lines: ["-# Hours", "-", "-The shop is open from 9 to 18."] }]
  },
  { path: "public/chart.png", status: "added", whole: "binary", binary: true },
  {
    path: ".githooks/pre-commit",
    status: "added",
    whole: "added",
    apart: ["protected_name", "new_program"],
    hunks: [{ start: 1, lines: ["+#!/bin/sh", "+npm test"] }]
  },
  {
    path: "config/keys.json",
    apart: ["secret"],
    hunks: [{ start: 2, lines: [" {", '-  "key": ""', '+  "key": "sk-live-4f9a"', " }"] }]
  }
]

export const conflictSides = {
  base: "export const weekdays = {\n  from: open(9),\n  until: open(18)\n}\n",
  workspace: "export const weekdays = {\n  from: open(8),\n  until: open(19)\n}\n",
  change: "export const weekdays = {\n  from: open(9),\n  until: open(20)\n}\n"
}

export const conflictRefusal = (path: string) => ({
  status: 409,
  code: "merge_conflict",
  details: {
    files: [
      { id: `chf_${Buffer.from(path).toString("hex").slice(0, 60).padEnd(20, "0")}`, path, ...conflictSides }
    ]
  }
})

/** An ended turn with changes to decide. */
export const openChanges = (hub: ScriptedHub, of: ReadonlyArray<ScriptedFile> = files): ScriptedChanges => {
  hub.run("Correct the opening hours.")
  hub.push(
    saysText("The shop is open until 20 now, and closed on public holidays."),
    draft("run.diff.ready", { files: of.length, additions: 11, deletions: 6 } as never),
    draft("run.completed", { resultText: "Done." } as never)
  )
  const changes = new ScriptedChanges(of)
  hub.changes = changes
  return changes
}
