/** `corral changes`, `accept`, `reject` and `undo`, with a run in a worktree and one in the workspace itself. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"

const corral = new Corral()
afterAll(() => corral.close())

const git = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], {
    cwd: folder,
    stdio: "pipe"
  })

const lines = Array.from({ length: 30 }, (_, n) => `line ${n}\n`).join("")

describe("corral changes", () => {
  let workspace = ""
  let url = ""

  /** A run to its end. `corral run` waits for the same run by its id. */
  const runOf = async (body: object): Promise<string> => {
    const token = readFileSync(join(corral.home, "edge.token"), "utf8").trim()
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const create = { workspace: "sample", agentId: "scripted", mode: "auto_edit", ...body }
    const answer = await fetch(`${url}/v1/runs`, { method: "POST", headers, body: JSON.stringify(create) })
    const { id } = (await answer.json()) as { readonly id: string }
    await corral.run("attach", id)
    return id
  }

  beforeAll(async () => {
    url = (await corral.up()).url
    workspace = join(corral.home, "sample")
    writeFileSync(join(workspace, "long.txt"), lines)
    git(workspace, "init", "-q")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "first")
  })

  it("lists what is undecided, and decides files and hunks", async () => {
    const id = await runOf({
      isolation: "worktree",
      input: { text: "/write other.txt o\n/write more.txt m" }
    })
    const tree = join(corral.home, "worktrees", id)
    writeFileSync(join(tree, "long.txt"), lines.replace("line 2\n", "two\n").replace("line 25\n", "five\n"))
    const { exit, out } = await corral.run("changes", id)
    assert.strictEqual(exit, 0)
    assert.match(out.join("\n"), /modified {2}\+2 -2 {2}long\.txt {2}\(2 hunks\)/)
    assert.match(out.join("\n"), /added {5}\+1 -0 {2}other\.txt/)
    const hunks = (await corral.run("changes", id, "--file", "long.txt")).out
    const [first = ""] = hunks.flatMap((line) => /^([0-9a-f]{8}) {2}@@/.exec(line)?.[1] ?? [])
    const accepted = await corral.run("accept", id, "--hunk", first, "--file", "other.txt")
    assert.strictEqual(accepted.stderr, "")
    assert.match(accepted.out.join("\n"), /^Accepted: 2 files, \+2 -1\. 2 files undecided\. chd_/)
    assert.strictEqual(readFileSync(join(workspace, "long.txt"), "utf8"), lines.replace("line 2\n", "two\n"))
    const rejected = await corral.run("reject", id, "--file", "more.txt", "--comment", "not now")
    assert.match(rejected.out.join("\n"), /^Rejected: 1 file/)
    assert.isFalse(existsSync(join(tree, "more.txt")))
    const all = await corral.run("accept", id, "--all", "--json")
    assert.strictEqual(JSON.parse(all.out.join("\n")).set.state, "decided")
    const undone = await corral.run("undo", id)
    assert.match(undone.out.join("\n"), /^Undone: 1 file/)
    assert.strictEqual(readFileSync(join(workspace, "long.txt"), "utf8"), lines.replace("line 2\n", "two\n"))
    writeFileSync(join(workspace, "long.txt"), lines.replace("line 25\n", "mine\n"))
    const conflict = await corral.run("accept", id, "--all")
    assert.strictEqual(conflict.exit, 2)
    assert.match(conflict.stderr, /Nothing was changed\. .*\n {2}long\.txt\n/)
  })

  it("refuses a decision without parts, and a part that does not exist", async () => {
    const id = await runOf({ input: { text: "/write direct.txt d" } })
    assert.match((await corral.run("accept", id)).stderr, /--all, --file PATH or --hunk ID/)
    assert.match(
      (await corral.run("accept", id, "--file", "nothing.txt")).stderr,
      /No changes of nothing\.txt/
    )
    assert.match((await corral.run("accept", id, "--all")).stderr, /can be undone only/)
  })

  it("undoes what a run wrote into the workspace", async () => {
    const id = await runOf({ input: { text: "/write direct2.txt d" } })
    assert.isTrue(existsSync(join(workspace, "direct2.txt")))
    assert.match((await corral.run("changes", id)).out.join("\n"), /wrote into the workspace itself/)
    assert.match((await corral.run("undo", id)).out.join("\n"), /^Undone: 1 file/)
    assert.isFalse(existsSync(join(workspace, "direct2.txt")))
  })
})
