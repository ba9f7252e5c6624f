import { assert, describe, it } from "@effect/vitest"
import {
  isSessionId,
  type PatternFacts,
  patternProblem,
  StatePattern
} from "../../src/confinement/StateFiles.ts"

const ID = "3f1c2a9e-0b7d-4c58-9a51-5d2f6f3e7a10"
const facts: PatternFacts = { workspace: "/home/u/my_app.x" }

const matches = (pattern: string, path: string, more: Partial<PatternFacts> = {}): boolean => {
  const compiled = new StatePattern(pattern, { ...facts, ...more })
  const names = path.split("/")
  let bindings = {}
  for (const [depth, name] of names.entries()) {
    const bound = compiled.match(depth, name, bindings)
    if (bound === undefined) return false
    bindings = bound
  }
  return names.length === compiled.length
}

describe("StatePattern", () => {
  it.each<[string, string, boolean]>([
    ["settings.json", "settings.json", true],
    ["settings.json", "settingsXjson", false],
    ["*.md", "CLAUDE.md", true],
    ["*.md", ".hidden.md", false],
    ["skills/*", "skills/.system", false],
    ["skills/*", "skills/a", true],
    ["skills/*", "skills/a/b", false],
    ["a/*", "a/..", false],
    ["{project}/x", "../x", false],
    ["{project}/x", ".git/x", false],
    ["projects/{workspace}/{session}.jsonl", `projects/-home-u-my-app-x/${ID}.jsonl`, true],
    ["projects/{workspace}/{session}.jsonl", `projects/-home-u-other/${ID}.jsonl`, false],
    ["projects/{workspace}/{session}.jsonl", "projects/-home-u-my-app-x/memory.jsonl", false],
    ["projects/{workspace}/{session}.jsonl", `projects/-home-u-my-app-x/${ID}.jsonl.sh`, false],
    [
      "sessions/--{workspace:slashes}--/*_{session}.jsonl",
      `sessions/--home-u-my_app.x--/t_${ID}.jsonl`,
      true
    ],
    ["sessions/{workspace:uri}/{session}", `sessions/%2Fhome%2Fu%2Fmy_app.x/${ID}`, true],
    ["chats/session-*-{session:8}.json*", "chats/session-2026-11-28T06-45-3f1c2a9e.jsonl", true],
    ["chats/session-*-{session:8}.json*", "chats/session-x-memory.json", false]
  ])("%s and %s: %s", (pattern, path, expected) => {
    assert.strictEqual(matches(pattern, path), expected)
  })

  it("has the files of one conversation only, if that is meant", () => {
    const [pattern, other] = ["s/{session}/{session:8}.json", ID.replace("3", "4")]
    assert.isTrue(matches(pattern, `s/${ID}/3f1c2a9e.json`, { session: ID }))
    assert.isFalse(matches(pattern, `s/${other}/4f1c2a9e.json`, { session: ID }))
  })

  it("shortens the name of a long workspace, as runtimes do", () => {
    const workspace = `/${"a".repeat(250)}`
    const name = `-${"a".repeat(199)}`
    assert.isTrue(matches("p/{workspace}/x", `p/${name}-1x9z/x`, { workspace }))
    assert.isFalse(matches("p/{workspace}/x", `p/${name}/x`, { workspace }))
  })

  it.each(["", "/a", "a//b", "../a", "a/./b", "a/{other}", "*a*b*"])("is not %j", (pattern) => {
    assert.isDefined(patternProblem(pattern))
  })

  it("knows which ids can be parts of a path", () => {
    assert.isTrue(isSessionId(ID, undefined))
    assert.isTrue(isSessionId("ses_1a2b3c4d5e", "token"))
    for (const id of ["memory", "../../../etc", "a/b", "", ".", "ses-without-digits"])
      for (const sessions of ["uuid", "token"] as const) assert.isFalse(isSessionId(id, sessions), id)
  })
})
