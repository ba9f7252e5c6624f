import { assert, describe, it } from "@effect/vitest"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { type PaletteContent, type PaletteItem, paletteSections } from "../../src/palette/paletteSections.ts"

const item = (key: string, title = key): PaletteItem => ({
  key,
  title,
  icon: "message",
  run: () => undefined
})
const result = (kind: SearchResult["kind"], sessionId: string, excerpt: string): SearchResult =>
  // Only these fields decide the section.
  ({ kind, sessionId, excerpt, at: "2026-06-09T00:00:00Z" }) as unknown as SearchResult

const content = (results: ReadonlyArray<SearchResult>): PaletteContent => ({
  local: {
    changes: [{ ...item("chs_1", "Fix hours"), words: "Changes to decide" }],
    sessions: [item("ses_1", "Fix hours"), item("ses_2", "Notes")],
    commands: [item("theme", "Dark theme")],
    runs: [item("run_1", "hours again")],
    projects: [],
    devices: [item("dev_1", "studio")]
  },
  results,
  itemOf: ({ excerpt, kind, sessionId }) => item(`${kind} ${sessionId}`, excerpt)
})

const summary = (query: string, results: ReadonlyArray<SearchResult> = []) =>
  paletteSections(query, content(results)).map(({ items, kind }) => [
    kind,
    ...items.map(({ title }) => title)
  ])

describe("paletteSections", () => {
  it("shows what waits, recent sessions and commands without a query", () => {
    assert.deepStrictEqual(summary(" "), [
      ["changes", "Fix hours"],
      ["recent", "Fix hours", "Notes"],
      ["commands", "Dark theme"]
    ])
  })

  it("groups what is found, and lists a loaded session once", () => {
    const results = [
      result("title", "ses_1", "Fix hours"),
      result("title", "ses_9", "Old hours"),
      result("message", "ses_2", "the hours are wrong"),
      result("prompt", "ses_2", "the hours are wrong"),
      result("files", "ses_2", "hours.js")
    ]
    assert.deepStrictEqual(summary("hours", results), [
      ["changes", "Fix hours"],
      ["sessions", "Fix hours", "Old hours"],
      ["threads", "the hours are wrong"],
      ["files", "hours.js"],
      ["runs", "hours again"]
    ])
  })

  it("finds changes by what they are", () => {
    assert.deepStrictEqual(summary("decide"), [["changes", "Fix hours"]])
  })

  it("is empty when nothing matches", () => {
    assert.deepStrictEqual(summary("zzz"), [])
  })
})
