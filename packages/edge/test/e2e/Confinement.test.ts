/** Confined runs of a real Edge: what it reports, what the kernel refuses, and how they end. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { type EdgeOptions, EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { cancelEach, leftOver } from "./CancelRuns.ts"
import { confinementOf, testReadOnly } from "./ConfinedReadOnly.ts"
import { shellOutput } from "./ShellOutput.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
/** A PATH without bubblewrap. */
const WITHOUT = { PATH: "/nowhere" }

const open = (env: EdgeOptions["env"], grants: EdgeOptions["grants"] = []) =>
  openEdgeProcess({ env: { ...CONFINED, ...env }, grants })

describe.skipIf(!canConfine)("confined runs", () => {
  let edge: EdgeProcess
  beforeAll(async () => {
    edge = new EdgeProcess({ env: CONFINED, grants: ["full_access"] })
    await edge.start()
  })
  afterAll(() => edge.remove())

  it("are reported by health and by each run", async () => {
    assert.deepStrictEqual(await confinementOf(edge), {
      kind: "bubblewrap",
      setting: "required",
      network: "closed"
    })
    const run = await edge.client.create("/say done", "ask")
    assert.deepStrictEqual(run.confinement, { kind: "bubblewrap" })
    const free = await edge.client.create("/say done", "full_access")
    assert.deepStrictEqual(free.confinement, {
      kind: "none",
      reason: "A run with full access is not confined."
    })
    const [log] = await Promise.all([edge.client.log(run.id), edge.client.log(free.id)])
    assert.deepStrictEqual(log[0]?.payload["confinement"], run.confinement)
    assert.deepStrictEqual((await edge.client.run(run.id)).confinement, { kind: "bubblewrap" })
  })

  testReadOnly(() => edge)

  it("write the workspace in ask, except folders that programs execute", async () => {
    mkdirSync(join(edge.workspace, ".vscode"))
    writeFileSync(join(edge.workspace, ".vscode", "tasks.json"), "{}")
    const output = await shellOutput(
      edge,
      "echo a > made.txt; echo b > .vscode/tasks.json; cat .vscode/tasks.json"
    )
    assert.include(output, "{}")
    assert.strictEqual(readFileSync(join(edge.workspace, "made.txt"), "utf8"), "a\n")
    assert.strictEqual(readFileSync(join(edge.workspace, ".vscode", "tasks.json"), "utf8"), "{}")
  })

  it("see neither the Edge's files nor the home", async () => {
    writeFileSync(join(edge.folder, "secret"), "a-secret")
    const output = await shellOutput(
      edge,
      'cat "$HOME/secret"; ls "$HOME/home"; cat "$HOME/home/edge.token"; echo end'
    )
    assert.notInclude(output, "a-secret")
    assert.notInclude(output, "edge.db")
    assert.notInclude(output, edge.token)
    assert.include(output, "end")
  })

  it("receive descriptors 0 to 2 only", async () => {
    const output = await shellOutput(edge, "ls /proc/$PPID/fd | tr '\\n' ' '; ls -l /proc/$PPID/fd")
    assert.notInclude(output, "edge.db")
    assert.notInclude(output, edge.folder)
  })

  it("work in a worktree, with commits", async () => {
    const git = "git -c user.name=a -c user.email=a@b.c"
    await shellOutput(edge, `git init -q && git add -A && ${git} commit -qm first --allow-empty`)
    const output = await shellOutput(
      edge,
      `echo x > made.txt && git add -A && ${git} commit -qm second && git log --oneline | wc -l; touch "$(git rev-parse --git-common-dir)/hooks/x"; echo end`,
      "ask",
      { isolation: "worktree" }
    )
    assert.match(output, /^2\n/)
    assert.include(output, "end")
    assert.isFalse(existsSync(join(edge.workspace, ".git", "hooks", "x")))
  })

  it("leave nothing when cancelled", async () => {
    const cancelled = await cancelEach(edge, ["plain", "ignoresSignals", "daemon", "asking"])
    assert.deepStrictEqual(leftOver(cancelled), [])
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("are ended by the next start after the Edge was killed", async () => {
    const killed = await open({ CORRAL_EDGE_CONTAINMENT: "environment_mark" })
    const run = await killed.client.create("/vanish\n/daemon\n/say ready\n/hang")
    const reader = await killed.client.follow({ runId: run.id })
    await reader.message("ready")
    await killed.kill()
    assert.isAtLeast(killed.survivors().length, 1, "it outlives the Edge")
    await killed.start()
    assert.deepStrictEqual(killed.survivors(), [])
    const { error } = await killed.client.run(run.id)
    assert.strictEqual(error?.details?.["reason"], "edge_restarted")
  })
})

describe("runs on a machine without the means", () => {
  it("are refused if confinement is required, except with full access", async () => {
    const edge = await open(WITHOUT, ["full_access"])
    const confinement = await confinementOf(edge)
    assert.strictEqual(confinement?.kind, "none")
    assert.include(confinement?.hint, "bubblewrap")
    const refused = await edge.client.tryCreate("/say done", "read_only")
    assert.strictEqual(refused.status, 403)
    assert.strictEqual(codeOf(refused), "permission_denied")
    assert.include(refused.text, "only if it can confine them. bubblewrap is not installed.")
    const { id } = await edge.client.create("/say done", "full_access")
    assert.strictEqual((await edge.client.log(id)).at(-1)?.type, "run.completed")
  })

  it("say that they are not confined if it is preferred", async () => {
    const edge = await open({ ...WITHOUT, CORRAL_EDGE_CONFINEMENT: "preferred" })
    const run = await edge.client.create("/say done", "read_only")
    assert.deepStrictEqual(run.confinement, { kind: "none", reason: "bubblewrap is not installed." })
    assert.strictEqual((await edge.client.log(run.id)).at(-1)?.type, "run.completed")
  })

  it("say nothing of it if it is off", async () => {
    const edge = await open({ CORRAL_EDGE_CONFINEMENT: "off" })
    assert.deepStrictEqual(await confinementOf(edge), { kind: "none", setting: "off", network: "open" })
    const run = await edge.client.create("/say done")
    assert.notProperty(run, "confinement")
    await edge.client.log(run.id)
  })
})
