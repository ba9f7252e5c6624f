/** Generated actions: with the grant `confined`, nothing is allowed that the policy would have refused or can never remember. */
import { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/run/Run"
import { effort, tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { limitRequestSize, MAX_REQUEST } from "../../src/approval/Policy.ts"
import { Seeded } from "../harness/Seeded.ts"
import { grantable, hostile } from "./CommandLines.ts"
import { requestOf, tasks } from "./ConfinedTasks.ts"
import { all, policyOf, shell, verdictOn } from "./RunPolicies.ts"

const modes: ReadonlyArray<RunMode> = ["read_only", "plan", "ask", "auto_edit", "full_access"]
const withGrant = (mode: RunMode = "ask") => policyOf({ mode, hasConfinedGrant: () => true })
const isAllowed = (request: ApprovalRequest): boolean => verdictOn(withGrant(), request)._tag === "Allow"

/** Parts that always ask: they destroy, publish, leave the workspace or use the network. */
const riskyParts: readonly [string, ...ReadonlyArray<string>] = [
  "git push",
  "npm publish",
  "rm -rf .",
  "rm a",
  "git reset --hard",
  "git clean -fd",
  "git branch -D a",
  "git commit --amend -m a",
  "git update-ref -d HEAD",
  "git stash",
  "git gc",
  "git rm a",
  "curl a.example",
  "npm install",
  "cat ../a",
  "touch /etc/a",
  "tee .npmrc",
  "echo a > package.json",
  "mkdir .vscode",
  "sudo ls",
  "bash -c ls",
  "node -e 1",
  "eval a",
  "xargs rm",
  "find . -delete",
  "mv src lib",
  "cp -r a b",
  "tar xf a.tar",
  "touch .git/hooks/a",
  "make clean",
  "npm run release",
  "npm pkg set a=b",
  "unknown",
  "chmod +x a",
  "kill 1"
]
const harmlessParts: readonly [string, ...ReadonlyArray<string>] = [
  "npm test",
  "ls",
  "git status",
  "cat a.ts",
  "touch src/a.ts"
]
const joints: readonly [string, ...ReadonlyArray<string>] = [" && ", "; ", " | ", " || ", "\n", " & "]
const around: readonly [string, ...ReadonlyArray<string>] = [
  "#",
  "(#)",
  "{ #; }",
  "timeout 5 #",
  "! #",
  "CI=1 #",
  "if ls; then #; fi"
]

describe("The grant confined", () => {
  it.prop(
    "allows only what would have been asked about, and leaves every denial",
    [Arbitrary.schema(ApprovalRequest)],
    ([any]) => {
      const requested = { ...any, scopes: [...all] }
      for (const mode of modes) {
        const before = verdictOn(policyOf({ mode }), requested)
        const after = verdictOn(withGrant(mode), requested)
        if (before._tag !== "Ask" || mode !== "ask") assert.deepStrictEqual(after, before)
        else if (after._tag !== "Ask") assert.deepStrictEqual(after, { _tag: "Allow", by: "policy:confined" })
      }
    },
    tries(100)
  )

  it("asks about a program that is called like a member of every object", () => {
    for (const word of Object.getOwnPropertyNames(Object.prototype))
      for (const mode of modes)
        for (const line of [word, `${word} ${word}`, `git ${word} ${word}`, `npm ${word}`, `env ${word} a`]) {
          assert.isFalse(isAllowed(shell(line)), line)
          const verdict = verdictOn(withGrant(mode), shell(line))
          assert.deepStrictEqual(verdict, verdictOn(policyOf({ mode }), shell(line)), line)
        }
  })

  it("never allows what can never be remembered", () => {
    for (const line of hostile) assert.isFalse(isAllowed(shell(line)), line)
    const commands = [...grantable, ...Object.values(tasks).flat()]
    for (const line of commands.filter((line) => isAllowed(shell(line)))) {
      const { scopes } = policyOf().assess(shell(line)).request
      // A launcher of a program of the project is not remembered, because it may start another one.
      if (!/\b(npx|python3? -m)\b/.test(line)) assert.include(scopes, "always", line)
    }
  })

  it("asks about a line if one of its parts asks", () => {
    const random = new Seeded("parts that ask")
    let allowed = 0
    for (let round = 0; round < 2_000 * effort; round++) {
      const parts = Array.from({ length: random.whole(1, 4) }, () => random.pick(harmlessParts))
      const hasRisky = round % 2 === 0
      if (hasRisky) parts[random.whole(0, parts.length - 1)] = random.pick(riskyParts)
      const line = parts
        .map((part) => random.pick(around).replace("#", part))
        .reduce((sum, part) => `${sum}${random.pick(joints)}${part}`)
      const answer = isAllowed(shell(line))
      if (hasRisky) assert.isFalse(answer, line)
      else if (answer) allowed++
    }
    assert.isAbove(allowed, 100 * effort)
  })

  it("does not allow a request that is too large to be shown", () => {
    const { isWhole, refusal, request } = limitRequestSize({
      ...requestOf("npm test"),
      patch: "x".repeat(MAX_REQUEST)
    })
    assert.isDefined(refusal)
    const policy = withGrant()
    assert.strictEqual(policy.judge(policy.assess(request), isWhole)._tag, "Ask")
  })

  it.prop(
    "does not allow a file outside of the workspace or of Git, under any name",
    [Schema.String],
    ([name]) => {
      for (const file of [`../${name}`, `/etc/${name}`, `.git/${name}`, `.${name}`])
        assert.isFalse(isAllowed({ ...requestOf("edit a"), files: [file] }), file)
    },
    tries(100)
  )
})
