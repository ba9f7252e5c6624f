/** A run from the command line through a Hub to a machine: the surface works. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { mkdtempSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { Joined } from "@corral/testing/stack/Joined"
import { Corral } from "../e2e/Corral.ts"
import { signIn } from "../e2e/SignIn.ts"

describe("corral run", () => {
  const corral = new Corral()
  let joined: Joined
  beforeAll(async () => {
    joined = await Joined.open()
    await signIn(corral, joined)
  })
  afterAll(async () => {
    await corral.close()
    await joined.remove()
  })

  const start = (prompt: string) => corral.start("run", "--agent", "scripted", "--workspace", "ws", prompt)
  const json = async (...args: ReadonlyArray<string>) => {
    const { exit, out, stderr } = await corral.run(...args, "--json")
    assert.deepStrictEqual([exit, stderr], [0, ""], out.join("\n"))
    return out.map((line) => JSON.parse(line))
  }

  it("starts a run, decides its approval and reads its results", async () => {
    const run = start(
      "/say before\n/write hub.txt hello\n/artifact report.md text/markdown # Done\n/say after"
    )
    const [, approval = ""] = await run.line(/approve (apr_\w+)/)
    const decided = await corral.run("approve", approval)
    assert.deepStrictEqual(decided, { exit: 0, out: ["approved: Write hub.txt"], stderr: "" })
    assert.strictEqual(await run.ended, 0, run.stderr)
    assert.strictEqual(readFileSync(join(joined.edge.workspace, "hub.txt"), "utf8"), "hello\n")
    await run.line(/^approved by you in a terminal/)

    const [id = ""] = await run.line(/run_\w+/)
    const [listed] = await json("runs", "--project", joined.projectId, "--limit", "1")
    assert.deepStrictEqual([listed.id, listed.state, listed.targetId], [id, "completed", joined.deviceId])
    const shown = await corral.run("diff", id)
    assert.include(shown.out.join("\n"), "--- /dev/null\n+++ b/hub.txt\n@@ -0,0 +1,1 @@\n+hello")
    const [diff] = await json("diff", id)
    assert.deepStrictEqual([diff.runId, diff.additions, diff.items.length], [id, 1, 1])

    const [artifact] = await json("artifacts", "list", id)
    assert.strictEqual(artifact.name, "report.md")
    const output = join(mkdtempSync(join(dirname(corral.home), "saved-")), "report.md")
    const [saved] = await json("artifacts", "save", id, artifact.id, "--output", output)
    assert.deepStrictEqual([saved.path, statSync(output).size], [output, artifact.size])

    const [verified] = await json("audit", "verify")
    assert.deepInclude(verified, { ok: true, projectId: joined.projectId })
    const late = await corral.run("attach", id, "--json")
    assert.strictEqual(late.exit, 0)
    assert.strictEqual(JSON.parse(late.out.at(-1) ?? "{}").type, "run.completed")
  })
})
