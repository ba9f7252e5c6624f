/** State of confined runs whose Edge was killed: taken back by the next one, whether the run ends before it or with it. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { writeProgram } from "../Folder.ts"

const SESSION = "3f1c2a9e-0b7d-4c58-9a51-5d2f6f3e7a10"

/** A program that calls itself Claude Code: it writes a conversation, plants settings, and then waits for a file. */
const program = `case "$1" in
--version) echo "2.1.332 (Claude Code)"; exit 0;;
auth) echo '{"loggedIn":true}'; exit 0;;
esac
folder="$HOME/.claude/projects/$(pwd | sed 's/[^A-Za-z0-9]/-/g')"
mkdir -p "$folder"
echo planted > "$HOME/.claude/settings.json"
echo first > "$folder/${SESSION}.jsonl"
while [ ! -e go ]; do sleep 0.05; done
echo second >> "$folder/${SESSION}.jsonl"`

const open = async (orphanMs: string) => {
  const edge = new EdgeProcess({
    env: {
      CORRAL_EDGE_CONFINEMENT: "required",
      CORRAL_EDGE_ORPHAN_MS: orphanMs,
      CORRAL_EDGE_CANCEL_GRACE_MS: "500",
      get PATH() {
        return `${join(edge.folder, "bin")}:/usr/local/bin:/usr/bin:/bin`
      },
      get HOME() {
        return join(edge.folder, "user")
      }
    }
  })
  onTestFinished(() => edge.remove())
  const home = join(edge.folder, "user")
  mkdirSync(home)
  writeProgram(join(edge.folder, "bin", "claude"), program)
  await edge.start()
  const { id } = await edge.client.create("hello", "read_only", { agentId: "claude-code" })
  const slug = edge.workspace.replaceAll(/[^A-Za-z0-9]/g, "-")
  const conversation = join(".claude", "projects", slug, `${SESSION}.jsonl`)
  const states = join(edge.home, "runtime-state")
  const inRun = join(states, id, "0", conversation)
  await until(async () => existsSync(inRun) || undefined, "the conversation in the run")
  return { conversation: join(home, conversation), edge, home, id, states }
}

describe.skipIf(!canConfine)("the state of a confined run whose Edge was killed", () => {
  it("is taken back by the next Edge, which ends the run", async () => {
    const { conversation, edge, home, states } = await open("0")
    await edge.kill()
    assert.isFalse(existsSync(conversation))
    await edge.start()
    assert.strictEqual(readFileSync(conversation, "utf8"), "first\n")
    assert.deepStrictEqual(readdirSync(join(home, ".claude")), ["projects"])
    assert.deepStrictEqual(readdirSync(states), [])
  })

  it("is taken back when the run ends under the next Edge", async () => {
    const { conversation, edge, home, id, states } = await open("60000")
    await edge.kill()
    await edge.start()
    assert.isFalse(existsSync(conversation), "the run is live")
    writeFileSync(join(edge.workspace, "go"), "")
    const reader = await edge.client.follow({ runId: id })
    await reader.ended
    assert.strictEqual(readFileSync(conversation, "utf8"), "first\nsecond\n")
    assert.deepStrictEqual(readdirSync(join(home, ".claude")), ["projects"])
    await until(async () => readdirSync(states).length === 0 || undefined, "the removal of the run's state")
  })
})
