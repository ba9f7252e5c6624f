/** Several agents on one task from the command line, over a real Hub and Edge: started, followed, compared, and a part of one accepted. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { freePort } from "@corral/testing/postgres/PostgresServer"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"
import { signIn } from "./SignIn.ts"

const makeRepository = (cwd: string): void => {
  writeFileSync(join(cwd, "a.txt"), "before\n")
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    ["commit", "-qm", "begin"]
  ])
    execFileSync("git", [...author, ...args], { cwd })
}

describe("several agents from the command line", () => {
  const corral = new Corral()
  let joined: Joined
  beforeAll(async () => {
    joined = await Joined.open({
      // The address is the same after a restart.
      hubEnv: { CORRAL_HUB_PORT: String(await freePort()) },
      makeEdge: (options) => {
        const edge = new EdgeProcess(options)
        makeRepository(edge.workspace)
        return edge
      }
    })
    await signIn(corral, joined)
  })
  afterAll(async () => {
    await corral.close()
    await joined.remove()
  })

  const flags = ["--workspace", "ws", "--isolation", "worktree", "--mode", "auto_edit"]
  const start = (agents: string, prompt: string) => corral.run("run", "--agents", agents, ...flags, prompt)

  it("are followed to their ends and compared, and a file of one is accepted", async () => {
    const prompt = "/as one /write a.txt one\n/as two /write a.txt two\n/write same.txt x\n/say done"
    const { exit, out, stderr } = await start("scripted:one,scripted:two", prompt)
    assert.strictEqual(exit, 0, stderr)
    const [groupId = ""] = /tgr_\w+/.exec(stderr) ?? []
    assert.match(stderr, /^B {2}.* \(two\): completed$/m)
    const text = out.join("\n")
    assert.match(text, /^A {2}.* \(one\) {2}completed {2}2 files \+2 -1/m)
    assert.match(text, /^\+1 -1 +\+1 -1 +a\.txt$/m)
    assert.match(text, /^the same by all: same\.txt$/m)

    const { out: json } = await corral.run("compare", groupId, "--json")
    const { group } = JSON.parse(json[0] ?? "")
    const runId: string = group.candidates[1].run.id
    assert.isTrue(runId.startsWith("run_"))
    const again = await corral.run("compare", runId)
    assert.deepStrictEqual(again.out, out)
    const accepted = await corral.run("accept", runId, "--file", "a.txt")
    assert.strictEqual(accepted.exit, 0, accepted.stderr)
    assert.strictEqual(readFileSync(join(joined.edge.workspace, "a.txt"), "utf8"), "two\n")
    assert.isFalse(existsSync(join(joined.edge.workspace, "same.txt")))
  })

  it("are followed over a restart of the Hub", async () => {
    const script = "/wait\n/write late.txt x"
    const program = corral.start("run", "--agents", "scripted:one,scripted:two", ...flags, script)
    const { hub } = joined
    await program.warned(/^B {2}.*: running$/m)
    await hub.end("SIGKILL")
    await program.warned(/Connection lost/)
    await hub.start()
    joined.found()
    await program.warned(/Reconnected\./)
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubRun> }>(
      "GET",
      "/client/runs?limit=2"
    )
    for (const { id } of body.items) {
      const goOn = () => joined.owner.ask("POST", `/client/runs/${id}/input`, { body: { text: "go on" } })
      await until(async () => (await goOn()).status === 200 || undefined, "the input")
    }
    const { exit, out, stderr } = await program.done
    assert.strictEqual(exit, 0, stderr)
    assert.include(out, "the same by all: late.txt")
  })

  it("are two to five different ones", async () => {
    const one = await start("scripted", "/say hi")
    assert.deepStrictEqual([one.exit, one.out], [2, []])
    assert.include(one.stderr, "Name 2 to 5 different agents")
    const equal = await start("scripted:one,scripted:one", "/say hi")
    assert.strictEqual(equal.exit, 2, equal.stderr)
    assert.include(equal.stderr, "Name 2 to 5 different agents")
  })
})
