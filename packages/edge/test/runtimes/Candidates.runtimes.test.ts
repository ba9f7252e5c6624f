/**
 * Claude Code and Codex as candidates for one task, on a repository with a failing test: they begin with the same files, the check says which of them
 * has fixed it, its change is accepted, and the other one hears what was rejected, with a suggestion.
 */
import type { ChangeSetPage } from "@corral/domain/edge-api/ChangeSet"
import type { RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import type { CheckResult } from "@corral/domain/run/Check"
import { mint } from "@corral/service/Identifiers"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { commitAll, repository } from "../workspace/Repository.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install, type Installed } from "./Installation.ts"
import { LayerChanges } from "./LayerChanges.ts"
import { type Program, programs } from "./Programs.ts"
import { promptFor, reworkOf } from "./Script.ts"
import { Stage } from "./Stage.ts"

const SOURCE = "sum.mjs"
const lineOf = (result: string): string => `  return ${result}`
const sourceOf = (result: string): string => `export const sum = (a, b) => {\n${lineOf(result)}\n}\n`
const TEST = `import { sum } from "./sum.mjs"
const found = sum(2, 3)
console.log("2 and 3 are " + found)
if (found !== 5) process.exit(1)
`
const CHECKS = [{ name: "test", command: "node test.mjs" }]

const fillRepository = (root: string): void => {
  repository(root)
  writeFileSync(join(root, SOURCE), sourceOf("a - b"))
  writeFileSync(join(root, "test.mjs"), TEST)
  commitAll(root)
}

const programNamed = (name: string): Program =>
  programs.find((program) => program.name === name) ?? assert.fail(`there is no ${name}`)

const places = [await install(programNamed("Claude Code")), await install(programNamed("Codex"))] as const
const missing = places.map((place) => place.missing).find((each) => each !== undefined)

/** Both programs, as one of them is installed. */
const both = ([one, other]: readonly [Installed, Installed]): Installed => ({
  ...one,
  bin: `${one.bin}:${other.bin}`,
  program: {
    ...one.program,
    settle: (place) => ({ ...one.program.settle(place), ...other.program.settle(place) })
  }
})

/** What the model does for the one task. The models of the candidates differ. */
const fixWith = (result: string): string =>
  promptFor("rework", reworkOf({ read: SOURCE }, { file: SOURCE, old: lineOf("a - b"), new: lineOf(result) }))

const allow = () => "allow" as const

describe.skipIf(!canConfine || missing !== undefined)("Claude Code and Codex", { timeout: 600_000 }, () => {
  if (missing !== undefined) console.log(`Candidates are skipped: ${missing}`)

  it("are candidates, and the check says which one fixed the test", async () => {
    const stage = await Stage.open(both(places), "claude-code", RIGHT_KEY, {
      confinement: "required",
      prepare: ({ workspace }) => fillRepository(workspace)
    })
    onTestFinished(() => stage.close())
    const changes = new LayerChanges(stage)
    const groupId = mint<TaskGroupId>("tgr", Date.now())
    const candidate = async (agentId: string, result: string): Promise<RunId> => {
      const more = { agentId, groupId, checks: CHECKS, isolation: "overlay" } as const
      const { changes: written, end, runId } = await stage.play(fixWith(result), allow, "ask", more)
      assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))
      assert.deepStrictEqual(written, {}, "the candidate changed nothing in the workspace")
      return runId
    }
    const checkOf = (runId: RunId): Promise<CheckResult> =>
      until(
        async () => {
          const { set } = (await changes.read(runId)) satisfies ChangeSetPage
          return set.checks?.endedAt === undefined ? undefined : set.checks.results[0]
        },
        "the check",
        60_000
      )

    const claude = await candidate("claude-code", "a + b")
    const codex = await candidate("codex", "b - a")
    assert.deepInclude(await checkOf(claude), { state: "passed", exitCode: 0, output: "2 and 3 are 5\n" })
    assert.deepInclude(await checkOf(codex), { state: "failed", exitCode: 1, output: "2 and 3 are 1\n" })

    const { set } = await changes.read(claude)
    await changes.decide("accept", claude, { parts: { all: true, version: set.version } })
    assert.strictEqual(stage.file(SOURCE), sourceOf("a + b"))

    const [hunkId] = [...(await changes.hunks(codex)).values()]
    const refused = await stage.edge.client.ask("POST", `/v1/runs/${codex}/changes/accept`, {
      body: { parts: { hunks: [hunkId] } }
    })
    assert.deepInclude(refused.body, { code: "merge_conflict" })
    await changes.decide("reject", codex, {
      parts: { hunks: [hunkId] },
      comments: [{ hunkId, text: "The sum of 2 and 3 is 5.", suggestion: [lineOf("a + b")] }]
    })
    const next = await stage.play(promptFor("say", "I see"), allow, "ask", {
      agentId: "codex",
      resume: codex
    })
    assert.strictEqual(next.end.type, "run.completed", JSON.stringify(next.end.payload))
    for (const line of ["+  return b - a", "Comment: The sum of 2 and 3 is 5.", "      return a + b"])
      assert.include(next.modelRequests[0], line)
    assert.isEmpty(await changes.hunks(next.runId), "nothing came back")
  })
})
