import { assert, describe, it } from "@effect/vitest"
import { matchesPath } from "../../src/approval/GrantRules.ts"

describe("matchesPath", () => {
  it.each([
    ["a.txt", ["a.txt"], ["b.txt", "a.txt/b", "sub/a.txt", "aXtxt", "A.txt"]],
    ["src/*", ["src/a"], ["src", "src/", "src/a/b", "src/.env", "a"]],
    ["src/**", ["src/a", "src/a/b"], ["src", "a", "src/.env", "src/.a/b", "src/a/.b"]],
    ["**/*.ts", ["a.ts", "x/y/a.ts"], ["a.js", ".x/a.ts"]],
    ["**", ["a", "a/b"], [".a", "a/.b"]],
    ["**/x/**", ["x/a", "a/x/b/c"], ["x", "a/b"]],
    ["?.txt", ["a.txt"], [".txt", "ab.txt", "/.txt"]],
    [".env*", [".env", ".env.local"], ["env"]],
    ["a[b](c)+", ["a[b](c)+"], ["ab", "abc"]]
  ])("%j fits %j and not %j", (pattern, fitting, others) => {
    for (const path of fitting) assert.isTrue(matchesPath(pattern, path), path)
    for (const path of others) assert.isFalse(matchesPath(pattern, path), path)
  })
})
