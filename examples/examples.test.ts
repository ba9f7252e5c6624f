/** Every example runs as its head says, and shows what it says. */
import { conformance } from "@corral/adapters/conformance"
import { decodeEvent, isTerminalType } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeDeployer } from "./custom-adapter/Deployer.ts"

const root = join(import.meta.dirname, "..")

/** What an example prints: the log of one run, whole. */
const printed = (example: string) => {
  const stdout = execFileSync(process.execPath, [`examples/${example}/main.ts`], {
    cwd: root,
    encoding: "utf8"
  })
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => {
      const read = Result.getOrThrow(decodeEvent(JSON.parse(line)))
      assert.strictEqual(read._tag, "KnownEvent")
      return JSON.parse(line) as { seq: number; type: string; payload: { output?: string; by?: string } }
    })
  assert.deepStrictEqual(
    events.map(({ seq }) => seq),
    events.map((_, i) => i + 1)
  )
  assert.strictEqual(events[0]?.type, "run.created")
  assert.strictEqual(events.at(-1)?.type, "run.completed")
  assert.strictEqual(events.filter(({ type }) => isTerminalType(type)).length, 1)
  return events
}

describe("examples", () => {
  it("embed-edge runs an agent and prints its whole log", () => {
    const events = printed("embed-edge")
    assert.include(events.find(({ type }) => type === "run.tool.result")?.payload.output, "main.ts")
  })

  it("custom-adapter runs its own program, which waits for approval", () => {
    const events = printed("custom-adapter")
    const types = events.map(({ type }) => type)
    const result = events.find(({ type }) => type === "run.tool.result")
    assert.strictEqual(result?.payload.output, "Deployed the website.")
    const [asked, resolved] = ["run.approval.requested", "run.approval.resolved"].map((type) =>
      types.indexOf(type)
    )
    assert.isAbove(asked ?? -1, types.indexOf("run.tool.call"))
    assert.isAbove(resolved ?? -1, asked ?? -1)
  })
})

describe("the adapter of custom-adapter", () => {
  const recording = (name: string, outcome: "Completed" | "Failed", reason?: string) => ({
    name,
    start: { prompt: "the website", mode: "ask", workspacePath: "/workspace" } as const,
    stdout: readFileSync(join(root, `examples/custom-adapter/recordings/${name}/stdout.jsonl`)),
    chunkSizes: [40, 40],
    exit: { code: 0, signal: null, stderr: "" },
    expected: { outcome, reason }
  })
  const checks = conformance(makeDeployer("/node", "/deployer.mjs"), [
    recording("deploys", "Completed"),
    recording("denied", "Failed", "not_deployed")
  ])
  for (const { name, problems } of checks) it(name, () => assert.deepStrictEqual(problems(), []))
})
